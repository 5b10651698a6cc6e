//! What users see on a terminal of 80 columns: tables that fit, waits that are drawn, and the way back from Ctrl-C.

use rustix::process::Signal;

use crate::stage::{DataDirectory, until};

const INSTANCE: &str = "6e1b0a1c-5d5c-4c55-9e5d-0d2f3a4b5c6d";
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB ada@example\n";

/// The rows of a table without colours, none of them wider than the terminal.
#[track_caller]
fn rows(seen: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = seen.split("\x1b[");
    plain.push_str(rest.next().unwrap_or_default());
    for part in rest {
        plain.push_str(part.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, text)| text));
    }
    let rows: Vec<String> = plain.lines().map(|line| line.trim_end().to_owned()).collect();
    for row in &rows {
        assert!(row.chars().count() <= 80, "{} columns: {row}\n{seen}", row.chars().count());
    }
    rows
}

#[test]
fn tables_fit_into_eighty_columns_and_are_whole_elsewhere() {
    let place = DataDirectory::new();
    place.write("mine.pub", KEY);
    let server = place.serve(&["--sandbox"]);
    let how =
        ["--source", "sandbox", "--type", "t3.small", "--key", "mine.pub", "--name", "a-rather-long-name"];
    place.expect(
        0,
        &[&["launch", "--image", "ami-0abc000000000001", "--count", "2", "--wait"], &how[..]].concat(),
    );
    let id = place.submit(&["--resource", "customer:a-name-that-is-long", "--param", "wait_ms=600000"]);
    let create = ["instances", "create", "--plan", "azure", "--wait", INSTANCE];
    place.expect(0, &[&create[..], &["--param", "name=first", "--param", "region=westeurope"]].concat());
    let lists = [
        &["operations", "list"][..],
        &["launches", "list"],
        &["inventory"],
        &["pubkeys", "list"],
        &["instances", "list"],
    ];
    for command in lists {
        let (code, seen) = place.typed(command, &[]);
        assert_eq!(code, Some(0), "{command:?}: {seen}");
        assert!(rows(&seen).len() > 1, "{command:?}: {seen}");
    }
    let (_, narrow) = place.typed(&["operations", "list"], &[]);
    assert!(narrow.contains(&id[28..]) && !narrow.contains(&id), "a short id: {narrow}");
    assert!(narrow.contains("NAME") && narrow.contains("a-rather"), "the name of the launch: {narrow}");
    assert!(place.typed(&["instances", "list"], &[]).1.contains(INSTANCE), "no command takes a part of it");
    place.expect(0, &["instances", "bind", INSTANCE, "laptop", "--kubeconfig", "kubeconfig"]);
    let named =
        |workflow| place.json(&["operations", "list", "--workflow", workflow])["items"][0]["name"].clone();
    let (cluster, binding) = (named("runtime.provision"), named("runtime.bind"));
    assert!(cluster.is_string() && cluster == binding, "the name of the cluster: {cluster}, {binding}");
    let search = |text: &str| place.json(&["operations", "list", "--search", text])["items"].clone();
    assert_eq!(search("RATHER long").as_array().unwrap().len(), 1, "a name, by its words");
    assert_eq!(search("rather")[0]["workflow"], "launch");
    let none = place.expect(0, &["operations", "list", "--search", "nothing-of-the-kind"]);
    assert!(none.err.contains("no operation matches"), "{none:?}");
    let whole = place.expect(0, &["operations", "list"]).out;
    assert!(whole.starts_with("NAME") && whole.contains("a-rather-long-name"), "names come first: {whole}");
    assert!(place.typed(&["operations", "list", "-o", "wide"], &[]).1.contains(&id), "wide is whole");
    assert!(place.expect(0, &["operations", "list"]).out.contains(&id), "no terminal, no cut");
    server.stop();
}

#[test]
fn the_demonstration_fits_into_eighty_columns() {
    let (code, seen) = DataDirectory::new().typed(&["demo"], &[]);
    assert_eq!(code, Some(0), "{seen}");
    let rows: Vec<String> = rows(&seen[seen.find("FOR ").unwrap()..seen.find("next steps").unwrap()]);
    assert!(rows.iter().any(|row| row.contains("runtime.provision")), "{seen}");
}

#[test]
fn a_wait_draws_the_step_the_reason_and_the_time() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let submit = ["operations", "submit", "demo.hello", "--param", "wait_ms=2500", "-w"];
    let (code, seen) = place.typed(&submit, &[]);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("waiting at ") && seen.contains(" · 2 s"), "{seen}");
    assert!(seen.contains("next attempt in "), "{seen}");
    server.stop();
}

#[test]
fn every_wait_for_an_operation_ends_alike_with_ctrl_c() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let data = place.path("data");
    let dir = ["--data-dir", data.to_str().unwrap()];
    let submit = ["operations", "submit", "demo.hello", "--param", "wait_ms=600000"];
    for (how, begun) in
        [(&["--wait"][..], "waiting"), (&["--watch"], "waits"), (&["--wait", "--count", "3"], "submitted 3")]
    {
        let waiting = place.begin(&[&submit[..], how, &dir].concat());
        until("the wait", || (waiting.out() + &waiting.err()).contains(begun).then_some(()));
        waiting.signal(Signal::INT);
        let ran = waiting.end();
        assert_eq!(ran.code, Some(130), "{how:?}: {ran:?}");
        assert!(
            ran.err.contains("it continues in the background; follow it with: provision-engine operations "),
            "{ran:?}"
        );
        assert!(ran.err.contains(&format!("--data-dir {}", data.display())), "{how:?}: {ran:?}");
    }
    server.stop();
}

#[test]
fn many_waits_for_a_server_that_died_time_out() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let submit = ["operations", "submit", "demo.hello", "--count", "5", "--param", "wait_ms=60000"];
    let waiting = place.begin(&[&submit[..], &["--wait", "--timeout", "3s"]].concat());
    until("the operations", || waiting.err().contains("submitted 5").then_some(()));
    server.kill();
    let ran = waiting.end();
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("did not answer about 5"), "{ran:?}");
}

#[test]
fn times_have_a_date_and_the_zone_of_the_user() {
    let place = DataDirectory::new().env("TZ", "EST5EDT,M3.2.0,M11.1.0");
    let server = place.serve(&["--sandbox"]);
    let id = place.expect(0, &["operations", "submit", "demo.hello", "--wait"]).out;
    for command in [["operations", "journal"], ["operations", "watch"]] {
        let text = place.expect(0, &[&command[..], &[id.trim()]].concat()).out;
        assert!(text.contains(" -04:00") || text.contains(" -05:00"), "{text}");
        assert!(text.contains("20"), "{text}");
    }
    server.stop();
}

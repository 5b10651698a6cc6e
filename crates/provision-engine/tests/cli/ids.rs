//! Operations by a part of their id, by what they work on, and many at once by their phase.

use crate::stage::DataDirectory;

#[test]
fn a_part_of_an_id_is_enough_where_it_fits_one_operation() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let id = place.expect(0, &["operations", "submit", "demo.hello", "--wait"]).out;
    let id = id.trim();
    let other = place.expect(0, &["operations", "submit", "demo.hello", "--wait"]).out;
    for part in [&id[28..], &id[..35], &id[24..]] {
        assert_eq!(place.json(&["operations", "show", part])["id"], id, "{part}");
    }
    assert_eq!(place.json(&["explain", &id[28..]])["id"], id);
    assert!(place.expect(0, &["operations", "journal", &id[28..]]).out.contains("greet"));
    place.expect(0, &["operations", "watch", &id[28..]]);
    // Both begin with the time.
    let several = place.expect(1, &["operations", "show", &id[..4]]);
    assert!(several.err.contains("several operations match"), "{several:?}");
    assert!(several.err.contains(id) && several.err.contains(other.trim()), "{several:?}");
    let none = place.expect(1, &["operations", "show", "ffffffff"]);
    assert!(none.err.contains("no operation has an id"), "{none:?}");
    assert!(place.expect(2, &["operations", "show", "abc"]).err.contains("at least 4"));
    assert!(place.expect(2, &["operations", "show", "not-an-id"]).err.contains("at least 4"));
    server.stop();
}

#[test]
fn explain_knows_launches_and_instances_by_their_own_ids() {
    let place = DataDirectory::new();
    place.write(
        "mine.pub",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB ada\n",
    );
    let server = place.serve(&["--sandbox"]);
    let how =
        ["--image", "ami-0abc000000000001", "--source", "sandbox", "--type", "t3.small", "--key", "mine.pub"];
    let launch = place.expect(0, &[&["launch", "-o", "name", "--wait"], &how[..]].concat()).out;
    let launch = launch.trim();
    assert_eq!(place.json(&["explain", launch])["workflow"], "launch");
    assert_eq!(place.json(&["launches", "show", &launch[28..]])["id"], launch);
    let azure = ["--plan", "azure", "--param", "name=first", "--param", "region=westeurope", "--wait"];
    place.expect(0, &[&["instances", "create", "first"], &azure[..]].concat());
    assert_eq!(place.json(&["explain", "first"])["workflow"], "runtime.provision");
    assert!(place.expect(1, &["explain", "nothing-of-this-name"]).err.contains("no operation has the id"));
    server.stop();
}

#[test]
fn many_operations_are_steered_by_their_phase_after_a_question() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let ids: Vec<String> = (0..3).map(|_| place.submit(&["--param", "fail=true"])).collect();
    for id in &ids {
        place.wait_for_phase(id, "undone");
    }
    let retry = ["operations", "retry", "--phase", "undone,failed"];
    assert!(place.expect(1, &retry).err.contains("Retry 3 operations (undone, failed)?"), "asks");
    let (code, seen) = place.typed(&retry, &["n"]);
    assert!(code == Some(1) && seen.contains("nothing was changed"), "{seen}");
    let none = place.expect(0, &["operations", "retry", "--phase", "stuck", "--yes"]);
    assert!(none.err.contains("no operation is stuck"), "{none:?}");
    let ran = place.expect(0, &[&retry[..], &["--workflow", "demo.hello", "--yes", "-o", "name"]].concat());
    assert_eq!(ran.out.lines().count(), 3, "{ran:?}");
    place.expect(2, &["operations", "retry"]);
    place.expect(2, &["operations", "retry", &ids[0], "--phase", "failed"]);
    place.expect(2, &["operations", "retry", &ids[0], "--workflow", "demo.hello"]);
    server.stop();
}

#[test]
fn a_shell_is_told_what_fits() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let id = place.submit(&[]);
    let once = |words: &[&str]| {
        let ran = place.expect(0, &[&["complete", "--"], words].concat());
        ran.out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // On a busy machine two seconds, after which a shell is told nothing, may be too short.
    let words = |words: &[&str]| {
        (0..10).map(|_| once(words)).find(|found| !found.is_empty()).expect("something that fits")
    };
    assert_eq!(words(&["operations", "show", ""]), [id.as_str()]);
    assert_eq!(words(&["operations", "show", &id[..10]]), [id.as_str()]);
    assert_eq!(words(&["operations", "submit", "demo"]), ["demo.hello"]);
    assert_eq!(words(&["operations", "list", "--workflow", "demo.h"]), ["demo.hello"]);
    let param = |last| words(&["operations", "submit", "demo.hello", "--param", last]);
    assert_eq!(param("n"), ["name="]);
    assert_eq!(param("fail="), ["fail=true", "fail=false"]);
    assert!(words(&["instances", "create", "--plan", "az"]).contains(&"azure".to_owned()));
    assert_eq!(words(&["oper"]), ["operations"]);
    assert!(words(&["operations", "submit", "--ti"]).contains(&"--timeout".to_owned()));
    assert!(words(&["-o", "js"]).contains(&"json".to_owned()));
    assert!(!words(&[""]).contains(&"complete".to_owned()), "it is for scripts");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_provision-engine")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let in_shell = |shell: &str, script: &str| {
        let mut shell = std::process::Command::new(shell);
        let ran = shell.args(["-c", script]).env("PATH", &path).env("HOME", place.path("")).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    // What zsh would offer: the function is called as its completion calls it, and its answers are printed.
    let zsh = |words: &str| {
        format!(
            "compdef() {{ }}; _describe() {{ print -rl -- \"${{(@P)2}}\" ${{3-}} }}; _files() {{ print files }}; \
             source <(provision-engine completions zsh); words=({words}); CURRENT=${{#words}}; _provision-engine"
        )
    };
    for (words, expected) in [
        ("provision-engine operations submit demo.h", "demo.hello:"),
        ("provision-engine operations submit demo.hello --param n", "name=:"),
        ("provision-engine operations submit demo.hello --param fail=t", "fail=true:"),
        ("provision-engine oper", "operations:"),
    ] {
        let said = (0..10).map(|_| in_shell("zsh", &zsh(words))).find(|said| said != "files").unwrap();
        assert!(said.starts_with(expected), "{words}: {said}");
        // A param is not finished at its `=`, so no space follows.
        assert_eq!(said.ends_with("-S"), expected == "name=:", "{words}: {said}");
    }
    let said = in_shell("zsh", &zsh("provision-engine operations submit demo.hello --params ./f"));
    assert_eq!(said, "files", "where nothing fits, zsh offers files");
    server.stop();
    assert!(once(&["operations", "show", ""]).is_empty(), "no server, no error");
    // Bash takes words apart at `=` and completes what stands behind it.
    let params = "provision-engine operations submit demo.hello --param fail = t";
    let bash = |words: &str| {
        let last = words.split(' ').count() - 1;
        format!(
            "source <(provision-engine completions bash) && COMP_WORDS=({words}) && COMP_CWORD={last} \
             && _provision-engine && echo \"${{COMPREPLY[@]}}\""
        )
    };
    for (words, expected) in [("provision-engine operations submit demo", "demo.hello"), (params, "true")] {
        let said = (0..10).map(|_| in_shell("bash", &bash(words))).find(|said| !said.is_empty());
        assert_eq!(said.as_deref(), Some(expected));
    }
}

//! The demonstration, from the first greeting to the last runtime.

use serde_json::{Value, json};

use crate::stage::{DataDirectory, until};

#[test]
fn the_demonstration_shows_every_ending_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    // A configuration of the user must not lead it to a real database.
    let place = DataDirectory::new()
        .env("TMPDIR", temporary.path().to_str().unwrap())
        .env("PROVISION_ENGINE_STORE__DATABASE_URL", "postgres://127.0.0.1:1/none");
    let ran = place.expect(0, &["demo"]);
    for part in [
        "succeeded",
        "succeeded after 3 retries",
        "failed and undone: ",
        "cancelled",
        "succeeded after 1 retry",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    assert!(ran.err.contains("of exactly the 4 operations that succeeded"), "{ran:?}");
    assert!(ran.err.contains("serve --sandbox") && !ran.err.contains('\x1b'), "{ran:?}");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
    assert!(!place.path("data").exists());
}

#[test]
fn the_demonstration_makes_runtimes_once_and_leaves_none() {
    let ran = DataDirectory::new().expect(0, &["demo", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["ledger"]["greetings"]["standing"], 4, "{report}");
    let count = json!({"made": 2, "taken_back": 2, "standing": 0, "repeats": 0});
    assert_eq!(report["ledger"]["runtimes"], count);
    let told: Vec<(&str, &str, &str)> = report["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| ["name", "workflow", "phase"].map(|field| one[field].as_str().unwrap()).into())
        .filter(|(_, workflow, _): &(&str, &str, &str)| workflow.starts_with("runtime."))
        .collect();
    let good = |name, workflow| (name, workflow, "succeeded");
    let expected = [
        good("Atlas", "runtime.provision"),
        good("Boreas", "runtime.provision"),
        good("Atlas", "runtime.bind"),
        good("Atlas", "runtime.update"),
        good("Atlas", "runtime.unbind"),
        good("Atlas", "runtime.deprovision"),
        good("Boreas", "runtime.deprovision"),
    ];
    assert_eq!(told, expected);
    assert!(ran.err.contains("create_runtime failed in attempt 1"), "{}", ran.err);
    assert!(ran.err.contains("410"), "{}", ran.err);
}

#[test]
fn the_demonstration_launches_what_it_built_and_takes_back_what_failed() {
    let ran = DataDirectory::new().expect(0, &["demo", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let ledger = &report["ledger"];
    assert_eq!(ledger["images"]["made"], 1, "{report}");
    assert_eq!(ledger["instances"], json!({"made": 2, "taken_back": 0, "standing": 2, "repeats": 0}));
    assert_eq!(ledger["key_pairs"], json!({"made": 2, "taken_back": 1, "standing": 1, "repeats": 0}));
    let told = report["operations"].as_array().unwrap().iter().filter(|one| one["workflow"] == "launch");
    let told: Vec<(&Value, &Value)> = told.map(|one| (&one["name"], &one["phase"])).collect();
    let [good, undone] = [json!("succeeded"), json!("undone")];
    let names = ["Apollo", "Icarus", "Aeolus", "Iris", "Phaethon"].map(|name| json!(name));
    let expected: Vec<(&Value, &Value)> = names.iter().zip([&good, &undone, &good, &good, &undone]).collect();
    assert_eq!(told, expected);
    assert!(ran.err.contains("building, "), "the build is not seen to go on: {}", ran.err);
    assert_eq!(ran.err.matches(" answers at 127.").count(), 6, "{}", ran.err);
    assert!(ran.err.contains("VcpuLimitExceeded"), "{}", ran.err);
}

#[test]
fn the_demonstration_launches_on_three_clouds_and_leaves_nothing_where_room_is_missing_late() {
    let ran = DataDirectory::new().expect(0, &["demo", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let stands = |kind: &str| report["ledger"][kind]["standing"].as_u64().unwrap();
    for kind in ["azure_instances", "azure_nics", "azure_addresses", "azure_disks", "google_instances"] {
        assert_eq!(stands(kind), 2, "{kind}: {report}");
    }
    for kind in ["azure_security_groups", "azure_networks", "azure_groups"] {
        assert_eq!(stands(kind), 1, "{kind}: {report}");
        assert!(report["ledger"][kind]["taken_back"].as_u64().unwrap() >= 1, "{kind} of the other: {report}");
    }
    assert!(
        report["ledger"]["azure_instances"]["made"].as_u64().unwrap() > 2,
        "it failed too early: {report}"
    );
    assert!(ran.err.contains("Phaethon: AllocationFailed"), "{}", ran.err);
    let of_clouds = ran.err.split("launches at Azure and Google").nth(1).unwrap();
    let asides = of_clouds.lines().filter(|line| !line.contains("  Aeolus ") && !line.contains("  Iris "));
    let wide = asides
        .take_while(|line| !line.contains("next steps"))
        .find(|line| line.chars().count() > 80 && !line.starts_with("  Phaethon "));
    assert_eq!(wide, None, "wider than a terminal");
}

#[test]
fn the_demonstration_shows_that_there_is_a_kubeconfig_and_not_the_kubeconfig() {
    let ran = DataDirectory::new().expect(0, &["demo", "--log-level", "debug"]);
    assert!(ran.err.contains("a kubeconfig of"), "{}", ran.err);
    for secret in ["apiVersion", "token:", "pe_"] {
        assert!(!ran.err.contains(secret) && !ran.out.contains(secret), "{secret} is shown");
    }
}

/// What a browser gets: the status, the cookies to send back, and the page.
fn browse(link: &str, cookies: &str, form: Option<&[(&str, &str)]>) -> (u16, String, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let policy = reqwest::redirect::Policy::none();
        let http = reqwest::Client::builder().no_proxy().redirect(policy).build().unwrap();
        let request = match form {
            Some(form) => {
                let pairs: Vec<String> = form.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let kind = "application/x-www-form-urlencoded";
                http.post(link).header("Content-Type", kind).body(pairs.join("&"))
            }
            None => http.get(link),
        };
        let response = request.header("Cookie", cookies).send().await.unwrap();
        let kept: Vec<String> = response
            .headers()
            .get_all("set-cookie")
            .iter()
            .map(|value| value.to_str().unwrap().split(';').next().unwrap().to_owned())
            .collect();
        (response.status().as_u16(), kept.join("; "), response.text().await.unwrap())
    })
}

#[test]
fn the_console_of_the_demonstration_opens_with_a_link_of_one_use() {
    let place = DataDirectory::new();
    let going = place.begin(&["demo", "--listen", "127.0.0.1:0"]);
    let link = until("the link", || {
        let text = going.err();
        let start = text.find("Ctrl-C ends it").and_then(|_| text.find("http://127.0.0.1"))?;
        Some(text[start..].split_whitespace().next()?.to_owned())
    });
    let (page_url, code) = link.split_once("?code=").unwrap();
    // To look at the link does not use it up.
    browse(&link, "", None);
    let (status, cookies, page) = browse(&link, "", None);
    assert_eq!(status, 200, "{page}");
    let mut hidden = page.split("<input type=\"hidden\" name=\"").nth(1).unwrap().split('"');
    let form = [(hidden.next().unwrap(), hidden.nth(1).unwrap()), ("code", code)];
    assert_ne!(browse(page_url, "", Some(&form)).0, 303, "not from another site");
    let (status, session, _) = browse(page_url, &cookies, Some(&form));
    assert_eq!(status, 303);
    assert_eq!(browse(page_url, &cookies, Some(&form)).0, 401, "once");
    let home = page_url.split("/sign-in").next().unwrap();
    assert_eq!(browse(home, &session, None).0, 200);
    assert_eq!(browse(home, "", None).0, 303, "and no other client is signed in");
    going.signal(rustix::process::Signal::INT);
    assert_eq!(going.end().code, Some(0));
}

#[test]
fn a_server_whose_output_is_kept_prints_no_link() {
    let place = DataDirectory::new();
    let server = place.serve(&[]);
    until("the welcome", || server.going.err().contains("stop it:").then_some(()));
    assert!(!server.going.err().contains("code="), "{}", server.going.err());
    server.stop();
}

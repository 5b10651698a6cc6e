//! The demonstration, from the first greeting to the last runtime.

use serde_json::{Value, json};

use crate::stage::Place;

#[test]
fn the_demonstration_shows_every_ending_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    // A configuration of the user must not lead it to a real database.
    let place = Place::new()
        .env("TMPDIR", temporary.path().to_str().unwrap())
        .env("PROVISION_ENGINE_STORE__DATABASE_URL", "postgres://127.0.0.1:1/none");
    let ran = place.expect(0, &["demo"]);
    for part in ["succeeded", "healed after 3 retries", "undone: ", "cancelled", "healed after 1 retry"] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    assert!(ran.err.contains("of exactly the 4 operations that succeeded"), "{ran:?}");
    assert!(ran.err.contains("serve --sandbox") && !ran.err.contains('\x1b'), "{ran:?}");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
    assert!(!place.path("data").exists());
}

#[test]
fn the_demonstration_makes_runtimes_once_and_leaves_none() {
    let ran = Place::new().expect(0, &["demo", "-o", "json"]);
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
    let ran = Place::new().expect(0, &["demo", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let ledger = &report["ledger"];
    assert_eq!(ledger["images"]["made"], 1, "{report}");
    assert_eq!(ledger["instances"], json!({"made": 2, "taken_back": 0, "standing": 2, "repeats": 0}));
    assert_eq!(ledger["key_pairs"], json!({"made": 2, "taken_back": 1, "standing": 1, "repeats": 0}));
    let told = report["operations"].as_array().unwrap().iter().filter(|one| one["workflow"] == "launch");
    let told: Vec<(&Value, &Value)> = told.map(|one| (&one["name"], &one["phase"])).collect();
    assert_eq!(told, [(&json!("Apollo"), &json!("succeeded")), (&json!("Icarus"), &json!("undone"))]);
    assert!(ran.err.contains("building, "), "the build is not seen to go on: {}", ran.err);
    assert_eq!(ran.err.matches(" answers at 127.").count(), 2, "{}", ran.err);
    assert!(ran.err.contains("VcpuLimitExceeded"), "{}", ran.err);
}

#[test]
fn the_demonstration_shows_that_there_is_a_kubeconfig_and_not_the_kubeconfig() {
    let ran = Place::new().expect(0, &["demo", "--log-level", "debug"]);
    assert!(ran.err.contains("a kubeconfig of"), "{}", ran.err);
    for secret in ["apiVersion", "token:", "pe_"] {
        assert!(!ran.err.contains(secret) && !ran.out.contains(secret), "{secret} is shown");
    }
}

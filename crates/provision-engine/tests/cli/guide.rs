//! The lines of the guides work as they are printed, and the dry run of their example.

use std::process::Command;

use crate::stage::{DataDirectory, ServerProcess};

const RUNTIMES: &str = include_str!("../../../../docs/guide/runtimes.md");
const UPGRADES: &str = include_str!("../../../../docs/guide/upgrades.md");
const SERVERLESS: &str = include_str!("../../../../docs/guide/serverless.md");
const LAUNCH: &str = include_str!("../../../../docs/guide/launch.md");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runtime.yaml");

/// Runs all lines of shell of a guide against a server of its own, and answers what they print.
fn play(guide: &str, data_in_guide: &str) -> String {
    play_on(|place| place.serve(&[]), guide, data_in_guide)
}

fn play_on(serve: fn(&DataDirectory) -> ServerProcess, guide: &str, data_in_guide: &str) -> String {
    let place = DataDirectory::new();
    let server = serve(&place);
    let data = place.path("data");
    let blocks = guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let script = blocks.fold(String::from("set -eu\n"), |script, block| script + block);
    assert!(script.contains("http://127.0.0.1:1337"), "{script}");
    let script = script
        .replace("http://127.0.0.1:1337", &server.url)
        .replace(data_in_guide, data.to_str().unwrap())
        .replace("sleep 1", "sleep 0.1");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_provision-engine")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("timeout");
    let ran = shell.args(["100", "bash", "-c", &script]).env("PATH", path).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    server.stop();
    out.into_owned()
}

#[test]
fn the_lines_about_runtimes_lead_from_the_catalog_to_410() {
    let out = play(RUNTIMES, "/tmp/runtimes");
    assert!(out.contains("\"kubeconfig\"") && out.contains("\"dashboard_url\""), "{out}");
    assert_eq!(out.lines().last(), Some("410"), "{out}");
}

#[test]
fn the_lines_about_upgrades_lead_from_a_dry_run_to_three_upgraded_runtimes() {
    let out = play(UPGRADES, "/tmp/upgrades");
    assert!(out.contains("kubernetes 1.21.5"), "the dry run names the configured version: {out}");
    let paused = out.lines().find(|line| line.starts_with("paused")).unwrap_or_default();
    assert_eq!(
        paused.split_whitespace().collect::<Vec<_>>(),
        ["paused", "2", "0", "1", "0", "0", "0"],
        "{out}"
    );
    assert!(out.contains("\"succeeded\":3") && out.contains("1.22.9"), "{out}");
}

#[test]
fn the_lines_about_runtimes_work_with_infrastructure_manager_too() {
    let serve = |place: &DataDirectory| {
        let config = place.path("config.yaml");
        std::fs::write(&config, "runtime: {backend: infrastructure-manager}\n").unwrap();
        place.serve(&["--sandbox", "--config", config.to_str().unwrap()])
    };
    let out = play_on(serve, RUNTIMES, "/tmp/runtimes");
    assert!(out.contains("\"kubeconfig\""), "{out}");
    assert_eq!(out.lines().last(), Some("410"), "{out}");
}

#[test]
fn the_lines_about_serverless_runtimes_lead_from_a_request_to_an_answer_and_to_404() {
    let out = play(SERVERLESS, "/tmp/serverless");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.first(), Some(&"\"1.3.3\""), "{out}");
    assert!(out.contains("\"NAME\":\"grown\"") && out.contains("\"MEMORY\":1024"), "{out}");
    assert!(lines.iter().any(|line| line.contains("\"ret_code\":0") && line.contains("\"res\":42")), "{out}");
    assert_eq!(lines.last(), Some(&"404"), "{out}");
}

#[test]
fn the_lines_about_launches_end_with_the_same_machines_under_all_four_profiles() {
    let out = play(LAUNCH, "/tmp/launch");
    let ended = out.lines().filter(|line| *line == "succeeded" || line.contains("\"state\":\"succeeded\""));
    assert!(ended.count() >= 3, "{out}");
    assert!(out.contains("event: building") && out.contains("event: end"), "{out}");
    assert!(out.contains("amount: must be 1 to 45"), "{out}");
    assert!(out.contains("\"success\":true") && out.contains("aws_reservation_id"), "{out}");
    // One machine of the command line, two of the reservation, and two of each profile.
    let machines = out.lines().find(|line| line.starts_with("{\"data\":") && line.contains("checked_at"));
    assert_eq!(machines.map(|line| line.matches("\"state\":\"running\"").count()), Some(11), "{out}");
    for user in ["ec2-user", "azureuser", "gcp-user"] {
        assert!(out.contains(&format!("ssh {user}@127.")), "{user}: {out}");
    }
    assert_eq!(out.matches("ssh azureuser@127.").count(), 3, "two of an image and one of a build: {out}");
    assert!(out.lines().any(|line| line == "409"), "{out}");
}

#[test]
fn a_dry_run_prints_the_request_with_its_secrets_masked() {
    let place = DataDirectory::new();
    let request = place.json(&["plan", "runtime.provision", "--params", EXAMPLE]);
    let text = request.to_string();
    assert!(!text.contains("not-a-real-password"), "{text}");
    let config = &request["variables"]["config"];
    assert_eq!(config["runtimeInput"]["labels"]["global_subaccount_id"], "sa-1");
    assert_eq!(config["clusterConfig"]["gardenerConfig"]["autoScalerMax"], 5);
    let components = config["kymaConfig"]["components"].as_array().unwrap();
    let proxy = components.iter().find(|one| one["component"] == "service-manager-proxy").unwrap();
    let password = &proxy["configuration"][1];
    assert_eq!(*password, serde_json::json!({"key": "sm.password", "secret": true, "value": "<secret>"}));
    for (params, part) in [
        ("{\"plan\": \"azure\"}", "region"),
        ("{\"plan\": \"nowhere\"}", "known are azure"),
        ("{]", "is not JSON"),
        ("missing.yaml", "cannot read missing.yaml"),
    ] {
        let ran = place.run(&["plan", "runtime.provision", "--params", params]);
        assert!(ran.code != Some(0) && ran.err.contains(part), "{}", ran.err);
    }
    assert!(
        place
            .run(&["plan", "demo.hello", "--params", "{}"])
            .err
            .contains("runtime.provision and declared workflows only")
    );
}

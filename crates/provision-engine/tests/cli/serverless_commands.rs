//! `serverless`, the acts of the demonstration with functions, and what is found lost, with the real program.

use ::opennebula::{
    AttributeName, NebulaCredentials, NebulaTemplate, OpenNebula, OpenNebulaOptions, RUNTIME_DOCUMENT, Text,
};
use engine::secret::SecretString;
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{DataDirectory, Ran, Sandbox, ServerProcess, call, until};

const USER: &str = "cognit";
const PASSWORD: &str = "cognitpass";

/// A server, a sandbox that survives it, and a user whom the sandbox knows.
struct ServerlessCli {
    place: DataDirectory,
    sandbox: Sandbox,
    server: ServerProcess,
}

impl ServerlessCli {
    fn open() -> ServerlessCli {
        let place = DataDirectory::new()
            .env("PROVISION_ENGINE_SERVERLESS__POLL", "20ms")
            .env("PROVISION_ENGINE_ONE_USER", USER)
            .env("PROVISION_ENGINE_ONE_PASSWORD", PASSWORD);
        let sandbox = Sandbox::start(&place);
        let OpenNebulaOptions { oned, oneflow, .. } = OpenNebulaOptions::beside(&sandbox.url);
        let place = place
            .env("PROVISION_ENGINE_SERVERLESS__ONED", oned)
            .env("PROVISION_ENGINE_SERVERLESS__ONEFLOW", oneflow)
            .env("PROVISION_ENGINE_SERVERLESS__ORPHANS__ONE_AUTH", "oneadmin.auth");
        place.write("oneadmin.auth", "oneadmin:opennebula\n");
        let server = place.serve(&["--sandbox-url", &sandbox.url]);
        ServerlessCli { place, sandbox, server }
    }

    #[track_caller]
    fn expect(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.place.expect(code, &[&["serverless"], arguments].concat());
        assert!(!ran.out.contains(PASSWORD) && !ran.err.contains(PASSWORD), "{ran:?}");
        ran
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        self.place.json(&[&["serverless"], arguments].concat())
    }

    #[track_caller]
    fn create(&self, arguments: &[&str]) -> String {
        self.expect(0, &[&["create"], arguments].concat()).out.trim().to_owned()
    }

    fn delay_times(&self, delay_times: &Value) {
        call(Method::PUT, &format!("{}/opennebula/pace", self.sandbox.url), Some(delay_times));
    }

    /// How many of everything that OpenNebula made still stand.
    fn standing(&self) -> Vec<u64> {
        let summary = call(Method::GET, &format!("{}/ledger/summary", self.sandbox.url), None);
        let standing = |kind: &str| summary[kind]["standing"].as_u64().unwrap_or(0);
        ["oned/document", "oneflow/service", "oned/vm"].map(standing).into()
    }

    fn close(self) {
        self.server.stop();
        self.sandbox.stop();
    }
}

/// Turns the time of OpenNebula beyond anything that it waits for.
fn advance(sandbox: &Sandbox) {
    call(Method::POST, &format!("{}/clock", sandbox.url), Some(&json!({"advance_ms": 7_200_000})));
}

#[test]
fn a_runtime_is_made_looked_at_changed_and_deleted() {
    let stage = ServerlessCli::open();
    let made =
        stage.expect(0, &["create", "--faas", "Function", "--daas", "Data", "--name", "mine", "--wait"]);
    let id = made.out.trim();
    assert!(id.parse::<u32>().is_ok(), "{made:?}");
    assert!(made.err.contains(&format!("runtime {id} is running")), "{made:?}");
    assert!(made.err.contains(":8000/v1/faas/execute-sync"), "{made:?}");

    let shown = stage.expect(0, &["show", id]).out;
    let facts: Vec<String> =
        shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for fact in ["name mine", "state RUNNING", "faas memory 128 MB", "daas flavour Data"] {
        assert!(facts.iter().any(|line| line == fact), "{fact}: {shown}");
    }
    let json = stage.json(&["show", id]);
    assert_eq!((json["ID"].to_string().as_str(), &json["FAAS"]["STATE"]), (id, &json!("RUNNING")));
    let listed = stage.expect(0, &["list", "-o", "wide"]).out;
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    let endpoint = json["FAAS"]["ENDPOINT"].as_str().unwrap();
    assert_eq!(row[..5], [id, "mine", "Function-Data", "RUNNING", endpoint], "{listed}");

    let changed = stage.json(&["update", id, "--memory", "256", "--daas-cpu", "2", "--wait"]);
    assert_eq!((&changed["FAAS"]["MEMORY"], &changed["DAAS"]["CPU"]), (&json!(256), &json!(2)), "{changed}");
    assert_eq!(changed["FAAS"]["STATE"], "RUNNING");
    assert!(stage.expect(1, &["update", id]).err.contains("nothing to change"));
    let shrunk = stage.expect(1, &["update", id, "--disk", "1"]);
    assert!(shrunk.err.contains("cannot shrink") && shrunk.err.contains("status: 422"), "{shrunk:?}");

    assert!(stage.expect(1, &["delete", id]).err.contains("give --yes"));
    assert_eq!(stage.standing(), [1, 1, 2]);
    let gone = stage.expect(0, &["delete", id, "--yes", "--wait"]);
    assert!(gone.err.contains(&format!("runtime {id} is deleted")), "{gone:?}");
    assert_eq!(stage.standing(), [0, 0, 0]);
    assert!(stage.expect(0, &["delete", id, "--yes"]).err.contains("gone already"));
    let missing = stage.expect(1, &["show", id]);
    assert!(missing.err.contains("status: 404") && missing.err.contains("fix: check the id"), "{missing:?}");
    stage.close();
}

#[test]
fn lists_are_filtered_and_have_an_end() {
    let stage = ServerlessCli::open();
    let ids: Vec<String> =
        ["a", "b", "c"].map(|name| stage.create(&["--faas", "Function", "--name", name])).into();
    stage.create(&["--faas", "Function", "--daas", "Data", "--name", "d"]);
    let names = |arguments: &[&str]| -> Vec<String> {
        let ran = stage.expect(0, &[&["list", "-o", "name"], arguments].concat());
        ran.out.lines().map(str::to_owned).collect()
    };
    assert_eq!(names(&["--all"]).len(), 4);
    assert_eq!(names(&["--flavour", "Function"]).len(), 3);
    assert_eq!(names(&["--name", "b"]), ids[1..2]);
    assert_eq!(names(&["--state", "error"]), Vec::<String>::new());
    let two = stage.expect(0, &["list", "--limit", "2"]);
    assert_eq!(two.out.lines().count(), 3, "{two:?}");
    assert!(two.err.contains("there are more"), "{two:?}");
    let all = stage.expect(0, &["list", "--limit", "4"]);
    assert!(all.out.lines().count() == 5 && !all.err.contains("there are more"), "{all:?}");
    // Those of others are not mine, though an administrator sees them.
    let other = ["--user", "oneadmin", "--password-file", "oneadmin.password"];
    stage.place.write("oneadmin.password", "opennebula\n");
    assert_eq!(names(&other), Vec::<String>::new());
    assert_eq!(names(&[&other[..], &["--everybody"]].concat()).len(), 4);
    stage.close();
}

#[test]
fn who_asks_is_said_by_a_file_or_the_environment_and_never_by_an_argument() {
    let stage = ServerlessCli::open();
    let unknown = DataDirectory::new().env("PROVISION_ENGINE_SERVER", &stage.server.url);
    let ran = unknown.expect(1, &["serverless", "list"]);
    assert!(ran.err.contains("--password-file") && ran.err.contains("ONE_AUTH"), "{ran:?}");
    let ran = unknown.expect(1, &["serverless", "list", "--user", USER]);
    assert!(ran.err.contains("PROVISION_ENGINE_ONE_PASSWORD"), "{ran:?}");
    unknown.expect(2, &["serverless", "list", "--user", USER, "--password", PASSWORD]);
    unknown.write("secret", "wrongpass\n");
    let denied = unknown.expect(6, &["serverless", "list", "--user", USER, "--password-file", "secret"]);
    assert!(denied.err.contains("status: 401") && denied.err.contains("fix: "), "{denied:?}");
    assert!(!denied.err.contains("wrongpass"), "{denied:?}");
    unknown.write("secret", PASSWORD);
    unknown.expect(0, &["serverless", "list", "--user", USER, "--password-file", "secret"]);
    unknown.write("auth", &format!("{USER}:{PASSWORD}\n"));
    unknown.expect(0, &["serverless", "list", "--one-auth", "auth"]);
    std::fs::create_dir(unknown.path(".one")).unwrap();
    unknown.write(".one/one_auth", &format!("{USER}:{PASSWORD}\n"));
    unknown.expect(0, &["serverless", "list"]);
    let ran = unknown.env("PROVISION_ENGINE_SERVER", "http://127.0.0.1:1").expect(1, &["serverless", "list"]);
    assert!(ran.err.contains("cannot reach http://127.0.0.1:1") && ran.err.contains("--server"), "{ran:?}");
    stage.close();
}

#[test]
fn what_goes_wrong_has_an_exit_code_and_a_way_on() {
    let stage = ServerlessCli::open();
    let unknown = stage.expect(1, &["create", "--faas", "Nope"]);
    assert!(
        unknown.err.contains("status: 422") && unknown.err.contains("oneflow-template list"),
        "{unknown:?}"
    );
    assert!(stage.expect(1, &["create", "--faas", "Function", "--daas-cpu", "2"]).err.contains("--daas-cpu"));
    stage.expect(2, &["create", "--faas", "Function", "--cpu", "0"]);

    let failed = stage.expect(3, &["create", "--faas", "BootFails", "--wait"]);
    let id = failed.out.trim();
    assert!(failed.err.lines().any(|line| line.starts_with("FAAS: ")), "{failed:?}");
    assert!(failed.err.contains(&format!("serverless delete {id}")), "{failed:?}");
    assert_eq!(stage.expect(3, &["show", id, "--wait", "-o", "name"]).out.trim(), id);
    stage.expect(0, &["delete", id, "--yes", "--wait"]);
    // Nothing is left of what was begun and failed.
    let undone = stage.expect(3, &["create", "--faas", "FAILED_DEPLOY"]);
    assert!(undone.out.is_empty() && undone.err.contains("status: 500"), "{undone:?}");
    assert_eq!(stage.standing(), [0, 0, 0]);

    stage.delay_times(&json!({"boot_ms": 3_600_000}));
    let slow = stage.create(&["--faas", "Function"]);
    let late = stage.expect(4, &["show", &slow, "--wait", "--timeout", "100ms"]);
    assert!(late.err.contains("is still PENDING") && late.err.contains("it continues"), "{late:?}");
    let early = stage.expect(5, &["update", &slow, "--cpu", "2"]);
    assert!(early.err.contains("status: 423") && early.err.contains("fix: only what runs"), "{early:?}");
    advance(&stage.sandbox);
    stage.expect(0, &["delete", &slow, "--yes", "--wait"]);
    stage.close();
}

#[test]
fn the_same_key_leads_to_the_same_runtime_and_a_wait_survives_a_restart() {
    let stage = ServerlessCli::open();
    let arguments = ["--faas", "Function", "--idempotency-key", "order-4711"];
    assert_eq!(stage.create(&arguments), stage.create(&arguments));
    let reused = stage.expect(1, &["create", "--faas", "Function", "--cpu", "2", "--key", "order-4711"]);
    assert!(reused.err.contains("Idempotency-Key reused"), "{reused:?}");

    stage.delay_times(&json!({"boot_ms": 3_600_000}));
    let slow = stage.create(&["--faas", "Function"]);
    let waiting = stage.place.begin(&["serverless", "show", &slow, "--wait", "--timeout", "1m"]);
    until("the first look", || waiting.err().contains("PENDING").then_some(()));
    let ServerlessCli { place, sandbox, server } = stage;
    server.stop();
    until("the trouble", || waiting.err().contains("trying again").then_some(()));
    let server = place.serve(&["--sandbox-url", &sandbox.url]);
    advance(&sandbox);
    let ran = waiting.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("RUNNING"), "{ran:?}");
    ServerlessCli { place, sandbox, server }.close();
}

/// Acts in OpenNebula as the user does.
fn as_user<T>(sandbox: &str, act: impl AsyncFnOnce(OpenNebula, NebulaCredentials) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let nebula = OpenNebula::new(&OpenNebulaOptions::beside(sandbox)).unwrap();
        act(nebula, NebulaCredentials::new(USER, SecretString::from(PASSWORD)).unwrap()).await
    })
}

/// A document with the label of an operation that is unknown, which began long ago.
fn leave_document(sandbox: &str) -> i32 {
    as_user(sandbox, async |nebula, own| {
        let mut template = NebulaTemplate::new();
        let token = "0199f0c1d2e37a4b8c5d6e7f80919293-00112233445566ff";
        let body = r#"{"FAAS":{"FLAVOUR":"Function","STATE":"PENDING"}}"#;
        for (name, value) in [("NAME", "left"), ("BODY", body), ("PROVISION_ENGINE_TOKEN", token)] {
            template.set(AttributeName::of(name), Text::ours(value));
        }
        nebula.allocate_document(&own, &template, RUNTIME_DOCUMENT).await.unwrap()
    })
}

#[test]
fn what_is_lost_is_found_and_what_is_not_certainly_ours_is_only_reported() {
    let stage = ServerlessCli::open();
    assert!(stage.expect(0, &["orphans"]).err.contains("nothing is lost"));
    // A complete runtime is no orphan, and a young one is not old enough to be one.
    let whole = stage.create(&["--faas", "Function", "--wait"]);
    let id = leave_document(&stage.sandbox.url).to_string();

    let resource = format!("serverless:{id}");
    let operation = stage.place.submit(&["--param", "wait_ms=3600000", "--resource", &resource]);
    assert!(stage.expect(0, &["orphans", "--clean"]).err.contains("nothing is lost"));
    stage.place.expect(0, &["operations", "cancel", &operation, "--wait"]);

    let found = stage.expect(7, &["orphans"]);
    let row: Vec<&str> = found.out.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..2], ["document", &id], "{found:?}");
    assert!(found.err.contains("orphans --clean"), "{found:?}");
    assert_eq!(stage.standing(), [2, 1, 1]);
    let cleaned = stage.expect(7, &["orphans", "--clean"]);
    assert!(cleaned.out.contains("reported only: its operation is not known here"), "{cleaned:?}");
    assert_eq!(stage.standing(), [2, 1, 1]);
    let document = id.parse().unwrap();
    as_user(&stage.sandbox.url, async |nebula, own| nebula.delete_document(&own, document).await.unwrap());
    assert!(stage.expect(0, &["orphans"]).err.contains("nothing is lost"));
    assert_eq!(stage.json(&["show", &whole])["FAAS"]["STATE"], "RUNNING");

    // Without a server its database knows.
    let id = leave_document(&stage.sandbox.url).to_string();
    let operation =
        stage.place.submit(&["--param", "wait_ms=3600000", "--resource", &format!("serverless:{id}")]);
    stage.place.wait_for_phase(&operation, "waiting");
    let ServerlessCli { place, sandbox, server } = stage;
    server.stop();
    assert!(place.expect(0, &["serverless", "orphans"]).err.contains("nothing is lost"));
    let server = place.serve(&["--sandbox-url", &sandbox.url]);
    place.expect(0, &["operations", "cancel", &operation, "--wait"]);
    server.stop();
    place.expect(7, &["serverless", "orphans"]);

    place.write("oneadmin.auth", "oneadmin:wrong\n");
    assert!(place.expect(1, &["serverless", "orphans"]).err.contains("serverless.orphans.one_auth"));
    // Who is named on the command line wins.
    place.write("named.auth", "oneadmin:opennebula\n");
    place.expect(7, &["serverless", "orphans", "--one-auth", "named.auth"]);
    sandbox.stop();
    let ran = DataDirectory::new().expect(1, &["serverless", "orphans"]);
    assert!(ran.err.contains("serverless.orphans.one_auth"), "{ran:?}");
}

#[test]
fn the_demonstration_calls_a_function_and_leaves_nothing_of_it() {
    let ran = DataDirectory::new().expect(0, &["demo", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    for (what, made) in [("documents", 1), ("services", 1), ("machines", 2)] {
        let count = &report["ledger"][what];
        assert_eq!((&count["made"], &count["standing"]), (&json!(made), &json!(0)), "{what}: {report}");
    }
    let told: Vec<&str> = report["operations"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["name"] == "Hermes" && one["phase"] == "succeeded")
        .map(|one| one["workflow"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["serverless.create", "serverless.update", "serverless.delete"]);
    for part in [r#"it returns "Hermes""#, "256 MB now", "404", "0 standing"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[test]
fn shells_and_manuals_know_the_commands() {
    let place = DataDirectory::new();
    assert!(place.expect(0, &["complete", "--", "serverl"]).out.starts_with("serverless"));
    let dir = place.path("pages");
    place.expect(0, &["man", "--dir", dir.to_str().unwrap()]);
    for command in ["list", "show", "create", "update", "delete", "orphans"] {
        assert!(dir.join(format!("provision-engine-serverless-{command}.1")).exists(), "{command}");
    }
}

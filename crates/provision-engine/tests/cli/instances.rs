//! `catalog` and `instances` against a broker that says what the test wants it to say.

mod broker;

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stage::{DataDirectory, until};
use broker::{Say, ScriptedBroker, catalog, say};

const INSTANCE: &str = "/v2/service_instances/i1";
const LAST: &str = "GET /v2/service_instances/i1/last_operation";
const BINDING: &str = "/v2/service_instances/i1/service_bindings/b1";

/// A broker with a catalog and one instance of the plan `large`.
fn start() -> ScriptedBroker {
    let broker = ScriptedBroker::start();
    broker.says("GET /v2/catalog", [say(200, catalog())]);
    broker.says(&format!("GET {INSTANCE}"), [say(200, json!({"service_id": "s1", "plan_id": "p2"}))]);
    broker
}

fn going(text: &str) -> Say {
    say(200, json!({"state": "in progress", "description": text})).with("retry-after", "0")
}

#[test]
fn a_catalog_is_a_table_and_a_plan_says_what_it_takes() {
    let broker = start();
    let table = broker.expect(0, &["catalog"]).out;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["SERVICE", "PLAN", "ID", "FREE", "BINDABLE", "DESCRIPTION"]);
    assert_eq!(rows[1], ["runtime", "small", "p1", "no", "no", "a", "small", "one"]);
    assert_eq!(rows[2][..5], ["runtime", "large", "p2", "yes", "yes"]);
    assert_eq!(rows[3][..5], ["database", "small", "p3", "yes", "yes"]);
    let json = broker.expect(0, &["catalog", "-o", "json"]).out;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["services"][0]["plans"][1]["id"], "p2");
    let table = broker.expect(0, &["catalog", "--plan", "large"]).out;
    assert!(table.contains("nodes   integer  no        3        3 to 20\n"), "{table}");
    assert!(table.contains("region  string   no        -        eu, us\n"), "{table}");
    assert!(table.contains("name    string   yes       -        -\n"), "{table}");
    assert!(broker.expect(0, &["catalog", "--plan", "p3"]).err.contains("does not say"));
    for (more, part) in [
        (&["--plan", "lareg"][..], "did you mean `large`?"),
        (&["--plan", "small"], "runtime/small (p1), database/small (p3)"),
        (&["--plan", "small", "--service", "databse"], "did you mean `database`?"),
    ] {
        assert!(broker.expect(1, &[&["catalog"], more].concat()).err.contains(part), "{more:?}");
    }
}

#[test]
fn every_call_says_who_it_is_and_which_version_it_speaks() {
    let broker = start();
    let header = |call: &str, name: &str| {
        broker.received(call, |received| {
            received.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
        })
    };
    broker.expect(0, &["catalog"]);
    assert_eq!(header("GET /v2/catalog", "x-broker-api-version").as_deref(), Some("2.17"));
    assert_eq!(header("GET /v2/catalog", "authorization").as_deref(), Some("Basic bWU6czNjcmV0"));
    broker.says("GET /oauth/cf-eu10/v2/catalog", [say(200, catalog())]);
    broker.expect(0, &["catalog", "--broker-region", "cf-eu10", "--api-version", "2.14"]);
    let call = "GET /oauth/cf-eu10/v2/catalog";
    assert_eq!(header(call, "x-broker-api-version").as_deref(), Some("2.14"));

    // What the data directory has is for its own server, and not for another user.
    let place = DataDirectory::new();
    std::fs::create_dir(place.path("data")).unwrap();
    std::fs::write(place.data("broker.credentials"), "own:pass\n").unwrap();
    std::fs::write(place.data("admin.token"), "pe_own\n").unwrap();
    place.expect(0, &["catalog", "--server", &broker.url]);
    assert_eq!(header("GET /v2/catalog", "authorization").as_deref(), Some("Basic b3duOnBhc3M="));
    place.expect(0, &["catalog", "--broker-url", &broker.url]);
    assert_eq!(header("GET /v2/catalog", "authorization"), None);
    // Without them, its token will do.
    std::fs::remove_file(place.data("broker.credentials")).unwrap();
    place.expect(0, &["catalog", "--server", &broker.url]);
    assert_eq!(header("GET /v2/catalog", "authorization").as_deref(), Some("Bearer pe_own"));
    let half = place.expect(1, &["catalog", "--broker-url", &broker.url, "--broker-user", "me"]);
    assert!(half.err.contains("PROVISION_ENGINE_BROKER_PASSWORD"), "{half:?}");
    assert!(place.expect(1, &["catalog", "--broker-url", "http://127.0.0.1:1"]).err.contains("cannot reach"));
}

#[test]
fn an_instance_that_is_there_at_once_needs_no_waiting() {
    let broker = start();
    broker.says(&format!("PUT {INSTANCE}"), [say(201, json!({"dashboard_url": "https://d"}))]);
    let create = ["instances", "create", "i1", "--plan", "large", "--param", "name=7", "--param", "nodes=7"];
    let ran = broker.expect(0, &[&create[..], &["--context", "globalaccount_id=42", "--wait"]].concat());
    assert_eq!(ran.out, "i1\n");
    assert!(ran.err.contains("instance i1 is created") && ran.err.contains("https://d"), "{ran:?}");
    broker.received(&format!("PUT {INSTANCE}"), |received| {
        assert_eq!(received.query, "accepts_incomplete=true");
        let expected = json!({
            "service_id": "s1", "plan_id": "p2",
            "organization_guid": "provision-engine", "space_guid": "provision-engine",
            "context": {"platform": "provision-engine", "globalaccount_id": "42"},
            "parameters": {"name": "7", "nodes": 7},
        });
        assert_eq!(received.body, expected);
    });
    let typo = broker.expect(1, &["instances", "create", "--plan", "large", "--param", "nods=1"]);
    assert!(typo.err.contains("`nods` (did you mean `nodes`?)"), "{typo:?}");
    // A new id is a new one each time, and nothing is there under it.
    let missing = broker.expect(1, &["instances", "create", "--plan", "large"]);
    assert!(missing.out.is_empty() && missing.err.contains("status: 404"), "{missing:?}");
}

#[test]
fn a_wait_tells_each_change_once_and_ends_as_the_operation_does() {
    let broker = start();
    let put = format!("PUT {INSTANCE}");
    broker.says(&put, [say(202, json!({"operation": "op/1 &x"}))]);
    let done = say(200, json!({"state": "succeeded"}));
    // Also a broker that stumbles on the way is asked again.
    let path = [going("first"), going("first"), say(503, "<html>"), going("second"), done];
    broker.says(LAST, path);
    let create = ["instances", "create", "i1", "--plan", "large"];
    let wait = [&create[..], &["--wait"]].concat();
    let ran = broker.expect(0, &wait);
    let told: Vec<&str> = ran.err.lines().collect();
    assert_eq!(told[0], "in progress: first");
    assert!(told[1].contains("503") && told[1].ends_with("trying again"), "{told:?}");
    assert_eq!(told[2..], ["in progress: second", "instance i1 is created"]);
    broker.received(LAST, |received| {
        assert_eq!(received.query, "service_id=s1&plan_id=p2&operation=op%2F1+%26x");
    });

    broker.says(
        LAST,
        [say(200, json!({"state": "failed", "description": "no quota", "instance_usable": false}))],
    );
    let ran = broker.expect(3, &wait);
    assert!(ran.err.contains("failed: no quota\nthe instance can no longer be used"), "{ran:?}");
    assert!(ran.err.contains("instances delete i1 --plan large"), "{ran:?}");
    let ran = broker.expect(3, &[&wait[..], &["-o", "json"]].concat());
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        json,
        json!({"id": "i1", "state": "failed", "description": "no quota", "operation": "op/1 &x"})
    );

    // The user who is told to come back in half a minute does not ask more often than at the end.
    broker.says(LAST, [say(200, json!({"state": "in progress"})).with("retry-after", "30")]);
    let ran = broker.expect(4, &[&wait[..], &["--timeout", "300ms"]].concat());
    assert!(ran.err.contains("in progress after 300 ms") && ran.err.contains("instances show i1"), "{ran:?}");
    assert_eq!(broker.count(LAST), 2);
    let ran = broker.expect(0, &create);
    assert!(ran.err.contains("follow it: provision-engine instances show i1 --wait"), "{ran:?}");
}

#[test]
fn an_interrupt_leaves_the_operation_alone() {
    let broker = start();
    broker.says(&format!("PUT {INSTANCE}"), [say(202, json!({}))]);
    broker.says(LAST, [going("busy")]);
    let ran = broker.place.begin(&["instances", "create", "i1", "--plan", "large", "--wait"]);
    until("two looks", || (broker.count(LAST) >= 2).then_some(()));
    ran.signal(Signal::INT);
    let ran = ran.end();
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), "i1\n"), "{ran:?}");
    assert!(
        ran.err.contains(
            "it continues in the background; follow it with: provision-engine instances show i1 --wait"
        ),
        "{ran:?}"
    );
    assert_eq!(broker.count(&format!("DELETE {INSTANCE}")), 0);
}

#[test]
fn an_error_says_what_to_do_and_ends_with_its_own_code() {
    let broker = start();
    for (status, error, code, fix) in [
        (400, None, 1, "catalog --plan"),
        (401, None, 6, "PROVISION_ENGINE_BROKER_PASSWORD"),
        (409, None, 5, "choose another id"),
        (412, None, 1, "--api-version"),
        (422, Some("ConcurrencyError"), 5, "wait"),
        (500, None, 1, "the instance may exist: its id is i1"),
    ] {
        let mut body = json!({"description": "because\u{7}"});
        error.inspect(|error| body["error"] = json!(error));
        broker.says(&format!("PUT {INSTANCE}"), [say(status, body)]);
        let ran = broker.expect(code, &["instances", "create", "i1", "--plan", "large"]);
        let title = error.map(|error| format!("{error}: ")).unwrap_or_default();
        assert!(ran.err.contains(&format!("error: {title}because \n  status: {status}")), "{ran:?}");
        assert!(ran.err.contains(fix) && ran.out.is_empty(), "{fix}: {ran:?}");
    }
}

#[test]
fn garbage_is_named_and_followed_nowhere() {
    let broker = start();
    let endless = " ".repeat(17 << 20);
    for (said, part) in [
        (say(200, "<html>s3cret</html>"), "gave status 200 OK with an answer that cannot be read"),
        (say(200, r#"{"services": "s3cret"}"#), "cannot be read (line 1, column 21)"),
        (say(200, ""), "cannot be read"),
        (say(204, ""), "gave status 204"),
        (say(302, "").with("location", "/elsewhere"), "gave status 302"),
        (say(200, endless.as_str()), "gave an endless answer"),
    ] {
        broker.says("GET /v2/catalog", [said]);
        let ran = broker.expect(1, &["catalog"]);
        assert!(ran.err.contains(part) && ran.err.contains("is it a service broker?"), "{part}: {ran:?}");
        assert_eq!(broker.count("GET /elsewhere"), 0);
    }
    broker.says("GET /v2/catalog", [say(200, catalog())]);
    broker.says(&format!("PUT {INSTANCE}"), [say(202, json!({"operation": "x".repeat(10_001)}))]);
    let create = ["instances", "create", "i1", "--plan", "large", "--wait"];
    assert!(broker.expect(1, &create).err.contains("its id is i1"));
    broker.says(&format!("PUT {INSTANCE}"), [say(202, json!({}))]);
    broker.says(LAST, [say(200, json!({"state": "perhaps"}))]);
    assert!(broker.expect(1, &create).err.contains("cannot be read"));
}

#[test]
fn what_is_gone_is_deleted() {
    let broker = start();
    let (get, delete) = (format!("GET {INSTANCE}"), format!("DELETE {INSTANCE}"));
    let yes = ["instances", "delete", "i1", "--yes", "--wait"];
    assert!(broker.expect(1, &["instances", "delete", "i1"]).err.contains("give --yes"));
    assert_eq!(broker.count(&delete), 0);

    broker.says(&delete, [say(202, json!({"operation": "o"}))]);
    broker.says(LAST, [going("deleting"), say(410, json!({}))]);
    assert!(broker.expect(0, &yes).err.contains("instance i1 is deleted"));
    broker.received(&delete, |received| {
        assert_eq!(received.query, "service_id=s1&plan_id=p2&accepts_incomplete=true");
    });
    broker.says(&delete, [say(410, json!({}))]);
    assert!(broker.expect(0, &yes).err.contains("is gone already"));

    // An instance that cannot be fetched is gone, or is one whose making goes on or has failed.
    broker.says(&get, [say(404, json!({}))]);
    for gone in [say(404, json!({})), say(200, json!({"state": "succeeded"}))] {
        broker.says(LAST, [gone]);
        assert!(broker.expect(0, &yes).err.contains("is gone already"));
        assert_eq!(broker.count(&delete), 0);
    }
    broker.says(LAST, [say(200, json!({"state": "failed"}))]);
    assert!(broker.expect(1, &yes).err.contains("name it with --plan"));
    broker.says(&delete, [say(200, json!({}))]);
    broker.expect(0, &[&yes[..], &["--plan", "p1"]].concat());
    broker.received(&delete, |received| assert!(received.query.contains("plan_id=p1"), "{}", received.query));
}

#[test]
fn an_update_sends_what_changes_and_nothing_else() {
    let broker = start();
    let patch = format!("PATCH {INSTANCE}");
    let update = ["instances", "update", "i1"];
    assert!(broker.expect(1, &update).err.contains("nothing to change"));
    broker.says(&patch, [say(202, json!({"operation": "o"}))]);
    broker.says(LAST, [say(200, json!({"state": "succeeded"}))]);
    let previous = json!({"plan_id": "p2"});
    for (more, expected) in [
        (["--plan", "small"], json!({"service_id": "s1", "plan_id": "p1", "previous_values": previous})),
        (
            ["--param", "nodes=9"],
            json!({"service_id": "s1", "parameters": {"nodes": 9}, "previous_values": previous}),
        ),
        (
            ["--context", "active=false"],
            json!({"service_id": "s1", "context": {"platform": "provision-engine", "active": false},
                   "previous_values": previous}),
        ),
    ] {
        let ran = broker.expect(0, &[&update[..], &more, &["--wait"]].concat());
        assert!(ran.err.contains("instance i1 is updated"), "{ran:?}");
        broker.received(&patch, |received| assert_eq!(received.body, expected));
        // After a change of the plan the old one is named.
        broker
            .received(LAST, |received| assert!(received.query.contains("plan_id=p2"), "{}", received.query));
    }
    let wrong = broker.expect(1, &[&update[..], &["--param", "nodes=many"]].concat());
    assert!(wrong.err.contains("--param nodes: expected integer"), "{wrong:?}");
}

#[test]
fn a_binding_prints_its_credentials_or_keeps_them_in_a_private_file() {
    let broker = start();
    let (put, get) = (format!("PUT {BINDING}"), format!("GET {BINDING}"));
    let bound =
        json!({"credentials": {"kubeconfig": "a: 1\nb: 2\n", "user": "k"}, "metadata": {"expires_at": "T"}});
    broker.says(&put, [say(201, bound.clone())]);
    let bind = ["instances", "bind", "i1", "b1"];
    let ran = broker.expect(0, &bind);
    assert_eq!(ran.out, "binding     b1\nexpires_at  T\nuser        k\n\nkubeconfig:\na: 1\nb: 2\n");
    let json = broker.place.json(&bind);
    assert_eq!((&json["binding_id"], &json["credentials"]["user"]), (&"b1".into(), &"k".into()));

    let ran = broker.expect(0, &[&bind[..], &["--kubeconfig", "k.yaml"]].concat());
    assert!(!ran.out.contains("kubeconfig") && ran.err.contains("wrote k.yaml"), "{ran:?}");
    let path = broker.place.path("k.yaml");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a: 1\nb: 2\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    broker.says(&put, [say(200, json!({"credentials": {"user": "k"}}))]);
    let ran = broker.expect(1, &[&bind[..], &["--kubeconfig", "k.yaml"]].concat());
    assert!(ran.err.contains("no kubeconfig") && ran.err.contains("binding b1 exists"), "{ran:?}");

    let last = format!("{get}/last_operation");
    broker.says(&put, [say(202, json!({"operation": "o"}))]);
    broker.says(&last, [going("binding"), say(200, json!({"state": "succeeded"}))]);
    broker.says(&get, [say(200, bound)]);
    let ran = broker.expect(0, &[&bind[..], &["-o", "name"]].concat());
    assert!(ran.out == "b1\n" && ran.err.contains("instances bind i1 b1 --wait"), "{ran:?}");
    // Credentials are what it is for, so it waits for them also without being told.
    assert!(broker.expect(0, &bind).out.contains("\nuser        k\n"));
    broker.says(&last, [say(200, json!({"state": "failed", "description": "no"}))]);
    assert!(broker.expect(3, &[&bind[..], &["--wait"]].concat()).err.contains("failed: no"));

    let delete = format!("DELETE {BINDING}");
    for (said, part) in
        [(say(200, json!({})), "binding b1 is unbound"), (say(410, json!({})), "gone already")]
    {
        broker.says(&delete, [said]);
        assert!(broker.expect(0, &["instances", "unbind", "i1", "b1"]).err.contains(part), "{part}");
    }
}

#[test]
fn an_instance_is_shown_also_while_it_cannot_be_fetched() {
    let broker = start();
    let instance = json!({"service_id": "s1", "plan_id": "p2", "parameters": {"nodes": 7}});
    broker.says(&format!("GET {INSTANCE}"), [say(200, instance)]);
    broker.says(LAST, [going("busy"), say(200, json!({"state": "succeeded", "description": "done"}))]);
    let ran = broker.expect(0, &["instances", "show", "i1", "--wait"]).out;
    for line in ["plan             large", "last operation   succeeded: done", "parameter nodes  7"] {
        assert!(ran.lines().any(|it| it == line), "{line}: {ran}");
    }
    assert_eq!(broker.place.json(&["instances", "show", "i1"])["parameters"], json!({"nodes": 7}));
    broker.says(&format!("GET {INSTANCE}"), [say(404, json!({}))]);
    broker.says(LAST, [say(200, json!({"state": "failed", "description": "no"}))]);
    assert!(broker.expect(0, &["instances", "show", "i1"]).out.contains("failed: no"));
    broker.expect(3, &["instances", "show", "i1", "--wait"]);
    broker.says(LAST, [say(404, json!({}))]);
    assert!(broker.expect(1, &["instances", "show", "i1"]).err.contains("has no instance i1"));
    broker.says(LAST, [going("deleting"), going("deleting"), say(410, json!({}))]);
    assert!(broker.expect(0, &["instances", "show", "i1", "--wait"]).err.contains("i1 is gone"));
}

#[test]
fn only_our_own_broker_has_a_list() {
    let broker = start();
    let foreign = broker.expect(1, &["instances", "list"]);
    assert!(foreign.err.contains("only a provision-engine does"), "{foreign:?}");
    let item = |id: &str| {
        json!({
            "instanceID": id, "servicePlanName": "trial", "region": "", "status": {"state": "succeeded"},
        })
    };
    let pages = || {
        [
            say(200, json!({"data": [item("b")], "next": "c1"})),
            say(200, json!({"data": [item("a")], "next": null})),
        ]
    };
    broker.says("GET /runtimes", pages());
    assert_eq!(
        broker.expect(0, &["instances", "list", "-o", "name"]).out,
        "b\na\n",
        "as the server has them"
    );
    broker.received("GET /runtimes", |received| assert_eq!(received.query, "page_size=100&cursor=c1"));
    broker.says("GET /runtimes", pages());
    let first = broker.expect(0, &["instances", "list", "--limit", "1"]);
    assert!(first.out.contains("-     b   trial  succeeded  -"), "{first:?}");
    assert!(first.err.contains("--all"), "{first:?}");
    // The token of our own server goes to our own server, and the password does not.
    broker.says("GET /runtimes", pages());
    let own = DataDirectory::new();
    own.expect(0, &["instances", "list", "--server", &broker.url, "--token", "pe_x"]);
    broker.received("GET /runtimes", |received| assert_eq!(received.headers["authorization"], "Bearer pe_x"));
    broker.expect(0, &["instances", "list", "--token", "pe_x"]);
    broker.received("GET /runtimes", |received| {
        assert!(received.headers["authorization"].to_str().unwrap().starts_with("Basic "));
    });
}

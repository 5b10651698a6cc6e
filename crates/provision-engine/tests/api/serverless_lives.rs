//! Runtimes from their beginning to their end, as devices see them.

use std::time::Duration;

use engine::AccessStore;
use serde_json::{Value, json};

use crate::serverless_world::{RUNTIMES, ServerlessFixture, function, nebula, runtime};

fn members(answer: &Value) -> &Value {
    &answer["SERVERLESS_RUNTIME"]
}

#[tokio::test]
async fn a_runtime_is_made_shown_changed_and_removed() {
    let world = nebula().await;
    let made = world.post(&function("Function")).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.id();
    assert_eq!(made.header("location"), format!("{RUNTIMES}/{id}"));
    let (name, faas) = (members(&made.json)["NAME"].as_str().unwrap(), &members(&made.json)["FAAS"]);
    assert!(name.starts_with("Function_"), "{name}");
    assert_eq!((&faas["FLAVOUR"], &faas["STATE"]), (&json!("Function"), &json!("PENDING")));
    assert!(
        faas["VM_ID"].is_i64() && faas["CPU"] == 1 && faas["MEMORY"] == 128 && faas["DISK_SIZE"] == 1024,
        "{faas}"
    );
    assert!(faas["ENDPOINT"].as_str().unwrap().starts_with("127."), "{faas}");
    let order =
        format!(r#"{{"SERVERLESS_RUNTIME":{{"NAME":"{name}","ID":{id},"FAAS":{{"FLAVOUR":"Function","#);
    assert!(made.text.starts_with(&order), "{}", made.text);

    let shown = world.until(id, "RUNNING").await;
    assert_eq!(members(&shown.json)["SERVICE_ID"], members(&made.json)["SERVICE_ID"]);
    let wanted =
        json!({"NAME": "resized", "FAAS": {"FLAVOUR": "", "CPU": 2, "MEMORY": 192, "DISK_SIZE": 1152}});
    let changed = world.put(id, &runtime(wanted)).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    // It answered with the old name.
    assert_eq!(members(&changed.json)["NAME"], "resized");
    let faas = &members(&changed.json)["FAAS"];
    assert!(faas["CPU"] == 2 && faas["MEMORY"] == 192 && faas["DISK_SIZE"] == 1152, "{faas}");
    assert!(["RUNNING", "UPDATING"].contains(&faas["STATE"].as_str().unwrap()), "{faas}");

    let removed = world.delete(id).await;
    assert_eq!((removed.status, removed.text.as_str()), (204, ""));
    for method in ["GET", "PUT", "DELETE"] {
        let path = format!("{RUNTIMES}/{id}");
        let gone = world.ask(method, &path).json(&function("Function")).send().await;
        gone.is(404, "Serverless Runtime not found");
    }
    world.is_empty_soon().await;
}

#[tokio::test]
async fn a_runtime_with_data_is_echoed_as_it_was_sent() {
    let world = nebula().await;
    let body = r#"{"SERVERLESS_RUNTIME": {"NAME": "both", "ID": 7, "SERVICE_ID": 8, "FOO": "bar",
        "FAAS": {"FLAVOUR": "Function", "CPU": 2, "VM_ID": 3, "STATE": "ERROR", "ENDPOINT": ""},
        "DAAS": {"FLAVOUR": "Data", "MEMORY": 197},
        "SCHEDULING": {"REQUIREMENTS": "ARCH=\"x86_64\"", "POLICY": "energy"},
        "DEVICE_INFO": {"LATENCY_TO_PE": 0.36, "GEOGRAPHIC_LOCATION": "x\"]\nMEMORY=7"}}}"#;
    let refused = world.ask("POST", RUNTIMES).body(body).send().await;
    // A line of its own would be a line of the template.
    assert_eq!(refused.status, 400, "{}", refused.text);
    let made = world.ask("POST", RUNTIMES).body(body.replace("\\n", " ")).send().await;
    assert_eq!(made.status, 201, "{}", made.text);
    let seen = members(&made.json);
    assert_eq!((&seen["NAME"], &seen["FOO"]), (&json!("both"), &json!("bar")));
    assert!(seen["ID"] != 7 && seen["SERVICE_ID"] != 8 && seen["FAAS"]["VM_ID"] != 3, "{seen}");
    assert_eq!(made.text.matches("\"ID\":").count(), 1, "{}", made.text);
    assert_eq!((&seen["FAAS"]["STATE"], &seen["DAAS"]["STATE"]), (&json!("PENDING"), &json!("PENDING")));
    assert_eq!((&seen["FAAS"]["CPU"], &seen["DAAS"]["MEMORY"]), (&json!(2), &json!(197)));
    let scheduling = r#""SCHEDULING":{"REQUIREMENTS":"ARCH=\"x86_64\"","POLICY":"energy"}"#;
    assert!(made.text.contains(scheduling), "{}", made.text);
    let none = world.post(&runtime(json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": ""}}))).await;
    assert_eq!((none.status, &members(&none.json)["DAAS"]), (201, &json!({"FLAVOUR": ""})));
    let null = world.post(&runtime(json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": null}))).await;
    assert_eq!((null.status, members(&null.json).get("DAAS")), (201, None));
}

#[tokio::test]
async fn the_same_key_is_the_same_runtime_and_another_body_is_refused() {
    let world = nebula().await;
    let post = |key: &'static str, user: &'static str, body: Value| {
        world.ask("POST", RUNTIMES).user(user).header("idempotency-key", key).json(&body).send()
    };
    let cognit = "cognit:cognitpass";
    let first = post("k", cognit, function("Function")).await;
    assert_eq!((first.status, first.header("idempotency-replayed")), (201, ""));
    let spaced = world.ask("POST", RUNTIMES).header("idempotency-key", "k");
    let again = spaced.body("{ \"SERVERLESS_RUNTIME\" : {\"FAAS\":{\"FLAVOUR\":\"Function\"}}}").send().await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (201, "true"));
    assert_eq!(
        (again.text, again.headers.get("location")),
        (first.text.clone(), first.headers.get("location"))
    );
    let other = post("k", cognit, function("Function-Data")).await;
    assert_eq!(other.status, 422, "{}", other.text);
    let body = runtime(json!({"NAME": "n", "FAAS": {"FLAVOUR": "Function"}}));
    post("k", cognit, body).await.is(422, "Idempotency-Key reused");
    // The key of another client is another key, and a wrong password gets nothing.
    let theirs = post("k", "other:otherpass", function("Function")).await;
    assert!(theirs.status == 201 && theirs.id() != first.id(), "{}", theirs.text);
    assert_eq!(post("k", "cognit:wrong", function("Function")).await.status, 401);
    let at_once =
        futures_util::future::join_all((0..8).map(|_| post("j", cognit, function("Function")))).await;
    let ids: Vec<i64> = at_once.iter().map(crate::serverless_world::ServerlessResponse::id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[tokio::test]
async fn a_failure_is_answered_again_for_its_key() {
    let world = nebula().await;
    let post =
        || world.ask("POST", RUNTIMES).header("idempotency-key", "k").json(&function("FAILED_DEPLOY")).send();
    let (first, again) = (post().await, post().await);
    assert_eq!((first.status, again.status), (500, 500), "{}", first.text);
    assert_eq!(first.text, again.text);
}

#[tokio::test]
async fn the_one_who_does_not_want_to_wait_can_look() {
    let world = nebula().await;
    let no_waiting = |method: &str, path: &str, body: Value| {
        world.ask(method, path).header("prefer", "respond-async").json(&body).send()
    };
    let accepted = no_waiting("POST", RUNTIMES, function("Function")).await;
    assert_eq!((accepted.status, accepted.header("preference-applied")), (202, "respond-async"));
    let operation = over(&world, accepted.header("location")).await;
    assert_eq!(
        (&operation["STATE"], &operation["STATUS"]),
        (&json!("SUCCEEDED"), &json!(201)),
        "{operation}"
    );
    assert_eq!(operation["ACTION"], "create");
    let path = operation["LOCATION"].as_str().unwrap().to_owned();
    assert_eq!(world.ask("GET", &path).send().await.status, 200);
    for user in ["other:otherpass", "oneadmin:opennebula"] {
        let other = world.ask("GET", accepted.header("location")).user(user).send().await;
        other.is(404, "Operation not found");
    }
    let failed = no_waiting("POST", RUNTIMES, function("FAILED_DEPLOY")).await;
    let operation = over(&world, failed.header("location")).await;
    assert_eq!((&operation["STATE"], &operation["STATUS"]), (&json!("FAILED"), &json!(500)), "{operation}");
    assert!(operation["REFUSAL"]["message"].is_array(), "{operation}");
    let removed = no_waiting("DELETE", &path, json!({})).await;
    assert_eq!(removed.status, 202);
    let operation = over(&world, removed.header("location")).await;
    assert_eq!((&operation["ACTION"], &operation["STATUS"]), (&json!("delete"), &json!(204)), "{operation}");
    // What is refused at once is not accepted.
    no_waiting("DELETE", &path, json!({})).await.is(404, "Serverless Runtime not found");
    world.is_empty_soon().await;
}

/// Looks until an operation is over. A test may have shortened the time limit of the API, so that a look on a busy
/// machine ends with 504.
pub(crate) async fn over(world: &ServerlessFixture, path: &str) -> Value {
    for _ in 0..1000 {
        let answer = world.ask("GET", path).send().await;
        assert!(matches!(answer.status, 200 | 504), "{} {}", answer.status, answer.text);
        if answer.status == 200 && answer.json["OPERATION"]["STATE"] != "RUNNING" {
            return answer.json["OPERATION"].clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{path} is never over");
}

#[tokio::test]
async fn runtimes_are_listed_by_page_and_by_what_they_are() {
    let world = nebula().await;
    let empty = world.ask("GET", RUNTIMES).send().await;
    assert_eq!(empty.text, r#"{"SERVERLESS_RUNTIMES":[]}"#);
    let named = |name: &str, flavour: &str| runtime(json!({"NAME": name, "FAAS": {"FLAVOUR": flavour}}));
    let first = world.running(&named("a", "Function")).await;
    let second = world.running(&named("b", "nature")).await;
    let ids = async |query: &str| -> Vec<i64> {
        let answer = world.ask("GET", &format!("{RUNTIMES}{query}")).send().await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.text);
        let runtimes = answer.json["SERVERLESS_RUNTIMES"].as_array().unwrap();
        runtimes.iter().map(|runtime| runtime["ID"].as_i64().unwrap()).collect()
    };
    let mut all = ids("").await;
    all.sort_unstable();
    assert_eq!(all, [first, second]);
    assert_eq!(ids("?name=a").await, [first]);
    assert_eq!(ids("?flavour=nature").await, [second]);
    assert_eq!(ids("?state=RUNNING&name=b").await, [second]);
    assert!(ids("?state=ERROR").await.is_empty());
    for (query, expected) in [("?limit=1", json!(1)), ("?limit=1&offset=2", json!(null)), ("", json!(null))]
        .into_iter()
        .chain([("?state=RUNNING&limit=1", json!(1)), ("?state=RUNNING&limit=1&offset=1", json!(null))])
    {
        let answer = world.ask("GET", &format!("{RUNTIMES}{query}")).send().await;
        assert_eq!(answer.json["NEXT_OFFSET"], expected, "{query}");
    }
    let (page, rest) = (ids("?limit=1").await, ids("?limit=1&offset=1").await);
    assert!(page.len() == 1 && rest.len() == 1 && page != rest, "{page:?} {rest:?}");
    for bad in
        ["?limit=0", "?limit=x", "?offset=-1", "?state=DONE", "?colour=red", "?name=", "?limit=1&limit=2"]
    {
        world.ask("GET", &format!("{RUNTIMES}{bad}")).send().await.is(400, "Invalid parameter");
    }
    let outsiders = world.ask("GET", RUNTIMES).user("other:otherpass").send().await;
    assert_eq!(outsiders.text, r#"{"SERVERLESS_RUNTIMES":[]}"#);
}

#[tokio::test]
async fn a_runtime_that_does_not_run_yet_cannot_be_changed() {
    let world = nebula().await;
    world.tell("/opennebula/pace", &json!({"boot_ms": 60_000})).await;
    let id = world.made(&function("Function")).await;
    let body = runtime(json!({"NAME": "new", "FAAS": {"FLAVOUR": "Function", "CPU": 2}}));
    let refused = world.put(id, &body).await;
    refused.is(423, "Cannot update Serverless Runtime Function VM FAAS on a transient state");
    assert_eq!(refused.json["message"], "PENDING");
    // It had changed the name all the same.
    assert_ne!(members(&world.get(id).await.json)["NAME"], "new");
}

#[tokio::test]
async fn one_change_at_a_time_and_a_removal_stops_it() {
    let world = nebula().await;
    let id = world.running(&function("Function")).await;
    world.tell("/opennebula/pace", &json!({"resize_ms": 300})).await;
    let path = format!("{RUNTIMES}/{id}");
    let body = |cpu: u32| runtime(json!({"FAAS": {"FLAVOUR": "Function", "CPU": cpu}}));
    let first = world.ask("PUT", &path).header("prefer", "respond-async").json(&body(2)).send().await;
    assert_eq!(first.status, 202, "{}", first.text);
    let second = world.put(id, &body(3)).await;
    second.is(423, "Cannot update Serverless Runtime Function VM FAAS on a transient state");
    let removals = futures_util::future::join_all((0..4).map(|_| world.delete(id))).await;
    assert!(removals.iter().all(|answer| [204, 404].contains(&answer.status)), "{removals:?}");
    assert!(removals.iter().any(|answer| answer.status == 204));
    world.get(id).await.is(404, "Serverless Runtime not found");
    world.is_empty_soon().await;
}

#[tokio::test]
async fn what_was_done_is_in_the_audit_log_and_what_was_not_is_not() {
    let world = nebula().await;
    let id = world.running(&function("Function")).await;
    world.post(&function("NoSuchFlavour")).await;
    world.ask("POST", RUNTIMES).user("cognit:wrong").json(&function("Function")).send().await;
    let wanted = runtime(json!({"NAME": "new", "FAAS": {"FLAVOUR": ""}}));
    assert_eq!(world.put(id, &wanted).await.status, 200);
    assert_eq!(world.delete(id).await.status, 204);
    let rows = world.store.audit_log(10).await.unwrap();
    let rows: Vec<_> =
        rows.iter().map(|row| (row.who.as_str(), row.action.as_str(), row.result.as_str())).collect();
    let who = "opennebula:cognit";
    let expect = [
        (who, "serverless.delete", "204"),
        (who, "serverless.update", "200"),
        (who, "serverless.create", "201"),
    ];
    assert_eq!(rows, expect);
}

#[tokio::test]
async fn a_change_that_makes_no_sense_is_refused_before_anything_happens() {
    let world = nebula().await;
    let id = world.running(&function("Function")).await;
    let rows = world.rows().await;
    let put = |body: &'static str| world.ask("PUT", &format!("{RUNTIMES}/{id}")).body(body).send();
    // These were 500.
    for body in [
        "{}",
        "[]",
        r#"{"SERVERLESS_RUNTIME": {}}"#,
        r#"{"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "F", "CPU": "two"}}}"#,
    ] {
        put(body).await.is(400, "Invalid Serverless Runtime specification");
    }
    put("{nope").await.is(400, "Invalid JSON");
    let shrunk = put(r#"{"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "Function", "DISK_SIZE": 10}}}"#).await;
    assert_eq!(shrunk.status, 422, "{}", shrunk.text);
    assert_eq!(world.rows().await, rows);
    // What is left out stays.
    let larger = put(r#"{"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "", "CPU": 3}}}"#).await;
    let faas = &members(&larger.json)["FAAS"];
    assert!(larger.status == 200 && faas["CPU"] == 3 && faas["MEMORY"] == 128, "{}", larger.text);
}

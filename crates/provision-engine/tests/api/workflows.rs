//! Declaring workflows through the API: who may, what is refused with its place, versions, dry run and signals.

use serde_json::{Value, json};

use crate::world::{ApiFixture, TestResponse, world};

const PATH: &str = "/workflows/acme.database";

fn declaration() -> Value {
    json!({
        "workflow": "acme.database",
        "title": "Database for a team",
        "params": {
            "type": "object", "required": ["team"],
            "properties": {"team": {"type": "string"}, "password": {"type": "string", "writeOnly": true}},
        },
        "resource": "database:{team}",
        "base_url": "http://127.0.0.1:9/",
        "secret": "0123456789abcdef0123456789abcdef",
        "steps": [{"name": "create", "weight": 10, "title": "Creating it", "url": "create", "undo": "create/undo",
                   "retry": {"within": "1h", "first": "1h", "at_most": "1h"}}],
    })
}

async fn put(world: &ApiFixture, body: &Value) -> TestResponse {
    world.call("PUT", PATH).token(&world.admin).json(body).send().await
}

#[tokio::test]
async fn a_wrong_declaration_is_refused_with_the_place_and_the_fix() {
    let world = world().await;
    let weight = "{\n  \"workflow\": \"acme.database\", \"title\": \"x\",\n  \"steps\": [\n    {\"name\": \"a\", \
                  \"weight\": 0, \"title\": \"A\", \"url\": \"https://s.example/\"}]}";
    let call = world.call("PUT", PATH).token(&world.admin).header("content-type", "application/json");
    let refused = call.body(weight).send().await.is(422, "invalid-declaration");
    assert_eq!(refused.json["line"], 4, "{}", refused.text);
    assert!(refused.text.contains("weight must be a whole number from 1"), "{}", refused.text);
    for (pointer, value, part) in [
        ("/steps/0/udno", json!("x"), "did you mean undo?"),
        ("/base_url", json!("https://169.254.169.254/"), "workflows.allow_link_local"),
        ("/base_url", json!("http://steps.example/"), "workflows.allow_http"),
        ("/params/type", json!("text"), "type: object"),
        ("/secret", json!("short"), "32 characters"),
        ("/workflow", json!("acme.other"), "the path says"),
        ("/secret_file", json!("/etc/passwd"), "give one of secret"),
    ] {
        let mut body = declaration();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[field] = value;
        let refused = put(&world, &body).await.is(422, "invalid-declaration");
        assert!(refused.text.contains(part), "{pointer}: {}", refused.text);
    }
    let mut body = declaration();
    body["workflow"] = json!("test.letters");
    let call = world.call("PUT", "/workflows/test.letters").token(&world.admin).json(&body).send().await;
    assert!(call.is(422, "invalid-declaration").text.contains("of the program itself"));
    let call = world.call("PUT", PATH).token(&world.operator).json(&declaration()).send().await;
    call.is(403, "forbidden");
    world.call("PUT", PATH).token(&world.admin).body("x").send().await.is(415, "unsupported-media-type");
}

#[tokio::test]
async fn a_declared_workflow_is_shown_versioned_submitted_and_ended() {
    let world = world().await;
    let first = put(&world, &declaration()).await;
    assert_eq!((first.status, &first.json["version"], &first.json["is_new"]), (200, &json!(1), &json!(true)));
    assert_eq!(put(&world, &declaration()).await.json["is_new"], false);
    let mut second = declaration();
    second["steps"][0]["title"] = json!("Making it");
    assert_eq!(put(&world, &second).await.json["version"], 2);
    let shown = world.get(PATH).await.json;
    assert_eq!(
        (&shown["version"], &shown["source"], &shown["changed_by"]),
        (&json!(2), &json!("api"), &json!("ada"))
    );
    assert_eq!(shown["params"]["required"], json!(["team"]));
    assert_eq!(world.get("/workflows/test.letters").await.json["source"], "built_in");
    let versions = world.get(&format!("{PATH}/versions")).await.json;
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
    let content = world.get(&format!("{PATH}/versions/1")).await;
    assert_eq!(content.json["plan"]["steps"][0]["title"], "Creating it");
    assert!(!content.text.contains("0123456789abcdef"), "{}", content.text);
    world.get(&format!("{PATH}/versions/9")).await.is(404, "workflow-not-found");
    let dry = world.post(&format!("{PATH}/dry-run"), json!({"params": {"team": "red"}})).await.json;
    assert_eq!(dry["calls"][0]["url"], "http://127.0.0.1:9/create");
    world.post(&format!("{PATH}/dry-run"), json!({})).await.is(422, "invalid-declaration");
    let submit = async |params: Value| {
        world.post("/operations", json!({"workflow": "acme.database", "params": params})).await
    };
    submit(json!({})).await.is(422, "invalid-command");
    let begun = submit(json!({"team": "red", "password": "hunter2"})).await;
    assert_eq!((begun.status, &begun.json["resource"]), (202, &json!("database:red")), "{}", begun.text);
    let id = begun.json["id"].as_str().unwrap();
    let detail = world.get(&format!("/operations/{id}")).await;
    assert!(!detail.text.contains("hunter2"), "{}", detail.text);
    let signal = |token: &str| {
        world.call("POST", &format!("/operations/{id}/signals/go")).token(token).json(&json!(1))
    };
    assert_eq!(signal(&world.operator).send().await.status, 202);
    signal(&world.reader).send().await.is(403, "forbidden");
    signal("sealed:1:k1:AAAA").send().await.is(401, "unauthenticated");
    assert_eq!(world.call("DELETE", PATH).token(&world.admin).send().await.status, 204);
    world.call("DELETE", PATH).token(&world.admin).send().await.is(404, "workflow-not-found");
    submit(json!({"team": "blue"})).await.is(422, "unknown-workflow");
    let audit = world.get("/audit").await.text;
    for action in ["workflow.apply", "workflow.delete", "operation.signal"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
}

/// A declaration whose step waits for a signal that no test sends to its service.
async fn put_of(world: &ApiFixture, workflow: &str) {
    let mut body = declaration();
    body["workflow"] = json!(workflow);
    let path = format!("/workflows/{workflow}");
    let applied = world.call("PUT", &path).token(&world.admin).json(&body).send().await;
    assert_eq!(applied.status, 200, "{}", applied.text);
}

#[tokio::test]
async fn who_may_use_the_workflows_of_one_team_cannot_submit_see_or_signal_those_of_another() {
    let world = world().await;
    put_of(&world, "red.database").await;
    put_of(&world, "blue.database").await;
    let red = ["submit:red.*", "operate:red.*", "read:red.*"];
    let submit = |workflow: &str, team: &str| {
        let body = json!({"workflow": workflow, "params": {"team": team}, "tenant": team});
        world.call("POST", "/operations").json(&body)
    };
    let own = submit("red.database", "red").granted(&red).send().await;
    assert_eq!(own.status, 202, "{}", own.text);
    let own = own.json["id"].as_str().unwrap().to_owned();
    let others = submit("blue.database", "blue").token(&world.admin).send().await.json;
    let others = others["id"].as_str().unwrap();

    submit("blue.database", "red").granted(&red).send().await.is(403, "forbidden");
    submit("test.letters", "red").granted(&red).send().await.is(403, "forbidden");
    let dry_run = |workflow: &str| {
        let body = json!({"params": {"team": "red"}});
        world.call("POST", &format!("/workflows/{workflow}/dry-run")).json(&body)
    };
    assert_eq!(dry_run("red.database").granted(&red).send().await.status, 200);
    dry_run("blue.database").granted(&red).send().await.is(403, "forbidden");
    let signal = |id: &str| world.call("POST", &format!("/operations/{id}/signals/go")).json(&json!(1));
    assert_eq!(signal(&own).granted(&red).send().await.status, 202);
    signal(others).granted(&red).send().await.is(403, "forbidden");
    // A key of the other operation, by the way that takes any key.
    let key = format!("/signals/{others}%2Fgo");
    world.call("POST", &key).json(&json!(1)).granted(&red).send().await.is(403, "forbidden");
    for path in [
        "/operations".to_owned(),
        format!("/operations/{others}"),
        format!("/operations/{others}/journal"),
        format!("/operations/{others}/explain"),
        "/workflows/blue.database".to_owned(),
        "/workflows/blue.database/versions/1".to_owned(),
    ] {
        world.call("GET", &path).granted(&red).send().await.is(403, "forbidden");
    }
    for action in ["cancel", "pause", "retry"] {
        let path = format!("/operations/{others}/{action}");
        world.call("POST", &path).json(&json!({})).granted(&red).send().await.is(403, "forbidden");
    }
    let path = "/workflows/red.database";
    world.call("PUT", path).json(&declaration()).granted(&red).send().await.is(403, "forbidden");
    world.call("DELETE", path).granted(&red).send().await.is(403, "forbidden");
}

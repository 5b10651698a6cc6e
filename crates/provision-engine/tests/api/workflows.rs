//! Declaring workflows through the API: who may, what is refused with its place, versions, dry run and signals.

use serde_json::{Value, json};
use server::rights::Needs;

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
pub(crate) async fn put_of(world: &ApiFixture, workflow: &str) {
    let mut body = declaration();
    body["workflow"] = json!(workflow);
    let path = format!("/workflows/{workflow}");
    let applied = world.call("PUT", &path).token(&world.admin).json(&body).send().await;
    assert_eq!(applied.status, 200, "{}", applied.text);
}

/// A token that may do this and nothing else, as an admin makes it.
async fn token_with(world: &ApiFixture, name: &str, grants: &[&str]) -> String {
    let made = world.post("/tokens", json!({"name": name, "role": "limited", "grants": grants})).await;
    assert_eq!((made.status, &made.json["grants"]), (201, &json!(grants)), "{}", made.text);
    made.json["token"].as_str().unwrap().to_owned()
}

/// Two teams with an operation each, and a token that is for one of them.
struct TwoTeams {
    world: ApiFixture,
    red: String,
    own: String,
    others: String,
}

async fn two_teams() -> TwoTeams {
    let world = world().await;
    put_of(&world, "red.database").await;
    put_of(&world, "blue.database").await;
    let red = token_with(&world, "red-ci", &["submit:red.*", "operate:red.*", "read:red.*"]).await;
    let submit = |workflow: &str, token: &str| {
        let body =
            json!({"workflow": workflow, "params": {"team": workflow.split('.').next()}, "name": workflow});
        world.call("POST", "/operations").json(&body).token(token)
    };
    let own = submit("red.database", &red).send().await;
    assert_eq!((own.status, &own.json["name"]), (202, &json!("red.database")), "{}", own.text);
    let others = submit("blue.database", &world.admin).send().await;
    let id = |answer: &TestResponse| answer.json["id"].as_str().unwrap().to_owned();
    let (own, others) = (id(&own), id(&others));
    TwoTeams { world, red, own, others }
}

#[tokio::test]
async fn who_may_use_the_workflows_of_one_team_cannot_submit_see_or_signal_those_of_another() {
    let TwoTeams { world, red, own, others } = two_teams().await;
    let submit = |body: &Value| world.call("POST", "/operations").json(body).token(&red);
    let red_params = json!({"team": "green"});
    for workflow in ["blue.database", "test.letters", "blue.none"] {
        submit(&json!({"workflow": workflow, "params": red_params})).send().await.is(403, "forbidden");
    }
    let unknown = submit(&json!({"workflow": "red.none"})).send().await.is(422, "unknown-workflow");
    assert!(unknown.text.contains("red.database") && !unknown.text.contains("blue"), "{}", unknown.text);
    let held = json!({"workflow": "red.database", "params": red_params, "resource": "database:blue"});
    submit(&held).send().await.is(403, "forbidden");
    let dry_run = |workflow: &str| {
        let body = json!({"params": {"team": "red"}});
        world.call("POST", &format!("/workflows/{workflow}/dry-run")).json(&body).token(&red)
    };
    assert_eq!(dry_run("red.database").send().await.status, 200);
    dry_run("blue.database").send().await.is(403, "forbidden");
    let signal =
        |id: &str| world.call("POST", &format!("/operations/{id}/signals/go")).json(&json!(1)).token(&red);
    assert_eq!(signal(&own).send().await.status, 202);
    signal(&others).send().await.is(404, "operation-not-found");
    // A key of the other operation, by the way that takes any key.
    let key = format!("/signals/{others}%2Fgo");
    world.call("POST", &key).json(&json!(1)).token(&red).send().await.is(403, "forbidden");
    for path in ["", "/journal", "/explain"] {
        let get = |id: &str| world.call("GET", &format!("/operations/{id}{path}")).token(&red);
        assert_eq!(get(&own).send().await.status, 200, "{path}");
        get(&others).send().await.is(404, "operation-not-found");
    }
    for path in ["", "/calls", "/versions", "/versions/1"] {
        let get = |workflow: &str| world.call("GET", &format!("/workflows/{workflow}{path}")).token(&red);
        assert_eq!(get("red.database").send().await.status, 200, "{path}");
        let missing = get("blue.database").send().await.is(404, "workflow-not-found");
        assert!(!missing.text.contains("test.letters"), "{}", missing.text);
    }
    for action in ["pause", "resume", "retry", "cancel"] {
        let ask =
            |id: &str| world.call("POST", &format!("/operations/{id}/{action}")).json(&json!({})).token(&red);
        assert!([202, 409].contains(&ask(&own).send().await.status), "{action}");
        ask(&others).send().await.is(404, "operation-not-found");
    }
    let path = "/workflows/red.database";
    world.call("PUT", path).json(&declaration()).token(&red).send().await.is(403, "forbidden");
    world.call("DELETE", path).token(&red).send().await.is(403, "forbidden");
}

/// Every route of the platform and the products, about what belongs to the other team.
#[tokio::test]
async fn no_route_opens_the_workflows_of_others_to_a_token_for_some() {
    let TwoTeams { world, red, own, others } = two_teams().await;
    let filtered = ["/operations", "/operations/totals", "/operations/failures", "/workflows"];
    for right in crate::world::all_rights() {
        let is_open = matches!(right.needs, Needs::Nothing | Needs::ReadUnlessPublic);
        if is_open || right.needs == Needs::Can(engine::Capability::SignIn) {
            continue;
        }
        let path = right.path.replace("{id}", &others).replace("{name}", "blue.database");
        let path = path.replace("{version}", "1").replace("{key}", "go");
        let body = match right.path {
            "/operations" => json!({"workflow": "blue.database", "params": {"team": "red"}}),
            "/workflows/{name}/dry-run" => json!({"params": {"team": "red"}}),
            _ => json!({}),
        };
        let mut call = world.call(right.method.as_str(), &path).token(&red);
        if right.method != "GET" {
            call = call.json(&body);
        }
        let answer = call.send().await;
        let what = format!("{} {path}: {} {}", right.method, answer.status, answer.text);
        if right.method == "GET" && filtered.contains(&right.path) {
            assert_eq!(answer.status, 200, "{what}");
            assert!(!answer.text.contains("blue") && !answer.text.contains(&others), "{what}");
        } else {
            assert!([403, 404].contains(&answer.status), "{what}");
        }
    }
    let get = |path: String| world.call("GET", &path).token(&red);
    for path in [
        "/operations".to_owned(),
        "/operations?q=database".to_owned(),
        format!("/operations?id={}", &own[..13]),
    ] {
        let listed = get(path.clone()).send().await.json;
        let ids: Vec<&str> =
            listed["items"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
        assert_eq!(ids, [own.as_str()], "{path}: {listed}");
    }
    for path in [format!("/operations?id={others}"), format!("/operations?q={others}")] {
        assert_eq!(get(path.clone()).send().await.json["items"], json!([]), "{path}");
    }
    let totals = get("/operations/totals".to_owned()).send().await.json;
    let counted: u64 = totals["phases"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(counted, 1, "{totals}");
    let named: Vec<Value> = get("/workflows".to_owned()).send().await.json["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["workflow"].clone())
        .collect();
    assert_eq!(named, ["red.database"]);
}

/// A grant to submit shows the plan, and no operation.
#[tokio::test]
async fn each_grant_opens_its_part_and_no_more() {
    let TwoTeams { world, own, .. } = two_teams().await;
    let paths = [
        ("POST", "/operations".to_owned()),
        ("GET", "/workflows/red.database".to_owned()),
        ("GET", format!("/operations/{own}")),
        ("POST", format!("/operations/{own}/signals/go")),
    ];
    for (grant, expected) in [
        ("submit:red.database", [409, 200, 403, 403]),
        ("read:red.*", [403, 200, 200, 403]),
        ("operate:red.*", [403, 200, 403, 202]),
        ("read:*", [403, 200, 200, 403]),
        ("submit:re*", [409, 200, 403, 403]),
        ("submit:red", [403, 404, 403, 403]),
    ] {
        let token = token_with(&world, &format!("t-{}", grant.replace([':', '*'], ".")), &[grant]).await;
        let mut statuses = Vec::new();
        for (method, path) in &paths {
            let body = json!({"workflow": "red.database", "params": {"team": "red"}});
            let mut call = world.call(method, path).token(&token);
            if *method == "POST" {
                call = call.json(&body);
            }
            statuses.push(call.send().await.status);
        }
        assert_eq!(statuses, expected, "{grant}");
    }
}

#[tokio::test]
async fn who_gives_rights_has_them_and_a_wrong_grant_is_refused_with_the_fix() {
    let world = world().await;
    let token = |grants: Value| json!({"name": "t", "role": "limited", "grants": grants});
    for wrong in
        [json!(["fly:acme.*"]), json!(["submit"]), json!(["administer:acme.*"]), json!(["submit:a b"])]
    {
        let refused = world.post("/tokens", token(wrong.clone())).await.is(400, "invalid-body");
        assert!(refused.text.contains("grants: "), "{wrong}: {}", refused.text);
    }
    // Who manages users and one team's workflows, and nothing else.
    let lead = ["administer:*", "submit:red.*", "read:red.*"];
    let call = |method: &str, path: &str, body: Value| world.call(method, path).json(&body).granted(&lead);
    let made = call("POST", "/tokens", token(json!(["submit:red.eu.*"]))).send().await;
    assert_eq!(made.status, 201, "{}", made.text);
    for body in [
        json!({"name": "x", "role": "limited", "grants": ["submit:blue.*"]}),
        json!({"name": "x", "role": "limited", "grants": ["operate:red.*"]}),
        json!({"name": "x", "role": "reader"}),
        json!({"name": "x", "role": "admin"}),
        json!({"name": "x", "role": "launcher"}),
    ] {
        call("POST", "/tokens", body.clone()).send().await.is(403, "forbidden");
        call("POST", "/users", body).send().await.is(403, "forbidden");
    }
    let ann = json!({"name": "ann", "role": "limited", "grants": ["read:red.*"], "password": "correct horse battery"});
    assert_eq!(call("POST", "/users", ann).send().await.status, 201);
    let change = |grants: Value| call("PUT", "/users/ann", json!({"grants": grants}));
    let changed = change(json!(["submit:red.*"])).send().await;
    assert_eq!(
        (changed.status, &changed.json["grants"]),
        (200, &json!(["submit:red.*"])),
        "{}",
        changed.text
    );
    change(json!(["submit:*"])).send().await.is(403, "forbidden");
    assert_eq!(change(json!([])).send().await.status, 200);
    // The password of an admin would open more than they have.
    let boss = json!({"name": "boss", "role": "admin", "password": "correct horse battery"});
    assert_eq!(world.post("/users", boss).await.status, 201);
    call("PUT", "/users/boss", json!({"password": "another horse battery"}))
        .send()
        .await
        .is(403, "forbidden");
    let audit = world.get("/audit").await.text;
    assert!(audit.contains("token.create") && audit.contains("403 forbidden"), "{audit}");
}

/// What is submitted to a workflow goes to the services that its declaration names.
#[tokio::test]
async fn who_manages_one_team_declares_no_workflow_of_another() {
    let world = world().await;
    put_of(&world, "blue.database").await;
    let lead = ["administer:*", "submit:red.*", "read:red.*", "operate:red.*"];
    let call = |method: &str, workflow: &str, grants: &[&str]| {
        let mut body = declaration();
        body["workflow"] = json!(workflow);
        body["base_url"] = json!("http://127.0.0.1:10/");
        world.call(method, &format!("/workflows/{workflow}")).json(&body).granted(grants)
    };
    for method in ["PUT", "DELETE"] {
        call(method, "blue.database", &lead).send().await.is(403, "forbidden");
        call(method, "blue.database", &lead[..1]).send().await.is(403, "forbidden");
        call(method, "red.database", &lead[..3]).send().await.is(403, "forbidden");
    }
    let before = world.get("/workflows/blue.database").await.json;
    assert_eq!(before["version"], 1, "{before}");
    assert_eq!(call("PUT", "red.database", &lead).send().await.status, 200);
    assert_eq!(call("DELETE", "red.database", &lead).send().await.status, 204);
}

//! What the engine whose place this takes answered on a live `OpenNebula`, request by request. Where it was wrong,
//! the row says so and has the better answer.

use serde_json::{Value, json};

use crate::serverless_world::{RUNTIMES, ServerlessFixture, nebula, runtime};

const SPECIFICATION: &str = "Invalid Serverless Runtime specification";
const NOT_FOUND: &str = "Serverless Runtime not found";
const UNREADABLE: &str = "Failed to read Serverless Runtime Document";
const NO_TEMPLATES: &str = "Failed to get list of service templates";
const UNSUPPORTED: &str = "Unsupported authentication scheme";
const REQUIRED: &str = "Authentication required";
const GOOD: &str = r#"{"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "Function"}}}"#;

/// Whose name is on a request.
#[derive(Debug, Clone, Copy)]
enum As {
    Anonymous,
    User(&'static str),
    Header(&'static str),
}

async fn send(world: &ServerlessFixture, who: As, method: &str, path: &str, body: &str) -> (u16, Value) {
    let ask = world.outsider(method, path).body(body.to_owned());
    let ask = match who {
        As::Anonymous => ask,
        As::User(pair) => ask.user(pair),
        As::Header(value) => ask.header("authorization", value),
    };
    let answer = ask.send().await;
    (answer.status, answer.json)
}

const COGNIT: As = As::User("cognit:cognitpass");

#[tokio::test]
async fn a_body_that_is_no_runtime_is_refused_with_the_reason() {
    let world = nebula().await;
    let lacks = |path: &str, name: &str| {
        json!(format!("The property '{path}' did not contain a required property of '{name}'"))
    };
    let is_no = |path: &str, kind: &str, wanted: &str| {
        json!(format!("The property '{path}' of type {kind} did not match the following type: {wanted}"))
    };
    let cpu = "#/SERVERLESS_RUNTIME/FAAS/CPU";
    let of_faas = |members: &str| {
        format!(r#"{{"SERVERLESS_RUNTIME": {{"FAAS": {{"FLAVOUR": "Function", {members}}}}}}}"#)
    };
    let rows: Vec<(String, Value)> = vec![
        (r#"{"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "Function"}, "DAAS": {}, "SCHEDULING": {}, "DEVICE_INFO": {}}}"#.into(),
         lacks("#/SERVERLESS_RUNTIME/DAAS", "FLAVOUR")),
        (r#"{"SERVERLESS_RUNTIME": {"NAME": "x"}}"#.into(), lacks("#/SERVERLESS_RUNTIME", "FAAS")),
        (of_faas(r#""CPU": "two""#), is_no(cpu, "string", "integer")),
        (of_faas(r#""CPU": 0.5"#), is_no(cpu, "number", "integer")),
        // It answered with a page of HTML and 500.
        ("{}".into(), lacks("#/", "SERVERLESS_RUNTIME")),
        ("[]".into(), is_no("#/", "array", "object")),
        ("null".into(), is_no("#/", "null", "object")),
        // It opened the file or the address that the text named.
        (r#""/etc/passwd""#.into(), is_no("#/", "string", "object")),
        ("7".into(), is_no("#/", "integer", "object")),
    ];
    for (body, message) in rows {
        let (status, answer) = send(&world, COGNIT, "POST", RUNTIMES, &body).await;
        assert_eq!((status, answer), (400, json!({"error": SPECIFICATION, "message": message})), "{body}");
    }
    // It took these and waited for machines that never came.
    for members in
        [r#""CPU": 0"#, r#""CPU": -1"#, r#""MEMORY": -5"#, r#""DISK_SIZE": 0"#, r#""CPU": 99999999999"#]
    {
        let (status, answer) = send(&world, COGNIT, "POST", RUNTIMES, &of_faas(members)).await;
        assert_eq!((status, &answer["error"]), (400, &json!(SPECIFICATION)), "{members}");
        assert!(answer["message"].as_str().unwrap().contains("give an integer from 1 to"), "{answer}");
    }
    for body in ["{nope", "", "{\"a\": 1,}", "{} {}", "\u{feff}{}"] {
        let (status, answer) = send(&world, COGNIT, "POST", RUNTIMES, body).await;
        assert_eq!((status, &answer["error"]), (400, &json!("Invalid JSON")), "{body}");
        assert!(answer["message"].as_str().unwrap().contains("line 1 column"), "{answer}");
    }
    assert_eq!((world.rows().await, world.standing().await.len()), ((0, 0), 0));
}

#[tokio::test]
async fn the_one_who_opennebula_does_not_know_is_refused_and_leaves_no_row() {
    let world = nebula().await;
    let id = world.made(&runtime(json!({"NAME": "auth", "FAAS": {"FLAVOUR": "Function"}}))).await;
    let rows = world.rows().await;
    let one = format!("{RUNTIMES}/{id}");
    let denied = json!({"error": UNREADABLE, "message": "[one.document.info] User couldn't be authenticated, aborting call."});
    let required = json!({"error": REQUIRED, "message": ""});
    for who in [As::User("cognit:wrong"), As::User("unknown:cognitpass"), As::User("cognit:cognitpass:more")]
    {
        let (status, answer) = send(&world, who, "POST", RUNTIMES, GOOD).await;
        let expect = json!({"error": NO_TEMPLATES, "message": "Invalid credentials"});
        assert_eq!((status, answer), (401, expect), "{who:?}");
        for method in ["GET", "PUT", "DELETE"] {
            assert_eq!(
                send(&world, who, method, &one, GOOD).await,
                (401, denied.clone()),
                "{method} {who:?}"
            );
        }
        let operation = format!("{RUNTIMES}/operations/{}", uuid::Uuid::nil());
        assert_eq!(send(&world, who, "GET", &operation, "").await.0, 401, "{who:?}");
        assert_eq!(send(&world, who, "GET", RUNTIMES, "").await.0, 401, "{who:?}");
    }
    for (method, path, body) in [
        ("POST", RUNTIMES, GOOD),
        ("POST", RUNTIMES, "{nope"),
        ("GET", RUNTIMES, ""),
        ("GET", one.as_str(), ""),
        ("PUT", one.as_str(), GOOD),
        ("DELETE", one.as_str(), ""),
        ("GET", "/serverless-runtimes/2147483647", ""),
        ("GET", "/serverless-runtimes/operations/x", ""),
    ] {
        assert_eq!(
            send(&world, As::Anonymous, method, path, body).await,
            (401, required.clone()),
            "{method} {path}"
        );
        // It sent the header back, and it took ":" for its own oneadmin.
        for header in [
            "Bearer abc-secret",
            "Basic",
            "Basic ",
            "Basic Og==",
            "Basic Y29nbml0",
            "Basic Y29nbml0Og==",
            "Basic OmNvZ25pdHBhc3M=",
            "Basic %%%%",
            "Digest username=\"abc-secret\"",
        ] {
            let (status, answer) = send(&world, As::Header(header), method, path, body).await;
            assert_eq!((status, &answer["error"]), (401, &json!(UNSUPPORTED)), "{method} {path} {header}");
            let text = answer.to_string();
            assert!(!text.contains("secret") && !text.contains("Og==") && !text.contains("Y29n"), "{text}");
        }
    }
    assert_eq!(world.rows().await, rows);
}

#[tokio::test]
async fn a_runtime_of_someone_else_is_refused_in_the_words_of_opennebula() {
    let world = nebula().await;
    let id = world.made(&runtime(json!({"NAME": "auth", "FAAS": {"FLAVOUR": "Function"}}))).await;
    let rows = world.rows().await;
    let message = format!("[one.document.info] User [3] : Not authorized to perform USE DOCUMENT [{id}].");
    for method in ["GET", "PUT", "DELETE"] {
        let other = As::User("other:otherpass");
        let (status, answer) = send(&world, other, method, &format!("{RUNTIMES}/{id}"), GOOD).await;
        assert_eq!((status, answer), (403, json!({"error": UNREADABLE, "message": message})), "{method}");
    }
    assert_eq!(world.rows().await, rows);
}

#[tokio::test]
async fn what_is_no_runtime_is_not_found() {
    let world = nebula().await;
    let made = world.post(&runtime(json!({"NAME": "doctype", "FAAS": {"FLAVOUR": "Function"}}))).await;
    let service = made.json["SERVERLESS_RUNTIME"]["SERVICE_ID"].to_string();
    let rows = world.rows().await;
    // Of the last ones it took the digits in front, asked for minus one, or broke.
    for id in
        ["2147483647", &service, "abc", "12abc", "-1", "99999999999999999999", "%ff", "0x10", "1e3", "007"]
    {
        for method in ["GET", "PUT", "DELETE"] {
            let answer = send(&world, COGNIT, method, &format!("{RUNTIMES}/{id}"), GOOD).await;
            assert_eq!(answer, (404, json!({"error": NOT_FOUND, "message": ""})), "{method} {id}");
        }
    }
    // The runtime is looked for before the body is judged.
    let answer = send(&world, COGNIT, "PUT", "/serverless-runtimes/2147483647", "{}").await;
    assert_eq!(answer, (404, json!({"error": NOT_FOUND, "message": ""})));
    assert_eq!(world.rows().await, rows);
}

#[tokio::test]
async fn flavours_without_a_service_template_are_refused() {
    let world = nebula().await;
    let none = |tuple: &str| {
        json!(format!("Cannot find a valid service template for the specified flavours: {tuple}"))
    };
    let rows = [
        (
            json!({"NAME": "x", "FAAS": {"FLAVOUR": "NoSuchFlavour"}, "SCHEDULING": {}, "DEVICE_INFO": {}}),
            none("NoSuchFlavour"),
            json!({"FAAS": {"FLAVOUR": "NoSuchFlavour"}}),
        ),
        // It showed the flavour of the function twice.
        (
            json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Nope"}}),
            none("Function-Nope"),
            json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Nope"}}),
        ),
        (json!({"FAAS": {"FLAVOUR": ""}}), none(""), json!({"FAAS": {"FLAVOUR": ""}})),
    ];
    for (members, error, message) in rows {
        let answer = world.post(&runtime(members)).await;
        assert_eq!((answer.status, answer.json), (422, json!({"error": error, "message": message})));
    }
    // It made two machines and forgot them.
    let answer = world.post(&runtime(json!({"FAAS": {"FLAVOUR": "Function-Data"}}))).await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    let answer = send(&world, As::User("empty:emptypass"), "POST", RUNTIMES, GOOD).await;
    let error = "User requesting Serverless Runtime creation has no flow templates available for use";
    assert_eq!(answer, (403, json!({"error": error, "message": ""})));
    let denied = world.post(&runtime(json!({"FAAS": {"FLAVOUR": "DenyVMTemplate"}}))).await;
    denied.is(403, "Failed to read VM Template for Function FAAS");
    assert!(
        denied.json["message"].as_str().unwrap().contains("Not authorized to perform USE TEMPLATE"),
        "{}",
        denied.text
    );
    assert_eq!((world.rows().await, world.standing().await.len()), ((0, 0), 0));
}

#[tokio::test]
async fn a_service_that_fails_is_told_with_its_log_and_leaves_nothing() {
    let world = nebula().await;
    let answer = world.post(&runtime(json!({"FAAS": {"FLAVOUR": "FAILED_DEPLOY"}}))).await;
    assert_eq!(answer.status, 500, "{}", answer.text);
    let error = answer.json["error"].as_str().unwrap();
    assert!(
        error.starts_with("Serverless Runtime Service ")
            && error.ends_with(" entered FAILED state after creation"),
        "{error}"
    );
    let log = answer.json["message"].as_array().unwrap();
    assert!(log.iter().any(|line| line["severity"] == "E"), "{log:?}");
    world.is_empty_soon().await;
}

#[tokio::test]
async fn flavours_are_those_of_the_templates_that_the_caller_may_use() {
    let world = nebula().await;
    let found = world.ask("GET", "/serverless-runtimes/flavours").send().await;
    assert_eq!(found.status, 200, "{}", found.text);
    let has = |role: &str, flavour: &str| found.json[role].as_array().unwrap().contains(&json!(flavour));
    assert!(has("FAAS", "Function") && has("DAAS", "Data"), "{}", found.text);
    for flavour in found.json["FAAS"].as_array().unwrap() {
        assert!(!flavour.as_str().unwrap().is_empty());
    }
    world.outsider("GET", "/serverless-runtimes/flavours").send().await.is(401, "Authentication required");
    let wrong = world.outsider("GET", "/serverless-runtimes/flavours").user("oneadmin:wrong").send().await;
    assert_eq!(wrong.status, 401, "{}", wrong.text);
}

#[tokio::test]
async fn info_is_for_everyone() {
    let world = nebula().await;
    let version = world.outsider("GET", "/server/version").send().await;
    assert_eq!((version.status, version.text.as_str()), (200, "\"1.3.3\""));
    assert_eq!(world.outsider("GET", "/engine/version").send().await.text, version.text);
    let config = world.outsider("GET", "/server/config").send().await;
    assert_eq!((config.status, &config.json["port"]), (200, &json!(1337)));
    let schema = world.outsider("GET", "/serverless-runtimes/schema").send().await;
    assert_eq!(schema.json["required"], json!(["SERVERLESS_RUNTIME"]));
    for path in ["/server/version", "/engine/version", "/server/config", "/serverless-runtimes/schema"] {
        assert_eq!(world.outsider("HEAD", path).send().await.status, 200);
    }
}

#[tokio::test]
async fn what_does_not_exist_is_refused_in_json_and_the_rest_of_the_site_is_as_it_was() {
    let world = nebula().await;
    for path in [
        "/serverless-runtimes/",
        "/serverless-runtimes/1/2",
        "/serverless-runtimes/1/",
        "/serverless-runtimes/operations/1/2",
        "/serverless-runtimes/operations/",
        "/server",
        "/server/",
        "/server/nope",
        "/engine",
        "/engine/config",
        "/engine/version/x",
    ] {
        for method in ["GET", "POST", "DELETE", "BREW"] {
            let answer = world.outsider(method, path).send().await;
            assert_eq!(answer.status, 404, "{method} {path}");
        }
    }
    for (method, path, allow) in [
        ("PATCH", "/serverless-runtimes/1", "GET,HEAD,PUT,DELETE"),
        ("POST", "/serverless-runtimes/1", "GET,HEAD,PUT,DELETE"),
        ("DELETE", RUNTIMES, "POST,GET,HEAD"),
        ("POST", "/server/version", "GET,HEAD"),
        ("PUT", "/serverless-runtimes/schema", "GET,HEAD"),
        ("DELETE", "/serverless-runtimes/operations/x", "GET,HEAD"),
    ] {
        let answer = world.ask(method, path).send().await;
        answer.is(405, "Method not allowed");
        let mut allowed: Vec<&str> = answer.header("allow").split(',').collect();
        let mut expected: Vec<&str> = allow.split(',').collect();
        allowed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(allowed, expected, "{method} {path}");
    }
    let request = axum::http::Request::get("/nope").body(axum::body::Body::empty()).unwrap();
    let other = tower::ServiceExt::oneshot(world.router.clone(), request).await.unwrap();
    assert_eq!(other.headers()["content-type"], "application/problem+json");
}

//! Workflows that were declared: compared, started from the form that their schema makes, and told a signal.

use std::net::SocketAddr;
use std::sync::mpsc;

use axum::http::Uri;
use axum::{Json, Router};
use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::{DataDirectory, until};

/// A service whose step `approve` waits for a signal.
fn serve() -> SocketAddr {
    async fn answer(uri: Uri, Json(call): Json<Value>) -> Json<Value> {
        let is_told = call["signal"].is_object();
        Json(match uri.path() {
            "/approve" if !is_told => json!({ "outcome": "wait", "signal": "approved", "within": "1h" }),
            "/approve" => json!({ "outcome": "done", "facts": { "by": call["signal"]["payload"]["by"] } }),
            _ => json!({ "outcome": "done" }),
        })
    }
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            send.send(listener.local_addr().unwrap()).unwrap();
            axum::serve(listener, Router::new().fallback(answer)).await.unwrap();
        });
    });
    receive.recv().unwrap()
}

fn declaration(service: SocketAddr) -> Value {
    json!({
        "workflow": "acme.database",
        "title": "Database for a team",
        "params": {
            "type": "object", "required": ["team"], "additionalProperties": false,
            "properties": {
                "team": { "type": "string", "title": "Team", "description": "Who gets it." },
                "size": { "enum": ["small", "large"], "default": "small" },
                "copies": { "type": "integer", "maximum": 5, "description": "How many there are." },
                "labels": { "type": "array", "items": { "type": "object" } },
                "password": { "type": "string", "writeOnly": true },
            },
        },
        "resource": "database:{team}",
        "base_url": format!("http://{service}/"),
        "secret": "0123456789abcdef0123456789abcdef",
        "steps": [
            { "name": "reserve", "weight": 10, "title": "Reserving the name", "url": "reserve" },
            { "name": "approve", "weight": 20, "title": "Waiting for approval", "url": "approve", "effect": "none" },
        ],
    })
}

#[test]
fn a_declared_workflow_is_compared_started_from_its_form_and_told_a_signal() {
    let fixture = BrowserFixture::open();
    let mut body = declaration(serve());
    fixture.api(Method::PUT, "/workflows/acme.database", Some(&body));
    body["steps"][1]["title"] = json!("Waiting until it is approved");
    fixture.api(Method::PUT, "/workflows/acme.database", Some(&body));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);

    page_driver.go("/console/workflows");
    page_driver.until_text("main", "version 2");
    assert!(page_driver.text("main").contains("built in"));
    look(&page_driver, "workflows-declared");
    page_driver.click_on("td a", "acme.database");
    page_driver.until_text("#changes", "Changes from version 1 to 2");
    assert!(page_driver.text(".diff del").contains("Waiting for approval"));
    assert!(page_driver.text(".diff ins").contains("Waiting until it is approved"));
    look(&page_driver, "workflow-declared");

    // What the page itself can tell, and what the API refuses, stand at their fields.
    page_driver.click("details.more summary");
    page_driver.fill("[name='p.team']", "red");
    page_driver.fill("[name='p.copies']", "many");
    page_driver.fill("[name='p.password']", "correct horse");
    page_driver.click_on("main form button", "Start");
    page_driver.until_text("main", "It must be a whole number.");
    assert_eq!(page_driver.value("[name='p.team']"), "red");
    assert_eq!(page_driver.value("[name='p.password']"), "", "a secret is not shown again");
    page_driver.fill("[name='p.copies']", "9");
    page_driver.fill("[name='p.password']", "correct horse");
    page_driver.click_on("main form button", "Start");
    page_driver.until_text(".field-error", "maximum of 5");
    page_driver.until_error("422");
    assert!(page_driver.has("[name='p.copies'][aria-invalid=true]"));
    look(&page_driver, "workflow-field-errors");

    page_driver.fill("[name='p.copies']", "2");
    page_driver.select("[name='p.size']", "large");
    page_driver.fill("[name='p.labels']", r#"[{"key": "a"}]"#);
    page_driver.fill("[name='p.password']", "correct horse");
    page_driver.click_on("main form button", "Start");
    page_driver.until_text("section.why", "the signal approved");
    let id = page_driver.path().trim_start_matches("/console/operations/").to_owned();
    fixture.until_phase(&id, "waiting");
    let found = fixture.api(Method::GET, &format!("/operations/{id}"), None);
    let params = &found["params"];
    assert_eq!(
        (&params["team"], &params["size"], &params["copies"]),
        (&json!("red"), &json!("large"), &json!(2))
    );
    assert_eq!(params["labels"], json!([{ "key": "a" }]));
    assert!(!found.to_string().contains("correct horse"), "{found}");
    assert_eq!(found["resource"], "database:red");
    look(&page_driver, "operation-waits-for-signal");

    page_driver.click("details.signal summary");
    page_driver.fill("#payload", r#"{"by": "ann"}"#);
    page_driver.click_on("details.signal button", "Send the signal");
    fixture.until_phase(&id, "succeeded");
    let found = fixture.api(Method::GET, &format!("/operations/{id}"), None);
    assert!(found.to_string().contains(r#""by":"ann""#), "{found}");
    page_driver.go("/console/workflows/acme.database");
    page_driver.until_text("#step-reserve", "p99");
    page_driver.expect_no_error();
}

#[test]
fn a_file_with_an_error_says_so_where_its_workflow_is_shown() {
    let fixture = BrowserFixture::open_in(DataDirectory::new());
    let service = serve();
    let folder = fixture.place.data("workflows.d");
    std::fs::create_dir_all(&folder).unwrap();
    let mut body = declaration(service);
    body.as_object_mut().unwrap().remove("secret");
    body["secret_file"] = json!("acme.secret");
    std::fs::write(folder.join("acme.secret"), "0123456789abcdef0123456789abcdef").unwrap();
    std::fs::write(folder.join("acme.yaml"), body.to_string()).unwrap();
    until("the file is read", || {
        let all = fixture.api(Method::GET, "/workflows", None);
        all.to_string().contains("acme.database").then_some(())
    });
    body["steps"][0]["weight"] = json!(0);
    std::fs::write(folder.join("acme.yaml"), body.to_string()).unwrap();
    until("the error is known", || {
        let all = fixture.api(Method::GET, "/workflows", None);
        all.get("file_errors").map(drop)
    });
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    for path in ["/console/workflows", "/console/workflows/acme.database"] {
        page_driver.go(path);
        page_driver.until_text(".flash.bad", "acme.yaml, line 1");
        assert!(page_driver.text(".flash.bad").contains("weight must be a whole number from 1"));
        assert!(page_driver.text("main").contains("file acme.yaml"));
    }
    look(&page_driver, "workflow-file-error");
}

#[test]
fn a_workflow_of_the_program_has_a_form_too() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/workflows/launch");
    look(&page_driver, "workflow-launch");
    assert!(page_driver.has("[name='p.identity'][type=password]"));
    assert!(page_driver.has("select[name='p.provider']"));
    page_driver.go("/console/workflows/demo.hello");
    page_driver.fill("[name='p.name']", "Ada");
    page_driver.click_on("main form button", "Start");
    page_driver.until_text("section.why", "succeeded");
    page_driver.expect_no_error();
}

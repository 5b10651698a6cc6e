//! OneFlow 7.4: what it does with what the caller sends, and how it answers.

use reqwest::Method;
use serde_json::{Value, json};

use super::caller::{OneFlowClient, OnedMachine, nodes};

const FUNCTION_SCRIPT: i32 = 11;

async fn seven() -> OneFlowClient {
    let caller = OneFlowClient::new().await;
    caller.release("7.4").await;
    caller
}

impl OneFlowClient {
    /// The machine of the first role of a service that runs.
    async fn first_machine(&self, template: &str, merge: Value) -> OnedMachine {
        let id = self.start(template, merge).await;
        let body = self.until(id, 2).await;
        self.machine(nodes(&body, 0)[0]).await
    }

    async fn with_contents(&self, contents: Value) -> OnedMachine {
        let merge = json!({"roles": [{"name": "FAAS", "template_contents": contents}]});
        self.first_machine("Seven", merge).await
    }

    async fn add_template(&self, template: Value) -> Value {
        let made = self.flow(Method::POST, "/service_template", Some(&template)).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()["DOCUMENT"]["TEMPLATE"]["BODY"].clone()
    }
}

#[tokio::test]
async fn the_release_can_be_seen() {
    let caller = seven().await;
    assert!(caller.oned("one.system.version", &[]).await.contains("7.4.0"));
    let answer = caller.get("/service_template").await;
    assert_eq!(answer.headers.get("server"), None);
    assert_eq!(answer.headers["content-type"], "text/html;charset=utf-8");
    caller.release("6.8").await;
    assert!(caller.oned("one.system.version", &[]).await.contains("6.8.3"));
}

#[tokio::test]
async fn roles_are_found_by_name_and_take_json() {
    let caller = seven().await;
    let contents = |launch_tag: &str| {
        json!({"CPU": "2", "VCPU": 2, "MEMORY": "256", "MARK": launch_tag,
            "CONTEXT": {"SR_AUTH": "a\"b"}, "DISK": [{"IMAGE": "function-image", "IMAGE_UNAME": "oneadmin", "SIZE": "4096"}]})
    };
    let merge = json!({"name": "seven", "roles": [
        {"name": "FAAS", "template_contents": contents("f")},
        {"name": "ELSE", "template_contents": contents("e")},
        {"name": "DAAS", "template_contents": contents("d")}]});
    let id = caller.start("Seven-Data", merge).await;
    let body = caller.until(id, 2).await;
    assert_eq!(body["roles"].as_array().unwrap().len(), 2);
    assert_eq!((&body["roles"][0]["name"], &body["roles"][0]["template_id"]), (&json!("DAAS"), &json!(1)));
    assert_eq!(body["roles"][1]["type"], "vm");
    let machine = caller.machine(nodes(&body, 1)[0]).await;
    let words = ["TEMPLATE_ID", "MARK", "VCPU", "MEMORY", "SIZE", "SR_AUTH", "NETWORK", "ROLE_NAME"];
    let seen = words.map(|name| machine.get(name).unwrap_or("nothing").to_owned());
    assert_eq!(seen, ["0", "f", "2", "256", "4096", "a\"b", "YES", "FAAS"]);
}

#[tokio::test]
async fn one_of_two_roles_is_enough() {
    let caller = seven().await;
    let merge = json!({"roles": [{"name": "FAAS", "template_contents": {"MARK": "f"}}]});
    let id = caller.start("Seven-Data", merge).await;
    let body = caller.until(id, 2).await;
    let (daas, faas) = (caller.machine(nodes(&body, 0)[0]).await, caller.machine(nodes(&body, 1)[0]).await);
    assert_eq!((daas.get("MARK"), faas.get("MARK")), (None, Some("f")));
}

#[tokio::test]
async fn a_line_break_inside_a_vector_becomes_a_comma_and_a_line_break() {
    let caller = seven().await;
    let machine =
        caller.with_contents(json!({"CONTEXT": {"A": "l1\nl2", "SR_AUTH": "YTpi\n"}, "NOTE": "a\nb"})).await;
    assert_eq!((machine.get("A"), machine.get("SR_AUTH")), (Some("l1,\nl2"), Some("YTpi,")));
    assert_eq!(machine.get("NOTE"), Some("a\nb"));
}

#[tokio::test]
async fn a_script_of_the_vm_template_gets_commas_as_soon_as_any_contents_are_sent() {
    let caller = seven().await;
    let role = json!({"name": "FAAS", "cardinality": 1, "vm_template": FUNCTION_SCRIPT});
    caller.add_template(json!({"name": "Script", "roles": [role]})).await;
    let whole = caller.first_machine("Script", json!({})).await;
    assert_eq!(whole.get("START_SCRIPT"), Some("#!/bin/sh\necho one\necho two"));
    let merge = json!({"roles": [{"name": "FAAS", "template_contents": {"CPU": "2"}}]});
    let broken = caller.first_machine("Script", merge).await;
    assert_eq!(broken.get("START_SCRIPT"), Some("#!/bin/sh,\necho one,\necho two"));
}

#[tokio::test]
async fn a_quotation_mark_is_kept() {
    let caller = seven().await;
    let contents = json!({"FOO": "a\"b", "SCHED_REQUIREMENTS": "NAME=\"dummy1\"", "CONTEXT": {"Q": "c\"d"}});
    let machine = caller.with_contents(contents).await;
    assert_eq!((machine.get("FOO"), machine.get("Q")), (Some("a\"b"), Some("c\"d")));
    assert_eq!(machine.get("SCHED_REQUIREMENTS"), Some("NAME=\"dummy1\""));
}

#[tokio::test]
async fn a_context_as_a_list_replaces_that_of_the_vm_template() {
    let caller = seven().await;
    let machine = caller.with_contents(json!({"CONTEXT": [{"A": "1"}]})).await;
    assert_eq!((machine.get("A"), machine.get("ETH0_IP")), (Some("1"), None));
    let machine = caller.with_contents(json!({"CONTEXT": {"A": "1"}})).await;
    assert!(machine.get("ETH0_IP").is_some());
}

#[tokio::test]
async fn contents_in_the_older_form_count_only_if_all_roles_have_them() {
    let caller = seven().await;
    let old = |name: &str| json!({"name": name, "vm_template_contents": "MARK=\"old\"\nMEMORY=512"});
    let machine = caller.first_machine("Seven", json!({"roles": [old("FAAS")]})).await;
    assert_eq!((machine.get("MARK"), machine.get("MEMORY")), (Some("old"), Some("512")));
    let machine = caller.first_machine("Seven-Data", json!({"roles": [old("DAAS")]})).await;
    assert_eq!((machine.get("MARK"), machine.get("MEMORY")), (None, Some("128")));
}

#[tokio::test]
async fn templates_in_the_older_form_can_be_used_and_new_ones_are_stored_in_the_newer_form() {
    let caller = seven().await;
    let merge = json!({"roles": [{"name": "FAAS", "vm_template_contents": "MARK=\"x\"\nCONTEXT=[A=\"1\"]"}]});
    let id = caller.start("Function", merge).await;
    let body = caller.until(id, 2).await;
    let role = &body["roles"][0];
    assert_eq!(
        (&role["template_id"], &role["type"], role.get("vm_template")),
        (&json!(0), &json!("vm"), None)
    );
    let machine = caller.machine(nodes(&body, 0)[0]).await;
    assert_eq!((machine.get("MARK"), machine.get("A"), machine.get("ETH0_IP")), (Some("x"), Some("1"), None));
    let role = json!({"name": "FAAS", "cardinality": 1, "vm_template": 2});
    let stored = caller.add_template(json!({"name": "New", "roles": [role]})).await;
    let role = json!({"name": "FAAS", "cardinality": 1, "template_id": 2, "type": "vm"});
    assert_eq!((&stored["roles"][0], &stored["deployment"]), (&role, &json!("none")));
}

#[tokio::test]
async fn an_unexpected_error_is_json() {
    let caller = seven().await;
    for body in [json!({}), json!(null)] {
        let answer = caller.flow(Method::POST, "/service_template/0/action", Some(&body)).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["message"]),
            (500, &json!("Internal server error"))
        );
        assert!(answer.json()["reason"].is_string());
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    }
    let missing = caller.flow(Method::POST, "/service_template", Some(&json!({"roles": []}))).await;
    assert!(
        missing.text.starts_with("Mandatory document key 'name (string)' is missing from "),
        "{}",
        missing.text
    );
}

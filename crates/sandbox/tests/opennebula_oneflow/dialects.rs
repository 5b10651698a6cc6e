//! Two dialects of service templates, and what each does with what the caller sends.

use serde_json::json;

use crate::caller::{Caller, log, nodes};

#[tokio::test]
async fn roles_in_another_order_swap_their_vm_templates_in_the_older_dialect() {
    let caller = Caller::new().await;
    let merge = json!({"roles": [
        {"name": "FAAS", "vm_template_contents": "CPU=1\nVCPU=1\nMEMORY=128\nMARK=\"f\""},
        {"name": "DAAS", "vm_template_contents": "CPU=1\nVCPU=1\nMEMORY=128\nMARK=\"d\""}]});
    let id = caller.start("Swapped-Data", merge).await;
    let body = caller.until(id, 2).await;
    let roles = [&body["roles"][0], &body["roles"][1]]
        .map(|role| (role["name"].clone(), role["vm_template"].clone()));
    assert_eq!(roles, [(json!("FAAS"), json!(1)), (json!("DAAS"), json!(0))]);
    let machine = caller.machine(nodes(&body, 0)[0]).await;
    assert_eq!((machine.get("TEMPLATE_ID"), machine.get("MARK")), (Some("1"), Some("f")));
}

#[tokio::test]
async fn a_leading_role_gets_the_name_of_the_first_one_that_was_sent() {
    let caller = Caller::new().await;
    let id = caller.start("Extra", json!({"roles": [{"name": "FAAS", "vm_template_contents": "X=1"}]})).await;
    let body = caller.until(id, 2).await;
    assert_eq!((&body["roles"][0]["name"], &body["roles"][0]["vm_template"]), (&json!("FAAS"), &json!(2)));
    assert_eq!((&body["roles"][1]["name"], &body["roles"][1]["vm_template"]), (&json!("FAAS"), &json!(0)));
}

#[tokio::test]
async fn more_roles_than_the_template_has_are_refused_for_want_of_a_vm_template() {
    let caller = Caller::new().await;
    let answer = caller.instantiate("Function", json!({"roles": [{}, {"name": "DAAS"}]})).await;
    assert!(answer.is(500, "KEY: 'vm_template' is required;"), "{}", answer.text);
    assert_eq!(caller.standing().await, [""; 0]);
}

#[tokio::test]
async fn the_newer_dialect_finds_roles_by_name_and_takes_json() {
    let caller = Caller::new().await;
    let contents = |mark: &str| {
        json!({"CPU": "2", "VCPU": 2, "MEMORY": "256", "MARK": mark,
            "CONTEXT": {"SR_AUTH": "a\"b"}, "DISK": [{"IMAGE": "function-image", "SIZE": "4096"}]})
    };
    let merge = json!({"name": "seven", "roles": [
        {"name": "FAAS", "template_contents": contents("f")},
        {"name": "DAAS", "template_contents": contents("d")}]});
    let id = caller.start("Seven-Data", merge).await;
    let body = caller.until(id, 2).await;
    assert_eq!((&body["roles"][0]["name"], &body["roles"][0]["template_id"]), (&json!("DAAS"), &json!(1)));
    assert_eq!(body["roles"][1]["type"], "vm");
    let machine = caller.machine(nodes(&body, 1)[0]).await;
    let words = ["TEMPLATE_ID", "MARK", "VCPU", "MEMORY", "SIZE", "SR_AUTH", "NETWORK", "ROLE_NAME"];
    let seen = words.map(|name| machine.get(name).unwrap_or("nothing").to_owned());
    assert_eq!(seen, ["0", "f", "2", "256", "4096", "a\"b", "YES", "FAAS"]);
}

#[tokio::test]
async fn the_newer_dialect_does_not_see_text_in_the_older_one() {
    let caller = Caller::new().await;
    let merge = json!({"roles": [{"name": "FAAS", "vm_template_contents": "MARK=\"f\"\nMEMORY=512"}]});
    let id = caller.start("Seven", merge).await;
    let body = caller.until(id, 2).await;
    assert_eq!(body["roles"][0].get("vm_template_contents"), None);
    let machine = caller.machine(nodes(&body, 0)[0]).await;
    assert_eq!((machine.get("MARK"), machine.get("MEMORY")), (None, Some("128")));
}

#[tokio::test]
async fn text_that_is_not_escaped_adds_attributes() {
    let caller = Caller::new().await;
    let location = "x\"]\nINJECTED=[A=\"bar";
    let contents = format!("DEVICE_INFO=[GEOGRAPHIC_LOCATION=\"{location}\"]\nFLAVOURS=\"0\"");
    let merge = json!({"roles": [{"name": "FAAS", "vm_template_contents": contents}]});
    let id = caller.start("Function", merge).await;
    let body = caller.until(id, 2).await;
    let machine = caller.machine(nodes(&body, 0)[0]).await;
    assert!(machine.get("INJECTED").is_some_and(|vector| vector.contains("bar")));
}

#[tokio::test]
async fn names_in_a_text_are_expanded_and_an_append_line_keeps_what_the_template_has() {
    let caller = Caller::new().await;
    let contents = "APPEND=\"DISK\"\nDISK=[IMAGE=\"function-image\",SIZE=\"9000\"]\nGREETING=\"$WHO $UNKNOWN\"\n\
                    PARENT=\"${FAAS.TEMPLATE.NIC.IP}|${FAAS.NAME}|${NOBODY.NAME}\"";
    let merge = json!({"custom_attrs_values": {"WHO": "world"}, "roles": [
        {"name": "FAAS"}, {"name": "DAAS", "vm_template_contents": contents}]});
    let id = caller.start("Straight-Data", merge).await;
    let body = caller.until(id, 2).await;
    assert_eq!(log(&body).len(), 3);
    let (parent, child) =
        (caller.machine(nodes(&body, 0)[0]).await, caller.machine(nodes(&body, 1)[0]).await);
    assert_eq!(child.get("GREETING"), Some("world $UNKNOWN"));
    let expected = format!("{}|FAAS_0_(service_{id})|", parent.get("IP").unwrap());
    assert_eq!(child.get("PARENT"), Some(&*expected));
    // The disk of the template came first, and the one of the text was kept beside it.
    assert_eq!(child.get("SIZE"), Some("1024"));
    assert_eq!(child.get("DISK_ID"), Some("2"));
}

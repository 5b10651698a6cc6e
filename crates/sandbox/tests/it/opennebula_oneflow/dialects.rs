//! What OneFlow 6.8 does with what the caller sends for a service template.

use serde_json::json;

use super::caller::{OneFlowClient, log, nodes};

#[tokio::test]
async fn roles_in_another_order_swap_their_vm_templates() {
    let caller = OneFlowClient::new().await;
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
async fn a_role_that_gets_the_name_of_another_one_is_refused() {
    let caller = OneFlowClient::new().await;
    // The roles of the template are FAAS and DAAS, GATEWAY and FAAS; the first place gets the name that was sent.
    for (template, name) in [("Function-Data", "DAAS"), ("Extra", "FAAS")] {
        let answer = caller.instantiate(template, json!({"roles": [{"name": name}]})).await;
        assert!(answer.is(500, &format!("Role name '{name}' is repeated")), "{}", answer.text);
    }
    assert_eq!(caller.standing().await, [""; 0]);
}

#[tokio::test]
async fn what_is_not_as_the_schema_says_is_refused_by_its_key() {
    let caller = OneFlowClient::new().await;
    for (sent, why) in [
        (json!({"roles": [{}, {"name": "DAAS"}]}), "KEY: 'name' is required;"),
        (json!({"roles": [{"name": "FAAS"}, {"name": "DAAS"}]}), "KEY: 'vm_template' is required;"),
        (json!({"name": 5}), "KEY: 'name' must be a String;"),
        (json!({"roles": [{"vm_template_contents": 5}]}), "KEY: 'vm_template_contents' must be a String;"),
        (json!({"roles": [{"name": "a b"}]}), "KEY: 'name' must match regexp /^\\w+$/;"),
        (json!({"roles": [{"cardinality": "x"}]}), "KEY: 'cardinality' must be an Integer;"),
        (json!({"roles": 5}), "KEY: 'roles' must be an Array;"),
        (json!({"deployment": "no"}), "KEY: 'deployment' must be one of none, straight;"),
        (
            json!({"name": "n".repeat(129)}),
            "[one.document.allocate] NAME is too long; max length is 128 chars.",
        ),
        (json!({"name": "a/b \"c\" <d> &"}), "[one.document.allocate] Parse error: XML Template malformed."),
    ] {
        let answer = caller.instantiate("Function", sent.clone()).await;
        assert!(answer.is(500, why), "{sent}: {}", answer.text);
    }
    let list = caller.instantiate("Function", json!([])).await;
    assert!(list.is(400, "no implicit conversion of String into Integer"), "{}", list.text);
    let text = caller.instantiate("Function", json!("x")).await;
    assert_eq!((text.status.as_u16(), &text.headers["content-type"]), (500, &"text/html".parse().unwrap()));
    assert_eq!(caller.standing().await, [""; 0]);
}

/// Its form is that of 7.4.
#[tokio::test]
async fn a_template_of_the_newer_release_cannot_be_used() {
    let caller = OneFlowClient::new().await;
    let answer = caller.instantiate("Seven", json!({})).await;
    assert!(answer.is(500, "KEY: 'vm_template' is required;"), "{}", answer.text);
}

#[tokio::test]
async fn text_that_is_not_escaped_adds_attributes() {
    let caller = OneFlowClient::new().await;
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
    let caller = OneFlowClient::new().await;
    let contents = "APPEND=\"DISK\"\nDISK=[IMAGE=\"function-image\",IMAGE_UNAME=oneadmin,SIZE=\"9000\"]\nGREETING=\"$WHO $UNKNOWN\"\n\
                    PARENT=\"${FAAS.TEMPLATE.NIC.IP}|${FAAS.NAME}|${UNKNOWN.NAME}\"";
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

//! Services on their way, and what they make of their machines.

use reqwest::Method;
use serde_json::{Value, json};

use super::caller::{OneFlowClient, log, nodes};

#[tokio::test]
async fn a_service_has_no_nodes_then_booting_ones_and_then_runs() {
    let caller = OneFlowClient::new().await;
    caller
        .delay_times(json!({"nets_ms": 10_000, "pending_ms": 10_000, "prolog_ms": 10_000, "boot_ms": 10_000}))
        .await;
    let contents = "CPU=2\nVCPU=2\nFLAVOURS=\"7\"";
    let merge = json!({"name": "sr-1-abc", "roles": [{"name": "FAAS", "vm_template_contents": contents}]});
    let id = caller.start("Function", merge).await;
    let body = caller.service(id).await;
    assert_eq!((&body["state"], &body["roles"][0]["nodes"]), (&json!(11), &json!([])));
    assert_eq!(body["name"], "sr-1-abc");

    caller.advance(11_000).await;
    let body = caller.service(id).await;
    assert_eq!((&body["state"], &body["roles"][0]["state"]), (&json!(1), &json!(1)));
    let vm = nodes(&body, 0)[0];
    let info = &body["roles"][0]["nodes"][0]["vm_info"]["VM"];
    assert_eq!((&info["ID"], &info["UNAME"]), (&json!(vm.to_string()), &json!("cognit")));
    assert_eq!(info["NAME"], format!("FAAS_0_(service_{id})"));
    let machine = caller.machine(vm).await;
    assert_eq!(machine.codes(), ("1", "0"));
    let marks =
        ["SERVICE_ID", "ROLE_NAME", "FLAVOURS", "VCPU"].map(|name| machine.get(name).unwrap().to_owned());
    assert_eq!(marks, [id.to_string(), "FAAS".into(), "7".into(), "2".into()]);

    caller.advance(31_000).await;
    let body = caller.service(id).await;
    assert_eq!((&body["state"], &body["roles"][0]["state"]), (&json!(2), &json!(2)));
    assert!(caller.machine(vm).await.is_running());
    let standing = [format!("oned/vm {vm}"), format!("oneflow/service {id}")];
    assert_eq!(caller.standing().await, standing);
}

#[tokio::test]
async fn time_passes_for_a_service_that_no_one_looks_at() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Straight-Data", json!({})).await;
    caller.advance(60_000).await;
    assert_eq!(caller.standing().await, ["oned/vm 0", "oned/vm 1", &format!("oneflow/service {id}")]);
    assert!(caller.delete(id).await.is(204, ""));
    caller.advance(60_000).await;
    assert_eq!(caller.standing().await, [""; 0]);
}

#[tokio::test]
async fn in_a_straight_deployment_a_child_waits_until_its_parent_runs() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"boot_ms": 60_000})).await;
    let id = caller.start("Straight-Data", json!({})).await;
    let body = caller.until(id, 1).await;
    assert_eq!((nodes(&body, 0).len(), nodes(&body, 1).len()), (1, 0));
    assert_eq!(body["roles"][1]["state"], 0);
    caller.advance(61_000).await;
    let body = caller.service(id).await;
    assert_eq!(
        (&body["state"], &body["roles"][0]["state"], nodes(&body, 1).len()),
        (&json!(1), &json!(2), 1)
    );
    caller.advance(61_000).await;
    assert_eq!(caller.service(id).await["state"], 2);
}

#[tokio::test]
async fn a_gated_service_runs_when_its_guests_say_that_they_are_ready() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"ready_ms": 60_000})).await;
    let gated = caller.start("Gated", json!({})).await;
    let plain = caller.start("NotReady", json!({})).await;
    caller.until(plain, 2).await;
    let body = caller.service(gated).await;
    assert_eq!(body["state"], 1);
    assert!(caller.machine(nodes(&body, 0)[0]).await.is_running());
    caller.advance(60_000).await;
    assert_eq!(caller.service(gated).await["state"], 2);
}

#[tokio::test]
async fn a_machine_that_fails_to_boot_leaves_the_service_deploying() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("BootFails", json!({})).await;
    let body = caller.until(id, 1).await;
    caller.advance(60_000).await;
    assert_eq!(caller.service(id).await["state"], 1);
    assert_eq!(caller.machine(nodes(&body, 0)[0]).await.codes(), ("3", "36"));
}

#[tokio::test]
async fn a_machine_that_is_switched_off_worries_its_service() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function", json!({})).await;
    let vm = nodes(&caller.until(id, 2).await, 0)[0];
    caller.vm_action("poweroff", vm).await;
    let body = caller.until(id, 4).await;
    assert_eq!((&body["roles"][0]["state"], nodes(&body, 0)), (&json!(4), vec![vm]));
    caller.vm_action("resume", vm).await;
    let body = caller.until(id, 2).await;
    assert_eq!(log(&body).last().unwrap(), "I New state: RUNNING");
}

#[tokio::test]
async fn a_machine_that_ends_behind_its_back_leaves_a_running_service_without_nodes() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function-Data", json!({})).await;
    let body = caller.until(id, 2).await;
    caller.vm_action("terminate", nodes(&body, 0)[0]).await;
    caller.advance(60_000).await;
    let body = caller.service(id).await;
    let role = &body["roles"][0];
    assert_eq!((&body["state"], &role["cardinality"], &role["nodes"]), (&json!(2), &json!(0), &json!([])));
    assert_eq!(nodes(&body, 1).len(), 1);
}

#[tokio::test]
async fn templates_that_oned_refuses_fail_with_its_words() {
    let caller = OneFlowClient::new().await;
    let valid = json!({"roles": [{"vm_template_contents": "CPU=1\nVCPU=1\nMEMORY=128"}]});
    let cases = [
        ("MissingVMT", "999999; [one.template.instantiate] Error getting virtual machine template [999999]."),
        (
            "DenyVMTemplate",
            "9; [one.template.instantiate] User [2] : Not authorized to perform USE TEMPLATE [9].",
        ),
        ("FAILED_DEPLOY", "10; [one.template.instantiate] "),
    ];
    for (template, why) in cases {
        let id = caller.start(template, valid.clone()).await;
        let body = caller.until(id, 7).await;
        let line = &log(&body)[1];
        let expected = format!("E Role FAAS : Instantiate failed for template {why}");
        assert!(line.starts_with(&expected), "{line}");
        assert_eq!((&body["roles"][0]["state"], &body["roles"][0]["nodes"]), (&json!(7), &json!([])));
    }
}

#[tokio::test]
async fn services_and_templates_are_documents_that_oned_knows_too() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function", json!({"name": "mine"})).await;
    caller.until(id, 2).await;
    let xml = caller.oned("one.document.info", &[json!(id), json!(false)]).await;
    for part in ["<NAME>mine</NAME>", "<TYPE>100</TYPE>", "\"state\":2"] {
        assert!(xml.contains(part), "{part} is not in {xml}");
    }
    let deleted = caller.oned("one.document.delete", &[json!(id)]).await;
    assert!(deleted.contains("<boolean>1</boolean>"), "{deleted}");
    assert_eq!(caller.get(&format!("/service/{id}")).await.status, 404);
    assert_eq!(caller.standing().await, ["oned/vm 0"]);
}

/// The body of a document of oned.
async fn body_at_oned(caller: &OneFlowClient, id: i32) -> Value {
    let xml = caller.oned("one.document.info", &[json!(id), json!(false)]).await;
    let (_, rest) = xml.split_once("<BODY><![CDATA[").unwrap_or_else(|| panic!("{xml}"));
    serde_json::from_str(rest.split_once("]]></BODY>").unwrap().0).unwrap()
}

#[tokio::test]
async fn oned_has_the_same_body_of_a_service_as_oneflow_at_any_time() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"nets_ms": 60_000, "boot_ms": 60_000, "terminate_ms": 0})).await;
    let id = caller.start("Function-Data", json!({})).await;
    let template = caller.template("Function-Data").await;
    assert_eq!(body_at_oned(&caller, 1).await, template["TEMPLATE"]["BODY"]);
    for state in [11, 1, 2] {
        let body = body_at_oned(&caller, id).await;
        assert_eq!((&body["state"], &body), (&json!(state), &caller.service(id).await));
        caller.advance(61_000).await;
    }
    // A machine that ended behind the back of its service is missed by both.
    let vm = nodes(&caller.service(id).await, 0)[0];
    caller.vm_action("terminate-hard", vm).await;
    caller.advance(1000).await;
    let body = body_at_oned(&caller, id).await;
    assert_eq!((&body["roles"][0]["cardinality"], &body["roles"][0]["nodes"]), (&json!(0), &json!([])));
    assert_eq!(body, caller.service(id).await);
    let pool = caller.oned("one.documentpool.info", &[json!(-2), json!(-1), json!(-1), json!(100)]).await;
    assert!(pool.contains("\"cardinality\":0"), "{pool}");
}

#[tokio::test]
async fn a_service_vanishes_for_a_reader_at_oned_too() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function", json!({})).await;
    caller.until(id, 2).await;
    caller.faults("service_vanishes").await;
    let answer = caller.oned("one.document.info", &[json!(id), json!(false)]).await;
    assert!(answer.contains(&format!("Error getting document [{id}].")), "{answer}");
    assert_eq!(caller.standing().await, ["oned/vm 0"]);
}

#[tokio::test]
async fn a_template_can_be_added_and_used_by_its_owner_alone() {
    let caller = OneFlowClient::new().await;
    let template = json!({"name": "Mine", "deployment": "none", "description": "two of them",
        "roles": [{"name": "FAAS", "cardinality": 2, "vm_template": 0}]});
    let created = caller.flow(Method::POST, "/service_template", Some(&template)).await;
    assert_eq!(created.status, 201);
    let created = created.json();
    assert_eq!(
        (&created["DOCUMENT"]["TYPE"], &created["DOCUMENT"]["UNAME"]),
        (&json!("101"), &json!("cognit"))
    );
    // It has no policies that were not sent.
    assert_eq!(created["DOCUMENT"]["TEMPLATE"]["BODY"]["roles"], template["roles"]);
    let id = caller.start("Mine", json!({})).await;
    let body = caller.until(id, 2).await;
    assert_eq!((nodes(&body, 0).len(), &body["roles"][0]["last_vmname"]), (2, &json!(2)));
    let path = format!("/service_template/{}", created["DOCUMENT"]["ID"].as_str().unwrap());
    let other = caller.flow_as(("other", "otherpass"), Method::GET, &path, None).await;
    assert_eq!(other.status, 401);
}

#[tokio::test]
async fn a_service_is_renamed_opened_and_scaled() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function", json!({})).await;
    caller.until(id, 2).await;
    assert_eq!(caller.act(id, json!({"perform": "rename", "params": {"name": "new"}})).await.status, 204);
    assert_eq!(caller.act(id, json!({"perform": "chmod", "params": {"octet": "640"}})).await.status, 204);
    let path = format!("/service/{id}");
    let seen = caller.flow_as(("other", "otherpass"), Method::GET, &path, None).await.json();
    assert_eq!(seen["DOCUMENT"]["NAME"], "new");
    assert_eq!(seen["DOCUMENT"]["TEMPLATE"]["BODY"]["name"], "Function");
    let denied = caller.flow_as(("other", "otherpass"), Method::DELETE, &path, None).await;
    assert_eq!(denied.status, 401, "{}", denied.text);

    let scale = |body| {
        let (caller, path) = (&caller, format!("{path}/scale"));
        async move { caller.flow(Method::POST, &path, Some(&body)).await }
    };
    assert_eq!(
        scale(json!({"role_name": "FAAS", "cardinality": 2})).await.headers["content-type"],
        "text/html"
    );
    let missing = scale(json!({"role_name": "NONE", "cardinality": 2, "force": false})).await;
    assert!(missing.is(500, "Role NONE not found"), "{}", missing.text);
    assert_eq!(scale(json!({"role_name": "FAAS", "cardinality": 3, "force": false})).await.status, 204);
    let body = caller.until(id, 10).await;
    assert_eq!(nodes(&body, 0).len(), 3);
    caller.advance(300_000).await;
    assert_eq!(caller.service(id).await["state"], 2);
    assert_eq!(scale(json!({"role_name": "FAAS", "cardinality": 1, "force": false})).await.status, 204);
    assert_eq!(nodes(&caller.until(id, 10).await, 0), nodes(&body, 0)[..1]);
}

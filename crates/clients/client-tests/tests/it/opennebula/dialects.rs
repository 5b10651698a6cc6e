//! Services of `OneFlow` 6 and 7, and documents of many ages.

use std::collections::BTreeMap;

use opennebula::{
    AttributeName, Dialect, NebulaError, NebulaErrorKind, NebulaTemplate, ServiceTemplate, TemplateRole, Text,
};
use serde_json::{Value, json};

use super::recorded::{Exchange, Replay, cognit};

fn document(body: &Value) -> Value {
    json!({ "ID": "7", "UID": 2, "NAME": "x", "TYPE": 100, "TEMPLATE": { "BODY": body } })
}

fn role(name: &str, dialect: Dialect) -> TemplateRole {
    TemplateRole { name: name.into(), vm_template: Some(1), dialect, cardinality: 1, parents: Vec::new() }
}

fn service_template(roles: Vec<TemplateRole>) -> ServiceTemplate {
    let none = String::new();
    ServiceTemplate {
        id: 5,
        uid: 0,
        gid: 1,
        uname: none.clone(),
        gname: none.clone(),
        name: "Extra".into(),
        deployment: none,
        roles,
    }
}

fn cpu() -> NebulaTemplate {
    let mut template = NebulaTemplate::new();
    template.set(AttributeName::of("CPU"), 2_u32);
    template.push_vector(AttributeName::of("DISK"), vec![(AttributeName::of("SIZE"), Text::from(1024_u32))]);
    template
}

/// What is sent for a role list when these roles get contents.
async fn merged(roles: Vec<TemplateRole>, with: &[&str]) -> Result<Value, NebulaError> {
    let made = document(&json!({ "state": 0 }));
    let replay = Replay::with(vec![Exchange::made_up(201, json!({ "DOCUMENT": made }).to_string())]).await;
    let contents: BTreeMap<String, NebulaTemplate> =
        with.iter().map(|name| ((*name).to_owned(), cpu())).collect();
    replay.nebula.instantiate(&cognit(), &service_template(roles), "sr-1", &contents).await?;
    let body: Value = serde_json::from_str(&replay.asked()[0].body).unwrap();
    Ok(body["action"]["params"]["merge_template"].clone())
}

#[tokio::test]
async fn in_six_every_role_keeps_its_place() {
    let roles = ["PROXY", "DAAS", "FAAS"].map(|name| role(name, Dialect::Six)).to_vec();
    let merge = merged(roles, &["FAAS", "DAAS"]).await.unwrap();
    let text = "CPU=\"2\"\nDISK=[SIZE=\"1024\"]";
    let expected = json!({ "name": "sr-1", "roles": [
        { "name": "PROXY" },
        { "name": "DAAS", "vm_template_contents": text },
        { "name": "FAAS", "vm_template_contents": text },
    ] });
    assert_eq!(merge, expected);
}

#[tokio::test]
async fn in_seven_roles_are_named_and_contents_are_objects() {
    let roles = ["PROXY", "FAAS"].map(|name| role(name, Dialect::Seven)).to_vec();
    let merge = merged(roles, &["FAAS"]).await.unwrap();
    let contents = json!({ "CPU": "2", "DISK": [{ "SIZE": "1024" }] });
    assert_eq!(
        merge,
        json!({ "name": "sr-1", "roles": [{ "name": "FAAS", "template_contents": contents }] })
    );
}

#[tokio::test]
async fn a_role_that_the_template_does_not_have_is_refused() {
    let error = merged(vec![role("FAAS", Dialect::Six)], &["FAAS", "DAAS"]).await.unwrap_err();
    assert!(error.is(NebulaErrorKind::Api), "{error}");
    assert!(error.to_string().contains("\"Extra\" has no role \"DAAS\""), "{error}");
}

#[tokio::test]
async fn a_role_says_by_its_members_which_dialect_it_is_in() {
    let roles = json!([
        { "name": "A", "vm_template": 0, "cardinality": 1 },
        { "name": "B", "type": "vm", "template_id": 3, "cardinality": "2", "parents": ["A"] },
        { "name": "C", "vm_template": "4" },
        { "name": "D", "vm_template": null, "parents": null },
    ]);
    let pool = json!({ "DOCUMENT_POOL": { "DOCUMENT": document(&json!({ "roles": roles })) } });
    let replay = Replay::with(vec![Exchange::of_documents(&pool)]).await;
    let found = replay.nebula.service_templates(&cognit()).await.unwrap().remove(0);
    let roles = found.roles.iter().map(|role| (role.vm_template, role.dialect, role.cardinality));
    let expected = [
        (Some(0), Dialect::Six, 1),
        (Some(3), Dialect::Seven, 2),
        (Some(4), Dialect::Six, 1),
        (None, Dialect::Six, 1),
    ];
    assert_eq!(roles.collect::<Vec<_>>(), expected);
    assert_eq!(found.roles[1].parents, ["A"]);
}

#[tokio::test]
async fn a_template_that_cannot_be_read_hides_no_other() {
    let good = document(&json!({ "roles": [{ "name": "FAAS", "vm_template": 0 }] }));
    let pool = json!({ "DOCUMENT_POOL": { "DOCUMENT": [document(&json!(["not", "one"])), good] } });
    let replay = Replay::with(vec![Exchange::of_documents(&pool)]).await;
    assert_eq!(replay.nebula.service_templates(&cognit()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn old_services_are_read() {
    let roles = json!([
        { "name": "A" },
        { "name": "B", "state": "2", "cardinality": "1", "nodes": [{ "deploy_id": "12", "vm_info": null }] },
        { "name": "C", "nodes": null },
    ]);
    let body = json!({ "state": "9", "roles": roles, "start_time": "5" });
    let one = json!({ "DOCUMENT": document(&body) });
    let replay = Replay::with(vec![Exchange::of_documents(&one)]).await;
    let service = replay.nebula.service(&cognit(), 7).await.unwrap();
    assert_eq!((service.id, service.uid, service.state_name()), (7, 2, "FAILED_SCALING"));
    assert!(service.has_failed());
    let nodes: Vec<_> = service.roles.iter().map(|role| role.nodes.as_slice()).collect();
    assert_eq!(nodes, [&[][..], &[12], &[]]);
    assert_eq!((service.log, service.started_at), (Value::Null, Some(5)));
}

#[tokio::test]
async fn five_states_are_failures() {
    let service = |state: i32| json!({ "DOCUMENT": document(&json!({ "state": state })) });
    let states = -1..17;
    let replay =
        Replay::with(states.clone().map(|state| Exchange::of_documents(&service(state))).collect()).await;
    let mut failed = Vec::new();
    for state in states {
        if replay.nebula.service(&cognit(), 7).await.unwrap().has_failed() {
            failed.push(state);
        }
    }
    assert_eq!(failed, [6, 7, 9, 13, 14]);
}

#[tokio::test]
async fn a_service_that_was_not_made_is_no_success() {
    let replay = Replay::of(&["nothing_made"]).await;
    let template = service_template(vec![role("FAAS", Dialect::Six)]);
    let error = replay.nebula.instantiate(&cognit(), &template, "x", &BTreeMap::new()).await.unwrap_err();
    assert!(matches!(error, NebulaError::Broken { service: "oneflow", .. }), "{error:?}");
}

//! Every call to `OneFlow` that was recorded: we ask the same, and understand the answer.

use std::collections::BTreeMap;

use drivers::opennebula::{Attribute, AttributeName, Dialect, Service, ServiceTemplate, Template, Text};
use serde_json::{Value, json};

use crate::grammar::{Parsed, parse};
use crate::recorded::{Asked, Exchange, Replay, cognit, oneadmin};

/// The same request line, the same user and, as JSON, the same body.
#[track_caller]
fn check_request(asked: &Asked, recorded: &Exchange) {
    let recorded = &recorded.asked;
    assert_eq!((&asked.method, &asked.path), (&recorded.method, &recorded.path));
    assert_eq!(asked.authorization, recorded.authorization);
    let body = |text: &str| if text.is_empty() { Value::Null } else { serde_json::from_str(text).unwrap() };
    assert_eq!(body(&asked.body), body(&recorded.body));
}

async fn templates() -> Vec<ServiceTemplate> {
    let replay = Replay::of(&["service_templates"]).await;
    let templates = replay.nebula.service_templates(&cognit()).await.unwrap();
    check_request(&replay.asked()[0], &Exchange::named("service_templates"));
    templates
}

async fn read(name: &str, id: i32) -> Service {
    let replay = Replay::of(&[name]).await;
    let who = if name == "service_running" { oneadmin() } else { cognit() };
    let service = replay.nebula.service(&who, id).await.unwrap();
    check_request(&replay.asked()[0], &Exchange::named(name));
    service
}

#[tokio::test]
async fn it_reads_the_templates_of_services() {
    let templates = templates().await;
    let both = templates.iter().find(|template| template.name == "Function-Data").unwrap();
    assert_eq!((both.id, both.uid, both.gid), (1, 0, 1));
    assert_eq!((both.uname.as_str(), both.gname.as_str()), ("oneadmin", "users"));
    assert_eq!(both.deployment, "straight");
    let roles: Vec<_> = both.roles.iter().map(|role| (role.name.as_str(), role.vm_template)).collect();
    assert_eq!(roles, [("FAAS", Some(0)), ("DAAS", Some(1))]);
    assert!(both.roles.iter().all(|role| role.dialect == Dialect::Six && role.cardinality == 1));
    let missing = templates.iter().find(|template| template.name == "MissingVMT").unwrap();
    assert_eq!(missing.roles[0].vm_template, Some(999_999));
    assert_eq!(templates[0].id, 10);
}

#[tokio::test]
async fn it_reads_services() {
    let early = read("service_deploying_nets", 48).await;
    assert_eq!((early.id, early.uid, early.state_name()), (48, 2, "DEPLOYING_NETS"));
    assert!(early.roles.iter().all(|role| role.nodes.is_empty()), "{early:?}");
    let later = read("service_deploying", 48).await;
    assert_eq!(
        (later.name.as_str(), later.state_name(), later.has_failed()),
        ("Function-Data", "DEPLOYING", false)
    );
    let roles: Vec<_> =
        later.roles.iter().map(|role| (role.name.as_str(), role.state, role.nodes.clone())).collect();
    assert_eq!(roles, [("FAAS", 2, vec![22]), ("DAAS", 1, vec![23])]);
    assert_eq!(later.started_at, Some(1_794_770_052));
    assert_eq!(later.log[1]["message"], "New state: DEPLOYING");
    assert_eq!(read("service_running", 119).await.state_name(), "RUNNING");
}

#[tokio::test]
async fn it_lists_services_also_when_there_are_none() {
    let replay = Replay::of(&["no_services"]).await;
    let recorded = Exchange::named("no_services");
    let who =
        drivers::opennebula::Credentials::from_basic(recorded.asked.authorization.as_ref().unwrap()).unwrap();
    assert_eq!(replay.nebula.services(&who).await.unwrap(), []);
    check_request(&replay.asked()[0], &recorded);
}

#[tokio::test]
async fn it_takes_services_down() {
    let replay = Replay::of(&["delete_service", "recover_delete_service"]).await;
    replay.nebula.delete_service(&cognit(), 48).await.unwrap();
    replay.nebula.recover_delete_service(&cognit(), 60).await.unwrap();
    let asked = replay.asked();
    check_request(&asked[0], &Exchange::named("delete_service"));
    check_request(&asked[1], &Exchange::named("recover_delete_service"));
}

/// A template with the attributes that a recorded text has.
fn template(text: &str) -> Template {
    let name = |name: &str| AttributeName::parse(name).unwrap();
    let mut template = Template::new();
    for attribute in parse(text).unwrap() {
        match attribute {
            Parsed::Single(key, value) => template.set(name(&key), Text::ours(value)),
            Parsed::Vector(key, pairs) => {
                let pairs = pairs.into_iter().map(|(key, value)| (name(&key), Text::ours(value)));
                template.push_vector(name(&key), pairs.collect());
            }
        }
    }
    template
}

#[tokio::test]
async fn it_makes_a_service_as_recorded_but_under_a_name_of_its_own() {
    let recorded = Exchange::named("instantiate");
    let mut expected: Value = serde_json::from_str(&recorded.asked.body).unwrap();
    let merge = &mut expected["action"]["params"]["merge_template"];
    let contents: BTreeMap<String, Template> = merge["roles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|role| {
            let text = role["vm_template_contents"].as_str().unwrap();
            (role["name"].as_str().unwrap().to_owned(), template(text))
        })
        .collect();
    merge["name"] = json!("sr-49-token");

    let both = templates().await.into_iter().find(|template| template.name == "Function-Data").unwrap();
    let replay = Replay::of(&["instantiate"]).await;
    let service = replay.nebula.instantiate(&cognit(), &both, "sr-49-token", &contents).await.unwrap();
    assert_eq!((service.id, service.state_name(), service.roles.len()), (48, "PENDING", 2));

    let asked = &replay.asked()[0];
    let mut body: Value = serde_json::from_str(&asked.body).unwrap();
    for body in [&mut body, &mut expected] {
        for role in body["action"]["params"]["merge_template"]["roles"].as_array_mut().unwrap() {
            // Quotes around a plain value make no difference.
            let text = role["vm_template_contents"].as_str().unwrap();
            role["vm_template_contents"] = json!(format!("{:?}", parse(text).unwrap()));
        }
    }
    assert_eq!(body, expected);
    assert_eq!((&asked.path, &asked.authorization), (&recorded.asked.path, &recorded.asked.authorization));
}

#[tokio::test]
async fn what_was_recorded_is_written_in_the_same_order() {
    let recorded: Value = serde_json::from_str(&Exchange::named("instantiate").asked.body).unwrap();
    let text = &recorded["action"]["params"]["merge_template"]["roles"][0]["vm_template_contents"];
    let template = template(text.as_str().unwrap());
    let names: Vec<&str> =
        template.attributes().iter().map(Attribute::name).map(AttributeName::as_str).collect();
    let expected = [
        "HOT_RESIZE",
        "MEMORY_RESIZE_MODE",
        "DISK",
        "CPU",
        "VCPU",
        "MEMORY",
        "VCPU_MAX",
        "MEMORY_MAX",
        "CONTEXT",
        "DEVICE_INFO",
        "FLAVOURS",
    ];
    assert_eq!(names, expected);
    assert_eq!(parse(&template.to_text().unwrap()), parse(text.as_str().unwrap()));
}

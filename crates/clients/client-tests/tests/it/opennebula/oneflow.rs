//! Every call to `OneFlow` that was recorded: we ask the same, or read from `oned` what it keeps there.

use std::collections::BTreeMap;

use opennebula::{
    Attribute, AttributeName, Dialect, DocumentFilter, FlowService, NebulaTemplate, ServiceTemplate, Text,
};
use serde_json::{Value, json};

use super::grammar::{Parsed, parse};
use super::recorded::{Exchange, RecordedRequest, Replay, cognit};
use super::wire::MethodCall;

/// The same request line, the same user and, as JSON, the same body.
#[track_caller]
fn check_request(asked: &RecordedRequest, recorded: &Exchange) {
    let recorded = &recorded.asked;
    assert_eq!((&asked.method, &asked.path), (&recorded.method, &recorded.path));
    assert_eq!(asked.authorization, recorded.authorization);
    let body = |text: &str| if text.is_empty() { Value::Null } else { serde_json::from_str(text).unwrap() };
    assert_eq!(body(&asked.body), body(&recorded.body));
}

async fn templates() -> Vec<ServiceTemplate> {
    let replay = Replay::with(vec![Exchange::stored("service_templates")]).await;
    let templates = replay.nebula.service_templates(&cognit()).await.unwrap();
    check_question(&replay, "one.documentpool.info", &["-2", "-1", "-1", "101"]);
    templates
}

async fn read(name: &str, id: i32) -> FlowService {
    let replay = Replay::with(vec![Exchange::stored(name)]).await;
    let service = replay.nebula.service(&cognit(), id).await.unwrap();
    check_question(&replay, "one.document.info", &[&id.to_string(), "0"]);
    service
}

/// `oned` was asked, in the name of the caller.
#[track_caller]
fn check_question(replay: &Replay, method: &str, params: &[&str]) {
    let call = MethodCall::read(&replay.asked()[0].body);
    let values: Vec<&str> = call.params.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!((call.method.as_str(), values[0], &values[1..]), (method, "cognit:cognitpass", params));
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
    let replay = Replay::with(vec![Exchange::stored("no_services")]).await;
    assert_eq!(replay.nebula.services(&cognit(), DocumentFilter::Mine, None).await.unwrap(), []);
    check_question(&replay, "one.documentpool.info", &["-3", "0", "-200", "100"]);
}

/// A page of services with these ids.
fn page(ids: impl Iterator<Item = i32>) -> Exchange {
    let service = |id| json!({ "ID": id, "TYPE": 100, "TEMPLATE": { "BODY": { "state": 2 } } });
    let documents: Vec<Value> = ids.map(service).collect();
    Exchange::of_documents(&json!({ "DOCUMENT_POOL": { "DOCUMENT": documents } }))
}

#[tokio::test]
async fn services_are_read_in_pages_and_not_beyond_what_is_wanted() {
    let ids = async |pages: Vec<Exchange>, after: Option<i32>| {
        let calls = pages.len();
        let replay = Replay::with(pages).await;
        let found = replay.nebula.services(&cognit(), DocumentFilter::All, after).await.unwrap();
        assert_eq!(replay.asked().len(), calls, "{after:?}");
        found.iter().map(|service| service.id).collect::<Vec<_>>()
    };
    let newest_first = || vec![page((801..=1000).rev()), page((700..=850).rev())];
    assert_eq!(ids(newest_first(), None).await, (700..=1000).rev().collect::<Vec<_>>());
    assert_eq!(ids(newest_first(), Some(750)).await, (751..=1000).rev().collect::<Vec<_>>());
    let first = || vec![page((801..=1000).rev())];
    assert_eq!(ids(first(), Some(998)).await, [1000, 999]);
    // `oned` can be configured to begin with the oldest.
    assert_eq!(ids(vec![page(1..=200), page(151..=300)], Some(298)).await, [300, 299]);
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
fn template(text: &str) -> NebulaTemplate {
    let name = |name: &str| AttributeName::parse(name).unwrap();
    let mut template = NebulaTemplate::new();
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
    let contents: BTreeMap<String, NebulaTemplate> = merge["roles"]
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

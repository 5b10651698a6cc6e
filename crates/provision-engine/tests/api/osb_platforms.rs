//! A service instance belongs to the platform that asked for it: the credentials of another one find nothing.

use std::collections::BTreeMap;

use ::runtimes::model::{Binding, InstanceRecord};
use engine::prelude::ExposeSecret;
use engine::store::Expect;
use engine::{Clock, Resource, Role};
use serde_json::{Value, json};
use server::tokens::{issue, issue_for};

use crate::osb_world::{
    BrokerFixture, OsbResponse, SERVICE, SMALL, basic, binding, broker, instance, wanted,
};

async fn credentials(world: &BrokerFixture, name: &str, role: Role, platform: Option<&str>) -> String {
    let issued = match platform {
        Some(_) => issue_for(&*world.store, name, role, platform, world.clock.now(), None).await,
        None => issue(&*world.store, name, role, world.clock.now(), None).await,
    };
    basic(name, issued.unwrap().expose_secret())
}

/// The instance `a` with the binding `b`, of the platform `cf`.
async fn with_binding() -> BrokerFixture {
    let world = broker().await;
    world.made("a", SMALL).await;
    assert_eq!(world.bind("a", "b", "", &bind_body()).await.status, 201);
    world
}

fn bind_body() -> Value {
    json!({"service_id": SERVICE, "plan_id": SMALL})
}

/// Every request that the description of the broker knows, for these ids.
fn requests(id: &str, bid: &str) -> Vec<(String, String, Option<Value>)> {
    let api = serde_json::to_value(::runtimes::api::osb::openapi()).unwrap();
    let change = json!({"service_id": SERVICE, "plan_id": SMALL, "parameters": {"name": "stolen"}});
    let mut requests = Vec::new();
    for (template, item) in api["paths"].as_object().unwrap() {
        let path = template.replace("{instance_id}", id).replace("{binding_id}", bid);
        for method in item.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            let bodies = match method.as_str() {
                "put" => vec![Some(wanted(SMALL)), Some(bind_body())],
                "patch" => vec![Some(change.clone())],
                _ => vec![None],
            };
            for body in bodies {
                for query in ["", "&accepts_incomplete=true"] {
                    let path = format!("{path}?service_id={SERVICE}&plan_id={SMALL}{query}");
                    requests.push((method.to_uppercase(), path, body.clone()));
                }
            }
        }
    }
    assert!(requests.len() >= 20, "{}", requests.len());
    requests
}

async fn send(world: &BrokerFixture, who: &str, request: &(String, String, Option<Value>)) -> OsbResponse {
    let (method, path, body) = request;
    let ask = world.ask(method, path).header("authorization", who);
    match body {
        Some(body) => ask.json(body).send().await,
        None => ask.send().await,
    }
}

/// Everything that is stored about runtimes.
async fn records(world: &BrokerFixture) -> BTreeMap<String, String> {
    let mut records = BTreeMap::new();
    for name in [InstanceRecord::resource("a"), Binding::resource("a", "b"), Binding::resource("a", "x")] {
        let row = world.engine.resource(&name).await.unwrap();
        records.insert(name, format!("{row:?}"));
    }
    records
}

#[tokio::test]
async fn another_platform_finds_changes_and_learns_nothing() {
    let world = with_binding().await;
    let before = records(&world).await;
    let mut cases = 0;
    for (name, platform) in [("k8s", None), ("k8s-2", Some("k8s")), ("cf-2", None), ("other", Some("c"))] {
        let other = credentials(&world, name, Role::Broker, platform).await;
        for bid in ["b", "x"] {
            let absent = requests("never", bid);
            for (request, absent) in requests("a", bid).iter().zip(&absent) {
                let found = send(&world, &other, request).await;
                let is_put = request.0 == "PUT" && !request.1.contains("service_bindings");
                if is_put {
                    assert!(found.status >= 400, "{name} {request:?}: {found:?}");
                } else {
                    let expected = send(&world, &other, absent).await;
                    let judged = |answer: &OsbResponse| (answer.status, answer.json.clone());
                    assert_eq!(judged(&found), judged(&expected), "{name} {request:?}");
                }
                cases += 1;
            }
        }
        assert_eq!(records(&world).await, before, "{name} changed something");
    }
    testing::count("authorisation", cases);
}

#[tokio::test]
async fn an_id_of_another_platform_is_taken() {
    let world = with_binding().await;
    let other = credentials(&world, "k8s", Role::Broker, None).await;
    let path = format!("{}?accepts_incomplete=true", instance("a"));
    let same = world.ask("PUT", &path).header("authorization", &other).json(&wanted(SMALL)).send().await;
    same.is(409, None);
    assert!(!same.text.contains("operation") && !same.text.contains("dashboard"), "{}", same.text);
}

#[tokio::test]
async fn credentials_of_one_platform_and_admins_share_its_instances() {
    let world = with_binding().await;
    let second = credentials(&world, "cf-2", Role::Broker, Some("cf")).await;
    let admin = credentials(&world, "ada", Role::Admin, None).await;
    for (number, who) in [&second, &admin].into_iter().enumerate() {
        let ask = |method: &str, path: &str| world.ask(method, path).header("authorization", who);
        assert_eq!(ask("GET", &instance("a")).send().await.status, 200);
        assert_eq!(ask("GET", &binding("a", "b")).send().await.status, 200);
        let own = binding("a", &format!("own-{number}"));
        assert_eq!(ask("PUT", &own).json(&bind_body()).send().await.status, 201);
        // Whichever user made it, it is the platform's.
        assert_eq!(world.ask("GET", &own).send().await.status, 200);
    }
}

#[tokio::test]
async fn an_instance_of_an_earlier_release_names_no_platform_and_is_open_to_all() {
    let world = with_binding().await;
    let row = world.engine.resource(&InstanceRecord::resource("a")).await.unwrap().unwrap();
    let mut record: InstanceRecord = serde_json::from_str(&row.record).unwrap();
    assert_eq!(std::mem::take(&mut record.platform), "cf");
    let record_update = record.record_update().unwrap();
    assert!(!record_update.record.contains("\"platform\""), "as the release before wrote it");
    let written = world.engine.write_resource(
        &row.name,
        &row.tenant,
        Expect::Version(row.version),
        Some(record_update),
    );
    assert!(written.await.unwrap());
    let other = credentials(&world, "k8s", Role::Broker, None).await;
    assert_eq!(world.ask("GET", &instance("a")).header("authorization", &other).send().await.status, 200);
}

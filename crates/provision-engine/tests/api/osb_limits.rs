//! What the catalog limits: sizes, accounts, how many instances and bindings there may be, and where they are.

use std::time::Duration;

use ::runtimes::api::osb::OsbSettings;
use ::runtimes::model::InstanceRecord;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::osb_world::{BrokerFixture, OsbResponse, SERVICE, broker_of, settings, with};

const FREE: &str = "p-free";
const CLOSED: &str = "p-closed";

/// The second area is the first one in the alphabet.
const CATALOG: &str = "
service: {id: s-1, name: runtime, description: A runtime}
eu_access: {platform_regions: [cf-eu11], accounts: [ga-eu]}
plans:
  - {id: p-free, name: free, description: d, provider: gcp, areas: {west: w1, east: e1}, machines: [m1],
     platform_regions: {cf-eu10: east}, defaults: {machine: m1, min: 1, max: 1}, expires_after_days: 14,
     limits: {fixed_size: true, instances_per_account: 1}}
  - {id: p-closed, name: closed, description: d, provider: gcp, regions: [north], machines: [m1],
     defaults: {machine: m1, min: 3, max: 5}, limits: {accounts: [ga-9], nodes: {min: 3, max: 5}}}
";

async fn limited() -> BrokerFixture {
    broker_of(settings(OsbSettings::default()), CATALOG).await
}

fn wanted(plan: &str, account: &str, parameters: &Value) -> Value {
    json!({
        "service_id": SERVICE, "plan_id": plan, "organization_guid": "org", "space_guid": "space",
        "context": {"globalaccount_id": account, "subaccount_id": "sa"}, "parameters": parameters,
    })
}

fn free(account: &str) -> Value {
    wanted(FREE, account, &json!({"name": "n"}))
}

fn to_bind() -> Value {
    json!({"service_id": SERVICE, "plan_id": FREE})
}

fn count(answers: &[OsbResponse], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

async fn region_of(world: &BrokerFixture, id: &str) -> String {
    let row = world.engine.resource(&InstanceRecord::resource(id)).await.unwrap().unwrap();
    serde_json::from_str::<InstanceRecord>(&row.record).unwrap().region
}

#[tokio::test]
async fn a_plan_of_a_fixed_size_names_the_parameters_that_it_does_not_take() {
    let world = limited().await;
    for name in ["machineType", "autoScalerMin", "autoScalerMax", "volumeSizeGb", "diskType", "zones"] {
        let body = with(free("ga"), &[("/parameters", json!({"name": "n", name: 1}))]);
        let refused = world.put("a", &body).await;
        let expect = format!("parameters.{name}: is unknown to this plan, which accepts accessControlList, ");
        assert!(refused.is(400, None).text.contains(&expect), "{}", refused.text);
    }
    world.made_free("a").await;
    for name in ["machineType", "autoScalerMax"] {
        let refused = world.patch("a", &json!({"service_id": SERVICE, "parameters": {name: 1}})).await;
        assert!(refused.is(400, None).text.contains(&format!("parameters.{name}: ")), "{}", refused.text);
    }
}

#[tokio::test]
async fn the_number_of_nodes_is_that_of_the_plan() {
    let world = limited().await;
    for (name, value, rule) in
        [("autoScalerMin", 2, "must be at least 3"), ("autoScalerMax", 6, "must be at most 5")]
    {
        let parameters = json!({"name": "n", "region": "north", name: value});
        let refused = world.put("a", &wanted(CLOSED, "ga-9", &parameters)).await;
        let expect = format!("parameters.{name}: {rule}");
        assert!(refused.is(400, None).text.contains(&expect), "{}", refused.text);
    }
}

#[tokio::test]
async fn of_many_requests_at_once_one_gets_the_only_instance_of_its_account() {
    let world = limited().await;
    world.levers.hold(true);
    let body = free("ga");
    let put = |number: usize| {
        let (world, body) = (&world, &body);
        async move { world.put(&format!("i{number}"), body).await }
    };
    let answers = join_all((0..20).map(put)).await;
    assert_eq!((count(&answers, 202), count(&answers, 400)), (1, 19));
    let refused = answers.iter().find(|answer| answer.status == 400).unwrap();
    let text = "plan_id: this global account has an instance of the plan free already, and may not have more; delete it \
                first";
    assert_eq!(refused.json["description"], text);
    world.levers.hold(false);
    let first = answers.iter().position(|answer| answer.status == 202).unwrap();
    world.put(&format!("i{first}"), &free("ga")).await.is(202, None);
    world.put("other", &free("ga-2")).await.is(202, None);
}

#[tokio::test]
async fn a_deleted_instance_makes_room_for_another_one() {
    let world = limited().await;
    world.made_free("a").await;
    world.put("b", &free("ga")).await.is(400, None);
    world.delete("a", FREE).await.is(202, None);
    world.until("a", "succeeded").await;
    world.put("b", &free("ga")).await.is(202, None);
    world.until("b", "succeeded").await;
    world.put("c", &free("ga")).await.is(400, None);

    world.levers.fail(true);
    world.put("d", &free("ga-2")).await.is(202, None);
    world.until("d", "failed").await;
    world.put("e", &free("ga-2")).await.is(400, None);
    world.levers.fail(false);
    world.delete("d", FREE).await.is(202, None);
    world.until("d", "succeeded").await;
    world.put("e", &free("ga-2")).await.is(202, None);
}

#[tokio::test]
async fn an_instance_has_ten_bindings_however_many_ask_at_once() {
    let world = limited().await;
    world.made_free("a").await;
    let body = to_bind();
    let bind = |number: usize| {
        let (world, body) = (&world, &body);
        async move { world.bind("a", &format!("b{number}"), "", body).await }
    };
    let answers = join_all((0..15).map(bind)).await;
    assert_eq!((count(&answers, 201), count(&answers, 400)), (10, 5));
    let refused = answers.iter().find(|answer| answer.status == 400).unwrap();
    assert!(
        refused.text.contains("binding_id: this service instance has 10 bindings, and"),
        "{}",
        refused.text
    );
    world.clock.turn(Duration::from_secs(601));
    world.bind("a", "later", "", &to_bind()).await.is(201, None);
}

#[tokio::test]
async fn an_instance_without_a_cluster_has_no_bindings() {
    let world = limited().await;
    world.made_free("a").await;
    world.bind("a", "b", "", &to_bind()).await.is(201, None);
    world.delete("a", FREE).await.is(422, None);
    let turn = |active: bool| json!({"service_id": SERVICE, "context": {"active": active}});
    world.patch("a", &turn(false)).await.is(202, None);
    world.until("a", "succeeded").await;
    world.patch("a", &turn(true)).await.is(202, None);
    world.until("a", "succeeded").await;
    // The binding was in the cluster that is gone, and the new one has none.
    world.delete("a", FREE).await.is(202, None);
    world.until("a", "succeeded").await;

    world.made_free("c").await;
    world.bind("c", "b", "", &to_bind()).await.is(201, None);
    world.patch("c", &turn(false)).await.is(202, None);
    world.until("c", "succeeded").await;
    world.delete("c", FREE).await.is(202, None);
}

#[tokio::test]
async fn the_region_is_that_of_the_request_of_the_platform_or_the_first() {
    let world = limited().await;
    for (id, path, parameters, expect) in [
        ("a", "/v2", json!({"name": "n"}), "w1"),
        ("b", "/oauth/v2", json!({"name": "n"}), "w1"),
        ("c", "/oauth/cf-us99/v2", json!({"name": "n"}), "w1"),
        ("d", "/oauth/cf-eu10/v2", json!({"name": "n"}), "e1"),
        ("e", "/oauth/cf-eu10/v2", json!({"name": "n", "region": "west"}), "w1"),
    ] {
        let path = format!("{path}/service_instances/{id}?accepts_incomplete=true");
        let body = wanted(FREE, &format!("ga-{id}"), &parameters);
        world.ask("PUT", &path).json(&body).send().await.is(202, None);
        assert_eq!(region_of(&world, id).await, expect, "{path}");
    }
}

#[tokio::test]
async fn accounts_that_the_operator_has_not_let_in_are_refused() {
    let world = limited().await;
    let put = async |region: &str, id: &str, body: Value| {
        let path = format!("/oauth/{region}/v2/service_instances/{id}?accepts_incomplete=true");
        world.ask("PUT", &path).json(&body).send().await
    };
    let closed = |account| wanted(CLOSED, account, &json!({"name": "n", "region": "north"}));
    let refused = put("cf-eu10", "a", closed("ga-1")).await;
    assert!(refused.is(400, None).text.contains("limits.accounts"), "{}", refused.text);
    put("cf-eu10", "a", closed("ga-9")).await.is(202, None);
    let refused = put("cf-eu11", "b", free("ga-1")).await;
    assert!(refused.is(400, None).text.contains("eu_access.accounts"), "{}", refused.text);
    put("cf-eu11", "b", free("ga-eu")).await.is(202, None);
    world.until("b", "succeeded").await;
}

impl BrokerFixture {
    async fn made_free(&self, id: &str) {
        self.put(id, &free("ga")).await.is(202, None);
        self.until(id, "succeeded").await;
    }
}

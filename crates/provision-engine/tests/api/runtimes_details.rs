//! What the list of runtimes shows beside the newest operation, the events of many runtimes, and the version.

use std::sync::atomic::Ordering;

use ::runtimes::api::osb::OsbSettings;
use ::runtimes::model::{ActionKind, DEPROVISION, InstanceRecord, PROVISION, UPDATE, seal_json};
use engine::Timestamp;
use serde_json::{Value, json};

use crate::runtimes_world::{RuntimesFixture, Then, runtimes, runtimes_with};

/// An instance that was made, changed twice, suspended and brought back.
async fn eventful(place: &RuntimesFixture, id: &str) -> Vec<String> {
    let mut instance = place.workflow_test(id);
    let mut operations = Vec::new();
    for (workflow, suspended) in
        [(PROVISION, false), (UPDATE, false), (UPDATE, false), (DEPROVISION, true), (PROVISION, false)]
    {
        instance.suspended = suspended;
        operations.push(place.make(&instance, workflow, Then::Succeed).await.to_string());
    }
    operations
}

async fn first(place: &RuntimesFixture, query: &str) -> Value {
    let answer = place.world.get(&format!("/runtimes{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    answer.json["data"][0].clone()
}

#[tokio::test]
async fn all_operations_are_shown_by_their_kind_where_they_are_wanted() {
    let place = runtimes().await;
    let operations = eventful(&place, "a").await;
    let newest = first(&place, "").await;
    assert_eq!(newest["status"]["provisioning"]["operationID"], *operations[4]);
    assert!(newest["status"].get("update").is_none(), "{newest}");
    let all = first(&place, "?op_detail=all").await;
    let status = &all["status"];
    assert_eq!(status["provisioning"]["operationID"], *operations[0]);
    assert_eq!(status["unsuspension"]["data"][0]["operationID"], *operations[4]);
    assert_eq!(status["suspension"]["data"][0]["operationID"], *operations[3]);
    assert_eq!((&status["update"]["count"], &status["update"]["totalCount"]), (&json!(2), &json!(2)));
    assert_eq!(status["update"]["data"][0]["operationID"], *operations[2], "the newest first");
    assert!(status.get("deprovisioning").is_none(), "{status}");
    assert_eq!(status["state"], newest["status"]["state"]);
    let old = runtimes_with(OsbSettings { compat_keb: true, ..OsbSettings::default() }).await;
    eventful(&old, "a").await;
    assert_eq!(first(&old, "").await["status"]["update"]["count"], 2, "all is the default there");
    assert!(first(&old, "?op_detail=last").await["status"].get("update").is_none());
    eventful(&old, "b").await;
    for (query, expect) in [("", "a"), ("?sort=-created_at", "b"), ("?sort=created_at", "a")] {
        assert_eq!(first(&old, query).await["instanceID"], expect, "{query}");
    }
}

#[tokio::test]
async fn the_operations_of_a_page_are_one_question_to_the_store() {
    let place = runtimes().await;
    let mut expect = Vec::new();
    for id in ["a", "b", "c", "d"] {
        expect.push(eventful(&place, id).await[2].clone());
    }
    place.world.get("/runtimes?page_size=1").await;
    let before = place.world.store.reads.load(Ordering::SeqCst);
    let answer = place.world.get("/runtimes?op_detail=all").await;
    assert_eq!(
        place.world.store.reads.load(Ordering::SeqCst) - before,
        2,
        "the runtimes and their operations"
    );
    let data = answer.json["data"].as_array().unwrap();
    let newest = data.iter().map(|runtime| &runtime["status"]["update"]["data"][0]["operationID"]);
    assert!(newest.eq(expect.iter().rev().map(String::as_str)), "{}", answer.text);
}

/// Its operations are as many as a page asks for in all, so that the query is full before it comes to the others.
#[tokio::test]
async fn a_runtime_with_a_long_history_hides_no_operation_of_another() {
    let place = runtimes().await;
    eventful(&place, "a").await;
    let busy = place.workflow_test("b");
    for _ in 0..201 {
        place.make(&busy, UPDATE, Then::Succeed).await;
    }
    let answer = place.world.get("/runtimes?op_detail=all").await;
    let status = |at: usize| &answer.json["data"][at]["status"];
    assert_eq!(status(1)["update"]["count"], 2, "{}", answer.text);
    assert_eq!(status(0)["update"]["count"], 100);
}

#[tokio::test]
async fn only_runtimes_with_bindings_are_listed_where_that_is_asked() {
    let place = runtimes().await;
    for id in ["a", "b", "c"] {
        place.write(&InstanceRecord::resource(id), &place.workflow_test(id)).await;
    }
    let ids = |answer: Value| {
        let data = answer["data"].as_array().unwrap().clone();
        data.iter().map(|runtime| runtime["instanceID"].as_str().unwrap().to_owned()).collect::<String>()
    };
    let none = place.world.get("/runtimes?with_bindings=true").await;
    assert_eq!((ids(none.json.clone()), &none.json["totalCount"]), (String::new(), &json!(0)));
    let binding = place.binding("b", "x", Timestamp(1));
    place.write("binding:b/x", &binding).await;
    for (query, expect) in [
        ("with_bindings=true", "b"),
        ("with_bindings=false", "cba"),
        ("with_bindings=true&instance_id=a", ""),
        ("with_bindings=true&instance_id=b&instance_id=c", "b"),
        ("with_bindings=true&plan=aws", ""),
    ] {
        assert_eq!(ids(place.world.get(&format!("/runtimes?{query}")).await.json), expect, "{query}");
    }
    let bad = place.world.get("/runtimes?with_bindings=some").await;
    assert_eq!(bad.status, 400, "{}", bad.text);
}

#[tokio::test]
async fn what_a_cluster_was_asked_to_be_is_shown_without_secrets() {
    let place = runtimes().await;
    let mut instance = place.workflow_test("a");
    let sealer = place.engine().sealer("acme", &InstanceRecord::resource("a"));
    let aws = ::runtimes::model::catalog::Catalog::built_in().plan_named("aws").unwrap().clone();
    (instance.plan_id, instance.plan, instance.provider) = (aws.id, aws.name, "aws".into());
    let parameters = json!({
        "name": "n", "region": "eu-central-1", "autoScalerMax": 5, "kubeconfig": "hush",
        "additionalWorkerNodePools": [{"name": "gpu", "machineType": "g6.xlarge", "autoScalerMin": 1, "autoScalerMax": 2}],
        "modules": {"list": [{"name": "keda"}]},
    });
    instance.parameters = seal_json(parameters.as_object().unwrap(), &sealer);
    instance.note(ActionKind::PlanUpdate, "p-1", "p-2", Timestamp(1));
    instance.note(ActionKind::SubaccountMovement, "ga-1", "ga-2", Timestamp(2));
    place.write(&InstanceRecord::resource("a"), &instance).await;
    let plain = first(&place, "").await;
    for name in ["runtimeConfig", "kymaConfig", "clusterConfig", "actions"] {
        assert!(plain.get(name).is_none(), "{plain}");
    }
    let shown = first(&place, "?runtime_config=true&kyma_config=true&cluster_config=true&actions=true").await;
    let provider = &shown["runtimeConfig"]["spec"]["shoot"]["provider"];
    assert_eq!(provider["workers"][0]["name"], "cpu-worker-0");
    assert_eq!(provider["workers"][0]["maximum"], 5);
    assert_eq!(provider["additionalWorkers"][0]["name"], "gpu");
    assert_eq!(shown["kymaConfig"]["modules"]["list"][0]["name"], "keda");
    assert_eq!(shown["clusterConfig"]["autoScalerMax"], 5);
    assert!(!shown.to_string().contains("hush"), "{shown}");
    let actions = shown["actions"].as_array().unwrap();
    assert_eq!(
        actions.iter().map(|it| it["type"].as_str().unwrap()).collect::<Vec<_>>(),
        ["subaccount_movement", "plan_update"]
    );
    assert_eq!((&actions[0]["oldValue"], &actions[0]["newValue"]), (&json!("ga-1"), &json!("ga-2")));
}

#[tokio::test]
async fn events_of_many_runtimes_are_one_list() {
    let place = runtimes().await;
    let operations = eventful(&place, "a").await;
    place.make(&place.workflow_test("b"), PROVISION, Then::Fail).await;
    let events = |query: String| {
        let world = &place.world;
        async move {
            let answer = world.get(&format!("/events?{query}")).await;
            assert_eq!(answer.status, 200, "{query}: {}", answer.text);
            answer.json.as_array().unwrap().clone()
        }
    };
    let of_both = events("instance_ids=a,b".into()).await;
    let has = |list: &[Value], id: &str| list.iter().any(|event| event["InstanceID"] == id);
    assert!(has(&of_both, "a") && has(&of_both, "b"));
    assert!(of_both.iter().any(|event| event["Level"] == "error"), "{of_both:?}");
    let mut ids: Vec<&str> = of_both.iter().map(|event| event["ID"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), of_both.len(), "ids are used once");
    assert!(!has(&events("runtime_ids=rt-a".into()).await, "b"));
    let one = events(format!("operation_ids={}", operations[1])).await;
    assert!(!one.is_empty() && one.iter().all(|event| event["OperationID"] == *operations[1]));
    assert_eq!(events(format!("instance_ids=b&operation_ids={}", operations[1])).await, Vec::<Value>::new());
    assert_eq!(events("instance_ids=never".into()).await, Vec::<Value>::new());
    for bad in ["", "operation_ids=nonsense", "colour=red"] {
        assert_eq!(place.world.get(&format!("/events?{bad}")).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn the_version_is_that_of_the_program() {
    let place = runtimes().await;
    let answer = place.world.get("/version").await;
    assert_eq!((answer.status, &answer.json), (200, &json!({"version": env!("CARGO_PKG_VERSION")})));
}

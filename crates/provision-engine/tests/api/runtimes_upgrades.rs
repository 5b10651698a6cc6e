//! Upgrades of many runtimes: what is refused when one is started, and what its dry run says.

use ::runtimes::backend::BackendKind;
use ::runtimes::model::InstanceRecord;
use serde_json::{Value, json};

use crate::runtimes_world::{RuntimesFixture, runtimes};

async fn make(place: &RuntimesFixture, id: &str, backend: BackendKind) {
    let record = InstanceRecord { backend: Some(backend), ..place.workflow_test(id) };
    place.write(&InstanceRecord::resource(id), &record).await;
}

fn asked(include: &Value, dry_run: bool) -> Value {
    json!({"targets": {"include": [include]}, "dryRun": dry_run})
}

#[tokio::test]
async fn an_upgrade_of_kyma_is_refused_where_no_back_end_has_it_and_skips_the_others() {
    let place = runtimes().await;
    make(&place, "a", BackendKind::Provisioner).await;
    make(&place, "b", BackendKind::InfrastructureManager).await;
    let (all, managed) = (json!({"target": "all"}), json!({"instanceID": "b"}));
    for dry_run in [true, false] {
        let answer = place.world.post("/upgrade/kyma", asked(&managed, dry_run)).await;
        assert_eq!(
            (answer.status, &answer.json["code"]),
            (422, &json!("invalid-command")),
            "{}",
            answer.text
        );
        let detail = answer.json["detail"].as_str().unwrap();
        for part in [
            "Infrastructure Manager has no upgrade of Kyma",
            "Kyma resource on the cluster",
            "/upgrade/cluster",
        ] {
            assert!(detail.contains(part), "{detail}");
        }
    }
    let preview = place.world.post("/upgrade/kyma", asked(&all, true)).await;
    assert_eq!(preview.status, 200, "{}", preview.text);
    assert_eq!((&preview.json["totalCount"], &preview.json["skippedCount"]), (&json!(1), &json!(1)));
    assert_eq!(preview.json["data"][0]["instanceID"], "a");
    let skipped = &preview.json["skipped"][0];
    assert_eq!((&skipped["instanceID"], &skipped["runtimeID"]), (&json!("b"), &json!("rt-b")));
    assert!(skipped["reason"].as_str().unwrap().contains("Infrastructure Manager"), "{skipped}");
    let started = place.world.post("/upgrade/kyma", asked(&all, false)).await;
    assert_eq!((started.status, &started.json["skippedCount"]), (202, &json!(1)), "{}", started.text);
}

#[tokio::test]
async fn a_dry_run_shows_what_each_back_end_would_be_sent() {
    let place = runtimes().await;
    make(&place, "a", BackendKind::Provisioner).await;
    make(&place, "b", BackendKind::InfrastructureManager).await;
    let mut body = asked(&json!({"target": "all"}), true);
    body["kubernetes"] = json!({"kubernetesVersion": "1.31.2", "machineImage": "gardenlinux"});
    let preview = place.world.post("/upgrade/cluster", body).await;
    assert_eq!((preview.status, &preview.json["totalCount"]), (200, &json!(2)), "{}", preview.text);
    assert!(preview.json.get("skippedCount").is_none(), "{}", preview.text);
    assert_eq!(preview.json["data"][0]["request"]["clusterConfig"]["kubernetesVersion"], "1.31.2");
    let patch = &preview.json["data"][1]["request"];
    assert_eq!((&patch["method"], &patch["name"]), (&json!("PATCH"), &json!("rt-b")));
    assert_eq!(patch["spec"]["shoot"]["kubernetes"]["version"], "1.31.2");
    assert_eq!(patch["worker"]["machine"]["image"]["name"], "gardenlinux");
}

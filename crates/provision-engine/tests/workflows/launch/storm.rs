//! Many launches at once, with a cloud that throttles, breaks and loses answers: what the records say is what is there.

use std::collections::BTreeSet;

use ::launch::model::LaunchSettings;
use ::launch::model::status::LaunchPhase;
use engine::PhaseVerb;
use serde_json::json;

use super::site::{LaunchSite, build_and_launch, launch_only, quick};
use std::time::Duration;

const LAUNCHES: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_records_say_is_what_is_in_the_cloud() {
    let settings = LaunchSettings { capacity_patience: Duration::from_secs(30), ..quick() };
    let site = LaunchSite::with(settings).await;
    let test_engine = site.test_engine().await;
    site.put("/aws/throttle", &json!({"every": 5})).await;
    site.post("/image-builder/faults/lose", &json!({"times": 3})).await;
    for (action, times) in [("RunInstances", 5), ("ImportKeyPair", 3), ("TerminateInstances", 2)] {
        site.post("/aws/faults/lose", &json!({"action": action, "times": times, "after": 1})).await;
    }
    site.post(
        "/aws/faults/fail",
        &json!({"action": "RunInstances", "code": "VcpuLimitExceeded", "after": 6}),
    )
    .await;
    let mut all = Vec::new();
    for number in 0..LAUNCHES {
        let asked = if number % 4 == 0 { build_and_launch(1) } else { launch_only(2) };
        all.push(site.begin(&test_engine, &asked).await);
        if number % 3 == 2 {
            // Somewhere on its way; what is over already cannot be cancelled.
            let _ = test_engine.engine.ask(all[number / 2].id, PhaseVerb::Cancel, "anna", "").await;
        }
    }
    let (mut instances, mut keys, mut stages) = (0, BTreeSet::new(), Vec::new());
    for begun in all {
        let (_, view) = site.rests(&test_engine, begun).await;
        let state = &view.record.state;
        instances += state.instances.len();
        keys.extend(state.key.as_ref().map(|key| key.key.name.clone()));
        let is_whole = view.stage.success() == Some(true) || state.instances.is_empty();
        assert!(is_whole && state.leftovers.is_empty(), "{view:#?}");
        stages.push(view.stage);
    }
    assert_eq!(site.standing("instance").await, instances, "{stages:?}");
    assert_eq!(site.standing("key_pair").await, keys.len(), "{stages:?}");
    assert!(stages.contains(&LaunchPhase::Succeeded), "{stages:?}");
    test_engine.close().await;
}

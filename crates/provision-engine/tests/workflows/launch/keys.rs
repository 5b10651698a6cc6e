//! Key pairs that launches share.

use ::launch::model::status::LaunchPhase;
use engine::PhaseVerb;
use serde_json::json;

use super::site::{LaunchSite, launch_only};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_another_launch_uses_stays_when_its_uploader_fails() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let no_room = json!({"action": "RunInstances", "code": "InsufficientInstanceCapacity", "times": 0});
    site.post("/aws/faults/fail", &no_room).await;
    let first = launch_only(1);
    let mut second = launch_only(1);
    second.parameters.as_mut().unwrap().plain.key = first.parameters.as_ref().unwrap().plain.key.clone();
    let (first, has_key) = (site.begin(&test_engine, &first).await, |view: &_| has_key(view));
    let uploader = site.until(&test_engine, first, has_key).await;
    let second = site.begin(&test_engine, &second).await;
    let user = site.until(&test_engine, second, has_key).await;
    let keys = [&uploader, &user].map(|view| view.record.state.key.clone().unwrap());
    assert_eq!(keys[0].key.name, keys[1].key.name);
    assert_eq!((keys[0].uploaded, keys[1].uploaded), (true, false));
    test_engine.engine.ask(first.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
    let (_, view) = site.rests(&test_engine, first).await;
    assert_eq!(view.stage, LaunchPhase::Cancelled);
    assert_eq!(site.standing("key_pair").await, 1, "the second launch needs it");
    site.delete("/aws/faults/fail").await;
    let (_, view) = site.rests(&test_engine, second).await;
    assert_eq!((view.stage, site.made("key_pair").await), (LaunchPhase::Succeeded, 1));
    test_engine.close().await;
}

fn has_key(view: &::launch::model::status::View) -> bool {
    view.record.state.key.is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_no_launch_uses_goes_with_its_uploader() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let no_room = json!({"action": "RunInstances", "code": "InsufficientInstanceCapacity", "times": 0});
    site.post("/aws/faults/fail", &no_room).await;
    let begun = site.begin(&test_engine, &launch_only(1)).await;
    site.until(&test_engine, begun, has_key).await;
    assert_eq!(site.standing("key_pair").await, 1);
    test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!((view.stage, site.standing("key_pair").await), (LaunchPhase::Cancelled, 0));
    assert!(view.record.state.key.is_none() && view.record.state.key_claim.is_none());
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_vanished_is_uploaded_again_but_not_for_ever() {
    for (times, stage) in [(1, LaunchPhase::Succeeded), (0, LaunchPhase::Failed)] {
        let site = LaunchSite::start().await;
        let test_engine = site.test_engine().await;
        let gone = json!({"action": "RunInstances", "code": "InvalidKeyPair.NotFound", "times": times});
        site.post("/aws/faults/fail", &gone).await;
        let begun = site.begin(&test_engine, &launch_only(1)).await;
        let (ended, view) = site.rests(&test_engine, begun).await;
        assert_eq!(view.stage, stage, "{:?}", ended.memory.last_error);
        let expect = usize::from(stage == LaunchPhase::Succeeded);
        assert_eq!((site.standing("instance").await, site.standing("key_pair").await), (expect, expect));
        test_engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_taken_by_another_key_gets_a_number() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/aws/faults/fail", &json!({"action": "ImportKeyPair", "code": "InvalidKeyPair.Duplicate"}))
        .await;
    let begun = site.begin(&test_engine, &launch_only(1)).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    let key = view.record.state.key.unwrap();
    assert!(key.uploaded && key.key.name.starts_with("anna-") && key.key.name.ends_with("-2"), "{key:?}");
    test_engine.close().await;
}

//! Plans and credentials whose time is over.

use std::time::Duration;

use ::runtimes::api::operators::sweep::{Failures, Swept, keep_sweeping};
use ::runtimes::model::{Binding, InstanceRecord, PROVISION, UNBIND, UPDATE};
use engine::store::StoreError;
use engine::{Engine, Phase, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::runtimes_world::{Then, runtimes};
use crate::shaky_store::Mood;

const DAY: Duration = Duration::from_hours(24);

/// A sweep of a node that has just started.
async fn sweep(engine: &Engine, now: Timestamp) -> Result<Swept, StoreError> {
    ::runtimes::api::operators::sweep::sweep(engine, now, &mut Failures::default()).await
}

/// Until no operation works any longer.
async fn settle(engine: &Engine, name: &str) -> Phase {
    for _ in 0..1000 {
        let row = engine.resource(name).await.unwrap().unwrap();
        if let Some(phase) = row.phase.filter(|phase| phase.is_final()) {
            return phase;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{name} never settles");
}

#[tokio::test]
async fn what_is_over_ends_and_what_is_not_stays() {
    let place = runtimes().await;
    let now = place.engine().now();
    let (past, future) = (now.minus(DAY), now.plus(DAY));
    for (id, expires_at) in [("over", Some(past)), ("soon", Some(future)), ("never", None)] {
        place.make(&InstanceRecord { expires_at, ..place.workflow_test(id) }, PROVISION, Then::Succeed).await;
    }
    for (id, expires_at) in [("old", past), ("new", future)] {
        place.write(&Binding::resource("soon", id), &place.binding("soon", id, expires_at)).await;
    }
    let swept = sweep(place.engine(), now).await.unwrap();
    assert_eq!(swept, Swept { expired: 1, unbound: 1, left: 0 });
    assert_eq!(settle(place.engine(), "runtime:over").await, Phase::Succeeded);
    assert_eq!(settle(place.engine(), "binding:soon/old").await, Phase::Succeeded);
    let over = place.record("over").await;
    assert!(over.suspended && over.expired_at.is_some() && over.gone_at.is_none());
    let row = place.engine().resource("binding:soon/old").await.unwrap().unwrap();
    assert!(row.gone_at.is_some());
    let unbind = place.world.get(&format!("/operations/{}", row.operation.unwrap())).await.json;
    for (member, value) in [
        ("instance_id", "soon"),
        ("binding_id", "old"),
        ("runtime_id", "rt-soon"),
        ("account", "acme"),
        ("subaccount", "sub-soon"),
    ] {
        assert_eq!(unbind["params"][member], value);
    }
    assert_eq!(sweep(place.engine(), now).await.unwrap(), Swept::default(), "nothing is swept twice");
    for id in ["soon", "never"] {
        assert_eq!(place.record(id).await.expired_at, None, "{id}");
    }
}

#[tokio::test]
async fn nodes_that_sweep_at_once_do_everything_once() {
    let place = runtimes().await;
    let now = place.engine().now();
    place.all_will(Then::Hold);
    for number in 0..120 {
        let id = format!("i{number}");
        let instance = InstanceRecord { expires_at: Some(now), ..place.workflow_test(&id) };
        place.write(&InstanceRecord::resource(&id), &instance).await;
    }
    for number in 0..120 {
        let id = format!("b{number}");
        place.write(&Binding::resource("i0", &id), &place.binding("i0", &id, now)).await;
    }
    let sweeps = (0..4).map(|_| sweep(place.engine(), now));
    let swept = futures_util::future::try_join_all(sweeps).await.unwrap();
    let sum = |count: fn(&Swept) -> usize| swept.iter().map(count).sum::<usize>();
    assert_eq!(sum(|swept| swept.expired), 120);
    assert_eq!(sum(|swept| swept.unbound), 120, "{swept:?}");
}

#[tokio::test]
async fn what_is_busy_waits_for_the_next_sweep_and_does_not_hide_the_rest() {
    let place = runtimes().await;
    let now = place.engine().now();
    let due = |id: &str| InstanceRecord { expires_at: Some(now.minus(DAY)), ..place.workflow_test(id) };
    let holder = place.make(&due("busy"), UPDATE, Then::Hold).await.to_string();
    for number in 0..150 {
        let id = format!("i{number}");
        place.write(&InstanceRecord::resource(&id), &due(&id)).await;
    }
    let swept = sweep(place.engine(), now).await.unwrap();
    assert_eq!(swept, Swept { expired: 150, unbound: 0, left: 1 });
    place.world.post(&format!("/operations/{holder}/cancel"), serde_json::json!({})).await;
    place.world.until(&holder, "cancelled").await;
    assert_eq!(sweep(place.engine(), now).await.unwrap().expired, 1);
}

#[tokio::test]
async fn credentials_of_a_cluster_that_is_gone_are_gone() {
    let place = runtimes().await;
    let now = place.engine().now();
    let asleep = InstanceRecord { runtime_id: None, ..place.workflow_test("asleep") };
    place.write(&InstanceRecord::resource("asleep"), &asleep).await;
    for instance in ["asleep", "unknown"] {
        let name = Binding::resource(instance, "b");
        place.write(&name, &place.binding(instance, "b", now)).await;
        assert_eq!(sweep(place.engine(), now).await.unwrap().unbound, 1, "{instance}");
        let row = place.engine().resource(&name).await.unwrap().unwrap();
        assert_eq!((row.gone_at, row.operation), (Some(now), None), "{instance}");
    }
}

#[tokio::test]
async fn credentials_that_stay_are_tried_again_after_a_while() {
    let place = runtimes().await;
    let now = place.engine().now();
    place.write(&InstanceRecord::resource("a"), &place.workflow_test("a")).await;
    place.write(&Binding::resource("a", "b"), &place.binding("a", "b", now)).await;
    place.all_will(Then::Fail);
    assert_eq!(sweep(place.engine(), now).await.unwrap().unbound, 1);
    assert_eq!(settle(place.engine(), "binding:a/b").await, Phase::Failed);
    let soon = place.engine().now().plus(Duration::from_mins(14));
    assert_eq!(sweep(place.engine(), soon).await.unwrap(), Swept { left: 1, ..Swept::default() });
    place.all_will(Then::Succeed);
    assert_eq!(sweep(place.engine(), soon.plus(Duration::from_mins(1))).await.unwrap().unbound, 1);
    assert_eq!(settle(place.engine(), "binding:a/b").await, Phase::Succeeded);
}

#[tokio::test]
async fn one_record_that_cannot_be_read_does_not_stop_the_others() {
    let place = runtimes().await;
    let now = place.engine().now();
    let due = InstanceRecord { expires_at: Some(Timestamp(0)), ..place.workflow_test("good") };
    let mut broken = engine::Resource::record_update(&due).unwrap();
    broken.record = "{}".into();
    let absent = engine::store::Expect::Absent;
    assert!(place.engine().write_resource("runtime:bad", "acme", absent, Some(broken)).await.unwrap());
    place.write(&InstanceRecord::resource("good"), &due).await;
    assert_eq!(sweep(place.engine(), now).await.unwrap(), Swept { expired: 1, unbound: 0, left: 1 });
    let listed = place.world.get("/runtimes").await;
    assert_eq!((listed.status, &listed.json["count"]), (200, &serde_json::json!(1)));
}

#[tokio::test]
async fn the_sweeper_outlives_a_database_that_is_down_and_ends_with_the_process() {
    let place = runtimes().await;
    let due = InstanceRecord { expires_at: Some(Timestamp(0)), ..place.workflow_test("a") };
    place.write(&InstanceRecord::resource("a"), &due).await;
    place.world.store.be(Mood::Down);
    assert!(sweep(place.engine(), place.engine().now()).await.is_err());
    let closing = CancellationToken::new();
    let every = Duration::from_millis(5);
    let sweeper = tokio::spawn(keep_sweeping(place.engine().clone(), every, closing.clone()));
    tokio::task::yield_now().await;
    place.world.store.be(Mood::Well);
    assert_eq!(settle(place.engine(), "runtime:a").await, Phase::Succeeded);
    closing.cancel();
    sweeper.await.unwrap();
    assert_ne!(place.row("a").await.workflow.as_deref(), Some(UNBIND));
}

//! Many at once, and changes of mind: whatever a platform does, one runtime at most, and none at the end.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};

use super::{RuntimesCli, quick, wanted};
use crate::stage::{DataDirectory, until};

const NOTHING: [Value; 0] = [];

#[test]
fn an_instance_that_is_deleted_while_it_is_made_leaves_nothing() {
    let scene = RuntimesCli::open(quick());
    scene.hold(true);
    let provision = scene.put("i1", &wanted("one")).operation().to_owned();
    until("the runtime", || (scene.runtimes("i1") == (1, 1)).then_some(()));
    let delete = scene.delete("i1").operation().to_owned();
    assert_ne!(provision, delete);
    assert_eq!(scene.delete("i1").operation(), delete, "asked again");
    assert_eq!(scene.put("i1", &wanted("one")).status, 422);
    scene.tells("i1", &delete, "the Provisioner is still at work on the runtime");
    scene.hold(false);
    let told = scene.ends("i1", &delete, "succeeded");
    assert!(told.contains("deleted"), "{told}");
    let told = scene.ends("i1", &provision, "failed");
    assert!(told.contains("the platform deleted the instance while it was being made"), "{told}");
    assert_eq!(scene.runtimes("i1"), (1, 0));
    assert_eq!(scene.standing(), NOTHING);
    assert_eq!(scene.delete("i1").status, 410);
    assert_eq!(scene.put("i1", &wanted("one")).status, 409);
}

/// The deletion comes while the Provisioner is being asked, and its answer comes late, or never.
#[test]
fn an_instance_that_is_deleted_while_no_one_knows_whether_it_was_made_leaves_nothing() {
    let scene = RuntimesCli::open(quick().env("PROVISION_ENGINE_RUNTIME__SETTLE", "2s"));
    for (id, kind, made) in [("late", "latency", 1), ("lost", "drop_after", 1), ("never", "drop_before", 0)] {
        let fault =
            json!({"system": "provisioner", "kind": kind, "latency_ms": 700, "about": "provisionRuntime"});
        scene.sandbox.arm(&fault);
        let provision = scene.put(id, &wanted(id)).operation().to_owned();
        scene.wait_for_the_fault();
        let delete = scene.delete(id).operation().to_owned();
        scene.ends(id, &delete, "succeeded");
        scene.ends(id, &provision, "failed");
        assert_eq!(scene.runtimes(id), (made, 0), "{kind}");
    }
    assert_eq!(scene.standing(), NOTHING);
}

#[test]
fn fifty_equal_requests_at_once_are_one_instance() {
    let scene = RuntimesCli::open(quick());
    scene.hold(true);
    let (platform, body) = (&scene.platform, &wanted("one"));
    let answers = scene.runtime.block_on(join_all((0..50).map(|_| platform.put("i1", body))));
    let operations: BTreeSet<&str> = answers.iter().map(super::BrokerOutput::operation).collect();
    assert_eq!(operations.len(), 1, "{operations:?}");
    scene.hold(false);
    scene.ends("i1", operations.first().unwrap(), "succeeded");
    let answers = scene.runtime.block_on(join_all((0..50).map(|_| platform.put("i1", body))));
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    let answers = scene.runtime.block_on(join_all((0..50).map(|_| platform.delete("i1"))));
    let operations: BTreeSet<&str> =
        answers.iter().filter(|answer| answer.status == 202).map(super::BrokerOutput::operation).collect();
    assert_eq!(operations.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| [202, 410].contains(&answer.status)), "{answers:?}");
    scene.ends("i1", operations.first().unwrap(), "succeeded");
    assert_eq!(scene.runtimes("i1"), (1, 0));
    assert_eq!(scene.standing(), NOTHING);
}

/// Two hundred requests to make and to delete, in any order, for four ids.
fn storm(place: DataDirectory) {
    let scene = RuntimesCli::open(place);
    let ids = ["s0", "s1", "s2", "s3"];
    let platform = &scene.platform;
    let answers = scene.runtime.block_on(join_all((0..200).map(|number: usize| async move {
        let id = ids[number % ids.len()];
        // The first request of each id makes it: one that was deleted before can never be made.
        match number / ids.len() % 5 {
            4 => (id, platform.delete(id).await),
            3 => (id, platform.put(id, &wanted("other")).await),
            _ => (id, platform.put(id, &wanted(id)).await),
        }
    })));
    let statuses: BTreeSet<u16> = answers.iter().map(|(_, answer)| answer.status).collect();
    assert!(statuses.iter().all(|status| [200, 202, 409, 410, 422].contains(status)), "{statuses:?}");
    for id in ids {
        let operations: BTreeSet<&str> = answers
            .iter()
            .filter(|(of, answer)| *of == id && answer.status == 202)
            .map(|(_, answer)| answer.operation())
            .collect();
        // One that makes it, and one that deletes it. A deletion may overtake all others.
        assert!(operations.len() <= 2, "{id}: {operations:?}");
        let gone = until("the last word about an instance", || {
            let answer = scene.delete(id);
            assert!([202, 410].contains(&answer.status), "{answer:?}");
            (answer.status == 410).then_some(answer)
        });
        assert_eq!(gone.status, 410);
        let (made, standing) = scene.runtimes(id);
        assert!(made <= 1 && standing == 0, "{id}: {made} made, {standing} standing");
    }
    assert!(statuses.contains(&202), "nothing was made: {statuses:?}");
    assert_eq!(scene.standing(), NOTHING);
    assert_eq!(scene.server.stop().code, Some(0));
}

#[test]
fn a_storm_of_requests_on_sqlite_leaves_nothing() {
    storm(quick());
}

#[test]
fn a_storm_of_requests_on_postgres_leaves_nothing() {
    let postgres = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    postgres.create_database("engine").unwrap();
    storm(quick().env("PROVISION_ENGINE_STORE__DATABASE_URL", postgres.url("engine")));
}

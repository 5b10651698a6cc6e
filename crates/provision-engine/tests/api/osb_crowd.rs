//! Many at once: one operation for all who ask for the same, and no request is lost.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde_json::json;

use crate::osb_world::{OsbResponse, SERVICE, SMALL, broker, wanted, with};

const MANY: usize = 50;

fn statuses(answers: &[OsbResponse]) -> BTreeMap<u16, usize> {
    answers.iter().fold(BTreeMap::new(), |mut counts, answer| {
        *counts.entry(answer.status).or_default() += 1;
        counts
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_request_many_times_at_once_is_one_operation() {
    let world = broker().await;
    world.levers.hold(true);
    let answers = join_all((0..MANY).map(|_| async { world.put("a", &wanted(SMALL)).await })).await;
    assert_eq!(statuses(&answers), BTreeMap::from([(202, MANY)]));
    assert!(answers.iter().all(|answer| answer.operation() == answers[0].operation()));
    let deletions = join_all((0..MANY).map(|_| async { world.delete("a", SMALL).await })).await;
    assert_eq!(statuses(&deletions), BTreeMap::from([(202, MANY)]));
    assert!(deletions.iter().all(|answer| answer.operation() == deletions[0].operation()));
    world.levers.hold(false);
    world.until("a", "succeeded").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_different_requests_for_one_id_one_wins() {
    let world = broker().await;
    world.levers.hold(true);
    let put = |number: usize| {
        let body = with(wanted(SMALL), &[("/parameters/name", json!(format!("n{number}")))]);
        let world = &world;
        async move { world.put("a", &body).await }
    };
    let answers = join_all((0..MANY).map(put)).await;
    assert_eq!(statuses(&answers), BTreeMap::from([(202, 1), (409, MANY - 1)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_change_many_times_at_once_is_one_operation() {
    let world = broker().await;
    world.made("a", SMALL).await;
    world.levers.hold(true);
    let change = json!({"service_id": SERVICE, "parameters": {"name": "m"}});
    let answers = join_all((0..MANY).map(|_| async { world.patch("a", &change).await })).await;
    assert_eq!(statuses(&answers), BTreeMap::from([(202, MANY)]));
    assert!(answers.iter().all(|answer| answer.operation() == answers[0].operation()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_bindings_at_once_do_not_get_in_each_others_way() {
    let world = broker().await;
    world.made("a", SMALL).await;
    let body = json!({"service_id": SERVICE, "plan_id": SMALL});
    let bind = |number: usize| {
        let (world, body) = (&world, &body);
        async move { world.bind("a", &format!("b{}", number % 25), "", body).await }
    };
    let answers = join_all((0..MANY).map(bind)).await;
    let counts = statuses(&answers);
    assert_eq!((counts.get(&201), counts.get(&200)), (Some(&25), Some(&25)), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_binding_slips_in_while_its_instance_is_deleted() {
    for _ in 0..20 {
        let world = broker().await;
        world.made("a", SMALL).await;
        world.levers.hold(true);
        let body = json!({"service_id": SERVICE, "plan_id": SMALL});
        let (bound, deleted) =
            tokio::join!(world.bind("a", "b", "?accepts_incomplete=true", &body), world.delete("a", SMALL),);
        assert_eq!(
            [bound.status, deleted.status].iter().filter(|status| **status == 202).count(),
            1,
            "{bound:?} {deleted:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_and_its_deletion_that_cross_leave_what_the_last_of_them_wanted() {
    for _ in 0..20 {
        let world = broker().await;
        let body = wanted(SMALL);
        let (made, deleted) = tokio::join!(world.put("a", &body), world.delete("a", SMALL));
        match (made.status, deleted.status) {
            (202, 202) => {
                world.until("a", "succeeded").await;
                world.get("a").await.is(404, None);
                world.put("a", &wanted(SMALL)).await.is(409, None);
            }
            (202, 410) => {
                world.until("a", "succeeded").await;
                assert_eq!(world.get("a").await.status, 200);
            }
            other => panic!("{other:?}"),
        }
    }
}

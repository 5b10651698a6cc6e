//! What the director knows, and what it is told.

use std::sync::Arc;

use axum::Json;
use axum::response::IntoResponse;
use drivers::director::{Director, HttpDirector};
use drivers::provisioner::Provisioner;
use serde_json::json;

use crate::house::{CALLER, FarSide, House, TIMEOUT, TestClock, runtime};

#[tokio::test]
async fn runtimes_are_found_by_label_and_shown_with_all_labels() {
    let House { sandbox: _sandbox, provisioner, director, .. } = &House::new().await;
    for instance_id in ["i-1", "i-2", "i-\"3\" \\"] {
        provisioner.provision_runtime(CALLER, &runtime(instance_id)).await.unwrap();
        let found = director.runtimes_by_label("ga-1", "broker_instance_id", instance_id).await.unwrap();
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.name.as_str(), found.condition.as_deref()), ("n", Some("CONNECTED")));
        assert_eq!(found.labels["broker_instance_id"], instance_id);
        assert_eq!(found.labels["runtime_consoleUrl"], "https://console.c-1234567.sandbox.local");
        assert_eq!(director.runtime("ga-1", &found.id).await.unwrap().as_ref(), Some(found));
        assert_eq!(director.runtime("ga-2", &found.id).await.unwrap(), None);
    }
    for (tenant, key, value) in [
        ("ga-2", "broker_instance_id", "i-1"),
        ("ga-1", "broker_instance_id", "i-9"),
        ("ga-1", "global_subaccount_id", "i-1"),
    ] {
        assert_eq!(director.runtimes_by_label(tenant, key, value).await.unwrap(), []);
    }
    assert_eq!(director.runtimes_by_label("ga-1", "global_subaccount_id", "sa-1").await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_label_is_set_any_number_of_times() {
    let House { sandbox: _sandbox, provisioner, director, .. } = &House::new().await;
    let started = provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap();
    let id = started.runtime_id.unwrap();
    for value in ["a", "a", "b \"c\""] {
        director.set_label("ga-1", &id, "colour", value).await.unwrap();
        assert_eq!(director.runtime("ga-1", &id).await.unwrap().unwrap().labels["colour"], value);
    }
    let error = director.set_label("ga-1", "no-such", "colour", "a").await.unwrap_err();
    assert_eq!(error.to_string(), "director refused: the runtime \"no-such\" was not found");
    assert!(director.runtime("", &id).await.unwrap_err().is_final());
}

#[tokio::test]
async fn all_pages_are_read() {
    let House { sandbox: _sandbox, provisioner, director, .. } = &House::new().await;
    for _ in 0..205 {
        provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap();
    }
    let found = director.runtimes_by_label("ga-1", "broker_instance_id", "i-1").await.unwrap();
    let ids: std::collections::BTreeSet<_> = found.iter().map(|runtime| &runtime.id).collect();
    assert_eq!((found.len(), ids.len()), (205, 205));
}

#[tokio::test]
async fn pages_that_never_end_are_given_up() {
    let page = |cursor: &'static str| {
        move |_: &_| {
            let page_info = json!({"startCursor": "", "endCursor": cursor, "hasNextPage": true});
            let page = json!({"data": [], "pageInfo": page_info, "totalCount": 0});
            Json(json!({"data": {"result": page}})).into_response()
        }
    };
    for (cursor, expect, calls) in [
        ("c-1", "director is broken: it answered more than 50 pages of runtimes", 50),
        ("", "director is broken: it has more runtimes, but does not say where they begin", 1),
    ] {
        let far_side = FarSide::start(page(cursor)).await;
        let director =
            HttpDirector::new(&far_side.url, None, Arc::new(TestClock::default()), TIMEOUT).unwrap();
        let error = director.runtimes_by_label("ga-1", "k", "v").await.unwrap_err();
        assert_eq!(error.to_string(), expect);
        let arrivals = far_side.arrivals();
        assert_eq!(arrivals.len(), calls);
        let first: serde_json::Value = serde_json::from_slice(&arrivals[0].body).unwrap();
        assert_eq!(first["variables"], json!({"key": "k", "query": "\"v\"", "first": 100}));
        assert!(!arrivals[0].headers.contains_key("authorization"));
    }
}

#[tokio::test]
async fn faults_come_back_sorted() {
    let House { director, .. } = &{
        let house = House::new().await;
        house.arm("director", json!({"kind": "garbage"})).await;
        house.arm("director", json!({"kind": "error", "status": 429, "retry_after_s": 7})).await;
        house.arm("director", json!({"kind": "drop_before"})).await;
        house
    };
    for expect in ["director is broken", "director asks to wait for 7 s", "director is not answering"] {
        let error = director.runtime("ga-1", "rt-1").await.unwrap_err();
        assert!(error.to_string().starts_with(expect), "{error}");
    }
}

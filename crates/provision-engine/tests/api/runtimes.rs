//! What operators see of service instances.

use std::sync::atomic::Ordering;

use ::runtimes::api::types::{RuntimeInfo, RuntimePage};
use ::runtimes::model::{Binding, DEPROVISION, InstanceRecord, PROVISION, UPDATE};
use serde_json::{Value, json};

use crate::runtimes_world::{RuntimesFixture, Then, runtimes};

async fn ids(place: &RuntimesFixture, query: &str) -> Vec<String> {
    let answer = place.world.get(&format!("/runtimes{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    let page: RuntimePage = serde_json::from_value(answer.json).unwrap();
    assert_eq!(page.count, page.data.len());
    page.data.into_iter().map(|runtime| runtime.instance_id).collect()
}

#[tokio::test]
async fn a_page_is_one_question_to_the_store_and_all_pages_together_are_all_runtimes() {
    let place = runtimes().await;
    for number in 0..250 {
        let id = format!("i{number:03}");
        place.write(&InstanceRecord::resource(&id), &place.workflow_test(&id)).await;
    }
    // From now on the token is remembered.
    place.world.get("/runtimes?page_size=1").await;
    let mut seen = Vec::new();
    let mut cursor = String::new();
    for (page, (count, total)) in [(100, Some(250)), (100, None), (50, None)].into_iter().enumerate() {
        let before = place.world.store.reads.load(Ordering::SeqCst);
        let answer = place.world.get(&format!("/runtimes?page_size=100{cursor}")).await;
        assert_eq!(place.world.store.reads.load(Ordering::SeqCst) - before, 1, "page {page}");
        let found: RuntimePage = serde_json::from_value(answer.json).unwrap();
        assert_eq!((found.count, found.total_count), (count, total), "page {page}");
        seen.extend(found.data.into_iter().map(|runtime| runtime.instance_id));
        assert_eq!(found.next.is_some(), page < 2);
        cursor = found.next.map(|next| format!("&cursor={next}")).unwrap_or_default();
    }
    assert_eq!(seen.len(), 250);
    assert!(seen.iter().rev().is_sorted() && seen.first().unwrap() == "i249", "newest first, none twice");
    let third = place.world.get("/runtimes?page=3&page_size=100").await;
    assert_eq!(third.json["totalCount"], 250);
    assert_eq!(third.json["data"][0]["instanceID"], "i049");
    assert_eq!(ids(&place, "?page=4").await, Vec::<String>::new());
}

#[tokio::test]
async fn newest_first_a_runtime_that_is_created_meanwhile_moves_no_page() {
    let place = runtimes().await;
    for number in 0..5 {
        let id = format!("i{number}");
        place.write(&InstanceRecord::resource(&id), &place.workflow_test(&id)).await;
    }
    let first = place.world.get("/runtimes?page_size=2").await.json;
    assert_eq!((&first["data"][0]["instanceID"], &first["totalCount"]), (&json!("i4"), &json!(5)), "{first}");
    place.write(&InstanceRecord::resource("i5"), &place.workflow_test("i5")).await;
    let (mut seen, mut next) = (Vec::new(), first["next"].as_str().map(str::to_owned));
    while let Some(cursor) = next {
        let page = place.world.get(&format!("/runtimes?page_size=2&cursor={cursor}")).await.json;
        seen.extend(page["data"].as_array().unwrap().iter().map(|runtime| runtime["instanceID"].clone()));
        next = page["next"].as_str().map(str::to_owned);
    }
    assert_eq!(seen, ["i2", "i1", "i0"]);
    assert_eq!(ids(&place, "?sort=-created_at&page=2&page_size=4").await, ["i1", "i0"]);
    assert_eq!(ids(&place, "?sort=-created_at&page=3&page_size=4").await, Vec::<String>::new());
    let other_order = place.world.get("/runtimes?sort=created_at&page_size=2").await.json["next"].clone();
    let other_order = format!("/runtimes?sort=-created_at&cursor={}", other_order.as_str().unwrap());
    assert_eq!(place.world.get(&other_order).await.status, 400, "a cursor of the other order");
    assert_eq!(place.world.get("/runtimes?sort=name").await.status, 400);
}

#[tokio::test]
async fn paging_and_filters_that_make_no_sense_are_refused_by_name() {
    let place = runtimes().await;
    for (query, part) in [
        ("page=0", "page"),
        ("page=-1", "page"),
        ("page_size=0", "page_size"),
        ("page_size=101", "from 1 to 100"),
        ("cursor=nonsense", "cursor"),
        ("page=1&cursor=BQAAAAAAAAAB", "either"),
        ("state=ready", "deprovisionincomplete"),
        ("state=deprovisioned&state=failed", "alone"),
        ("expired=maybe", "true or false"),
        ("op_detail=some", "last or all"),
        ("account=", "account"),
        ("account=a%00", "account"),
    ] {
        let answer = place.world.get(&format!("/runtimes?{query}")).await.is(400, "invalid-parameter");
        assert!(answer.json["detail"].as_str().unwrap().contains(part), "{query}: {}", answer.text);
    }
    place.world.get("/runtimes?acount=a").await.is(400, "unknown-parameter");
}

#[tokio::test]
async fn filters_narrow_and_may_be_repeated() {
    let place = runtimes().await;
    for id in ["a", "b", "c"] {
        let mut instance = place.workflow_test(id);
        if id == "c" {
            let elsewhere = ["gcp", "europe-west1", "else", "else"].map(str::to_owned);
            [instance.plan, instance.region, instance.account, instance.subaccount] = elsewhere;
            instance.expired_at = Some(place.engine().now());
        }
        place.write(&InstanceRecord::resource(id), &instance).await;
    }
    for (query, expect) in [
        ("", "cba"),
        ("?account=acme", "ba"),
        ("?account=acme&account=else", "cba"),
        ("?account=unknown", ""),
        ("?subaccount=sub-b", "b"),
        ("?instance_id=a&instance_id=c", "ca"),
        ("?runtime_id=rt-b", "b"),
        ("?region=europe-west1", "c"),
        ("?shoot=c-a", "a"),
        ("?plan=gcp", "c"),
        ("?plan=gcp&account=acme", ""),
        ("?expired=true", "c"),
        ("?expired=false&op_detail=last", "ba"),
    ] {
        assert_eq!(ids(&place, query).await.concat(), expect, "{query}");
    }
}

#[tokio::test]
async fn every_state_is_shown_and_found() {
    let place = runtimes().await;
    let fresh = |id: &str| InstanceRecord { ready: false, ..place.workflow_test(id) };
    let asleep = |id: &str| InstanceRecord { suspended: true, ..place.workflow_test(id) };
    let half_gone =
        |id: &str| InstanceRecord { not_completed: vec!["greet".into()], ..place.workflow_test(id) };
    let made = [
        (fresh("a"), PROVISION, Then::Succeed, "succeeded", "provisioning"),
        (fresh("b"), PROVISION, Then::Hold, "provisioning", "provisioning"),
        (fresh("c"), PROVISION, Then::Fail, "failed", "provisioning"),
        (place.workflow_test("d"), PROVISION, Then::Hold, "provisioning", "unsuspension"),
        (place.workflow_test("e"), UPDATE, Then::Hold, "updating", "update"),
        (place.workflow_test("f"), UPDATE, Then::Fail, "error", "update"),
        (place.workflow_test("g"), UPDATE, Then::Succeed, "succeeded", "update"),
        (asleep("h"), DEPROVISION, Then::Hold, "deprovisioning", "suspension"),
        (asleep("i"), DEPROVISION, Then::Succeed, "suspended", "suspension"),
        (asleep("j"), DEPROVISION, Then::Fail, "failed", "suspension"),
        (place.workflow_test("k"), DEPROVISION, Then::Hold, "deprovisioning", "deprovisioning"),
        (place.workflow_test("l"), DEPROVISION, Then::Fail, "failed", "deprovisioning"),
        (place.workflow_test("m"), DEPROVISION, Then::Succeed, "deprovisioned", "deprovisioning"),
        (half_gone("n"), DEPROVISION, Then::Succeed, "deprovisionincomplete", "deprovisioning"),
    ];
    for (instance, workflow, then, state, slot) in &made {
        let operation = place.make(instance, workflow, *then).await;
        let shown = place.world.get(&format!("/runtimes/{}", instance.instance_id)).await.json;
        assert_eq!(shown["status"]["state"], *state, "{shown:#}");
        let shown = &shown["status"][slot];
        let shown = if shown["data"].is_array() { &shown["data"][0] } else { shown };
        let expect = match then {
            Then::Succeed => "succeeded",
            Then::Fail => "failed",
            Then::Hold => "in progress",
        };
        assert_eq!(shown["operationID"], operation.to_string());
        assert_eq!(shown["state"], expect, "{shown:#}");
    }
    let of = |wanted: &[&str]| -> String {
        made.iter()
            .rev()
            .filter(|made| wanted.contains(&made.3))
            .map(|made| made.0.instance_id.clone())
            .collect()
    };
    let all = ["succeeded", "failed", "error", "provisioning", "deprovisioning", "updating", "suspended"];
    for state in all.into_iter().chain(["deprovisioned", "deprovisionincomplete"]) {
        assert_eq!(ids(&place, &format!("?state={state}")).await.concat(), of(&[state]), "{state}");
    }
    assert_eq!(ids(&place, "?state=suspended&state=error").await.concat(), of(&["suspended", "error"]));
    assert_eq!(ids(&place, "?state=upgrading").await.concat(), "");
    assert_eq!(ids(&place, "?state=all").await.concat(), "nmlkjihgfedcba");
    assert_eq!(ids(&place, "").await.concat(), "lkjihgfedcba", "what is gone is left out");
}

#[tokio::test]
async fn a_runtime_is_found_by_both_its_ids_with_everything_about_it_and_no_secret() {
    let place = runtimes().await;
    let first = place.make(&place.workflow_test("a"), PROVISION, Then::Succeed).await;
    let second = place.make(&place.workflow_test("a"), UPDATE, Then::Fail).await;
    let expires_at = place.engine().now();
    place.write(&Binding::resource("a", "b1"), &place.binding("a", "b1", expires_at)).await;
    let shown = place.world.get("/runtimes/a").await;
    assert_eq!(shown.json, place.world.get("/runtimes/rt-a").await.json);
    for (member, value) in [
        ("instanceID", "a"),
        ("runtimeID", "rt-a"),
        ("globalAccountID", "acme"),
        ("subAccountID", "sub-a"),
        ("region", "westeurope"),
        ("subAccountRegion", "cf-eu10"),
        ("shootName", "c-a"),
        ("serviceClassID", "47c9dcbf-ff30-448e-ab36-d3bad66ba281"),
        ("serviceClassName", "kymaruntime"),
        ("servicePlanName", "trial"),
        ("provider", "azure"),
        ("userID", "john"),
    ] {
        assert_eq!(shown.json[member], value, "{member}");
    }
    assert_eq!(shown.json["bindings"][0]["id"], "b1");
    assert_eq!(shown.json["bindings"][0]["kubeconfigExists"], true);
    assert!(!shown.text.contains("sealed:") && !shown.text.contains("hush"), "{}", shown.text);
    let list = place.world.get("/runtimes?bindings=true").await;
    assert_eq!(list.json["data"][0], shown.json);
    assert!(place.world.get("/runtimes").await.json["data"][0].get("bindings").is_none());

    let operations = place.world.get("/runtimes/rt-a/operations").await.json;
    assert_eq!(operations["items"][0]["id"], second.to_string(), "newest first");
    assert_eq!(operations["items"][1]["id"], first.to_string());
    let one = place.world.get("/runtimes/a/operations?limit=1").await.json;
    let next = one["next"].as_str().unwrap();
    let rest = place.world.get(&format!("/runtimes/a/operations?limit=1&cursor={next}")).await.json;
    assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&json!(first.to_string()), &Value::Null));

    let events = place.world.get("/runtimes/a/events").await.json;
    let events = events["items"].as_array().unwrap();
    assert_eq!((&events[0]["level"], &events[0]["workflow"]), (&json!("error"), &json!(UPDATE)));
    assert!(events[0]["text"].as_str().unwrap().contains("the quota is used up"), "{events:?}");
    assert_eq!(events.last().unwrap()["text"], "platform created it; the first step is act");
    let two = place.world.get("/runtimes/a/events?limit=2").await.json;
    assert_eq!(two["items"].as_array().unwrap()[..], events[..2]);
    for path in ["/runtimes/b", "/runtimes/b/operations", "/runtimes/b/events"] {
        place.world.get(path).await.is(404, "runtime-not-found");
    }
    place.world.get("/runtimes/a/events?limit=0").await.is(400, "invalid-parameter");
}

#[tokio::test]
async fn the_older_list_has_the_older_names_and_says_where_it_goes_on() {
    let place = runtimes().await;
    place.make(&place.workflow_test("a"), PROVISION, Then::Succeed).await;
    place.make(&place.workflow_test("b"), DEPROVISION, Then::Hold).await;
    let all: Vec<RuntimeInfo> = serde_json::from_value(place.world.get("/info/runtimes").await.json).unwrap();
    assert_eq!((all[0].service_instance_id.as_str(), all[0].runtime_id.as_str()), ("a", "rt-a"));
    assert_eq!(all[0].status.provisioning.as_ref().unwrap().state, "succeeded");
    assert_eq!(all[1].status.deprovisioning.as_ref().unwrap().state, "in progress");
    let one = place.world.get("/info/runtimes?page_size=1").await;
    let link = one.header("link").strip_prefix('<').unwrap();
    let (next, rest) = link.split_once('>').unwrap();
    assert_eq!(rest, "; rel=\"next\"");
    let two = place.world.get(next).await;
    assert_eq!((&two.json[0]["serviceInstanceId"], two.header("link")), (&json!("b"), ""));
    assert!(place.world.get("/info/runtimes").await.headers.get("link").is_none());
}

#[tokio::test]
async fn a_kubeconfig_is_for_operators_and_leaves_a_trace() {
    let place = runtimes().await;
    place.make(&place.workflow_test("a"), PROVISION, Then::Succeed).await;
    let call = |path: &str, token: &str| place.world.call("GET", path).token(token).send();
    call("/kubeconfig/a", &place.world.reader).await.is(403, "forbidden");
    let file = call("/kubeconfig/rt-a", &place.world.operator).await;
    assert_eq!((file.status, file.text.as_str()), (200, "apiVersion: v1\nkind: Config\n"));
    assert_eq!(file.header("content-type"), "application/x-yaml");
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"kubeconfig.yaml\"");
    assert_eq!(file.header("cache-control"), "no-store");
    let log = place.world.get("/audit").await.json;
    assert_eq!(log["items"][0]["action"], "runtime.kubeconfig");
    assert_eq!((&log["items"][0]["who"], &log["items"][0]["target"]), (&json!("oscar"), &json!("a")));

    place.make(&InstanceRecord { ready: false, ..place.workflow_test("b") }, PROVISION, Then::Hold).await;
    place.make(&InstanceRecord { ready: false, ..place.workflow_test("c") }, PROVISION, Then::Fail).await;
    place
        .make(&InstanceRecord { suspended: true, ..place.workflow_test("d") }, DEPROVISION, Then::Succeed)
        .await;
    place.make(&InstanceRecord { kubeconfig: None, ..place.workflow_test("e") }, UPDATE, Then::Succeed).await;
    for id in ["b", "c", "d", "e"] {
        place.world.get(&format!("/kubeconfig/{id}")).await.is(404, "kubeconfig-not-found");
    }
    place.make(&place.workflow_test("f"), DEPROVISION, Then::Succeed).await;
    for id in ["f", "unknown"] {
        place.world.get(&format!("/kubeconfig/{id}")).await.is(404, "runtime-not-found");
    }
    // Sealed for another instance: it does not open, and says nothing about why.
    let stolen =
        InstanceRecord { kubeconfig: place.workflow_test("a").kubeconfig, ..place.workflow_test("g") };
    place.make(&stolen, PROVISION, Then::Succeed).await;
    place.world.get("/kubeconfig/g").await.is(500, "internal");
}

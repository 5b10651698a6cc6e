//! Submitting, listing, showing; the journal; workflows; signals.

use std::time::Duration;

use api::types::{JournalPage, OperationDetail, OperationPage, StepState};
use serde_json::{Value, json};

use crate::world::world;

fn letter(params: &Value) -> Value {
    json!({"workflow": "test.letters", "params": params})
}

#[tokio::test]
async fn an_operation_is_accepted_and_runs_to_its_end() {
    let world = world().await;
    let answer = world.post("/operations", letter(&json!({"then": "succeed"}))).await;
    assert_eq!(answer.status, 202);
    let id = answer.json["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), format!("/operations/{id}"));
    assert_eq!(
        (&answer.json["tenant"], &answer.json["workflow"]),
        (&json!("default"), &json!("test.letters"))
    );
    let shown = world.until(id, "succeeded").await;
    let detail: OperationDetail = serde_json::from_value(shown).unwrap();
    let steps: Vec<(u16, &str, StepState)> =
        detail.steps.iter().map(|step| (step.weight, step.name.as_str(), step.state)).collect();
    let expect = [
        (1, "think", StepState::Done),
        (10, "write", StepState::Done),
        (15, "stamp", StepState::Skipped),
        (20, "post", StepState::Done),
    ];
    assert_eq!(steps, expect);
    assert!(detail.operation.finished_at.is_some() && detail.cause.is_none() && detail.left_over.is_empty());
}

#[tokio::test]
async fn the_same_key_means_the_same_operation() {
    let world = world().await;
    let send = |key: &'static str, then: &'static str| {
        let body = letter(&json!({"then": then, "key": "k"}));
        world
            .call("POST", "/operations")
            .token(&world.admin)
            .header("idempotency-key", key)
            .json(&body)
            .send()
    };
    let first = send("key-1", "wait").await;
    assert_eq!((first.status, first.header("idempotency-replayed")), (202, ""));
    let again = send("key-1", "wait").await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, "true"));
    assert_eq!(again.json["id"], first.json["id"]);
    assert_eq!(again.header("location"), first.header("location"));
    assert_ne!(send("key-2", "wait").await.json["id"], first.json["id"]);
    send("key-1", "fail").await.is(422, "idempotency-key-reused");
    for bad in ["", &"x".repeat(257), &"x".repeat(64 * 1024)] {
        let call = world.call("POST", "/operations").token(&world.admin).header("idempotency-key", bad);
        let answer =
            call.json(&letter(&json!({"then": "succeed"}))).send().await.is(400, "invalid-parameter");
        assert_eq!(answer.json["parameter"], "Idempotency-Key");
    }
}

#[tokio::test]
async fn a_busy_resource_is_refused_or_queued_for() {
    let world = world().await;
    let body = |queue: bool| {
        json!({"workflow": "test.letters", "resource": "desk-1", "tenant": "t", "queue": queue,
               "params": {"then": "wait", "key": "k"}})
    };
    let first = world.post("/operations", body(false)).await;
    assert_eq!((first.status, first.json["resource"].as_str()), (202, Some("desk-1")));
    let busy = world.post("/operations", body(false)).await.is(409, "resource-busy");
    assert_eq!(busy.json["operation"], first.json["id"]);
    let queued = world.post("/operations", body(true)).await;
    assert_eq!((queued.status, &queued.json["phase"]), (202, &json!("pending")));
}

#[tokio::test]
async fn what_the_workflow_does_not_accept_is_refused_with_the_reason() {
    let world = world().await;
    let unknown = json!({"workflow": "test.numbers"});
    let answer = world.post("/operations", unknown).await.is(422, "unknown-workflow");
    assert!(answer.json["detail"].as_str().unwrap().contains("test.letters"), "{}", answer.text);
    for (body, part) in [
        (letter(&json!({"then": "fly"})), "unknown variant `fly`"),
        (json!({"workflow": "test.letters"}), "missing field `then`"),
        (letter(&json!({"then": "succeed", "extra": 1})), "unknown field `extra`"),
        (json!({"workflow": "test.letters", "tenant": "", "params": {"then": "succeed"}}), "tenant"),
        (
            json!({"workflow": "test.letters", "resource": "a\u{0}b", "params": {"then": "succeed"}}),
            "resource",
        ),
        (letter(&json!({"then": "succeed", "key": "x".repeat(300 * 1024)})), "larger than"),
    ] {
        let answer = world.post("/operations", body).await.is(422, "invalid-command");
        assert!(answer.json["detail"].as_str().unwrap().contains(part), "{}", answer.text);
    }
    let misspelt = json!({"workflow": "test.letters", "ressource": "x"});
    let answer = world.post("/operations", misspelt).await.is(400, "invalid-body");
    assert!(answer.json["detail"].as_str().unwrap().contains("`ressource`"), "{}", answer.text);
}

#[tokio::test]
async fn a_list_has_filters_and_pages() {
    let world = world().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let body = json!({"workflow": "test.letters", "tenant": format!("t{}", number % 2),
                          "resource": format!("r{number}"), "params": {"then": "wait", "key": "k"}});
        ids.push(world.post("/operations", body).await.json["id"].as_str().unwrap().to_owned());
    }
    for id in &ids {
        world.until(id, "waiting").await;
    }
    let done = world.run_until(json!({"then": "succeed"}), "succeeded").await;
    ids.push(done.clone());

    let list = async |query: &str| -> Vec<String> {
        let answer = world.get(&format!("/operations{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let page: OperationPage = serde_json::from_value(answer.json).unwrap();
        page.items.into_iter().map(|item| item.id.to_string()).collect()
    };
    let mut newest_first: Vec<String> = list("").await;
    newest_first.sort();
    let mut all = ids.clone();
    all.sort();
    assert_eq!(newest_first, all);
    assert_eq!(list("?phase=succeeded").await, std::slice::from_ref(&done));
    assert_eq!(list("?phase=succeeded,waiting").await.len(), 6);
    assert_eq!(list("?phase=succeeded&phase=waiting&workflow=test.letters").await.len(), 6);
    assert_eq!(list("?tenant=t1").await.len(), 2);
    assert_eq!(list("?resource=r3").await, [ids[3].clone()]);
    assert_eq!(list("?workflow=other").await.len(), 0);
    assert_eq!(
        list("?created_after=2020-01-01T00:00:00Z&created_before=2999-01-01T00:00:00%2B02:00").await.len(),
        6
    );
    assert_eq!(list("?created_before=2020-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(list("?created_after=2999-01-01T00:00:00Z").await.len(), 0);

    let (mut walked, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/operations?limit=4{cursor}")).await.json;
        walked.extend(
            page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let sorted_down = {
        let mut all = all;
        all.reverse();
        all
    };
    assert_eq!(walked, sorted_down);
    let exact = world.get("/operations?limit=6").await.json;
    assert!(exact["next"].is_null(), "no page follows a list that just fits");
}

#[tokio::test]
async fn a_bad_filter_is_refused_by_name_with_what_is_allowed() {
    let world = world().await;
    for (query, parameter, allowed) in [
        ("limit=0", "limit", "1 to 200"),
        ("limit=201", "limit", "1 to 200"),
        ("limit=-1", "limit", "1 to 200"),
        ("limit=5&limit=6", "limit", "more than once"),
        ("phase=done", "phase", "succeeded"),
        ("phase=", "phase", "succeeded"),
        ("created_after=yesterday", "created_after", "2026-01-31T12:00:00Z"),
        ("created_before=2026-13-01T00:00:00Z", "created_before", "2026-01-31T12:00:00Z"),
        ("cursor=%25%25", "cursor", "earlier page"),
        ("cursor=AAAA", "cursor", "earlier page"),
        ("tenant=", "tenant", "1 to 256"),
        ("tenant=a%00b", "tenant", "control characters"),
        ("workflow=a%0Ab", "workflow", "control characters"),
    ] {
        let answer = world.get(&format!("/operations?{query}")).await.is(400, "invalid-parameter");
        assert_eq!(answer.json["parameter"], parameter, "{query}");
        assert!(answer.json["detail"].as_str().unwrap().contains(allowed), "{query}: {}", answer.text);
    }
    let unknown = world.get("/operations?tennant=a").await.is(400, "unknown-parameter");
    assert_eq!(unknown.json["parameter"], "tennant");
    assert!(unknown.json["allowed"].as_array().unwrap().contains(&json!("tenant")), "{}", unknown.text);
    world.get("/workflows?x=1").await.is(400, "unknown-parameter");
    world.get("/tokens?x").await.is(400, "unknown-parameter");
}

#[tokio::test]
async fn secrets_never_come_out_again() {
    let world = world().await;
    let params = json!({"then": "wait", "key": "k", "password": "correct horse battery"});
    let id = world.run_until(params, "waiting").await;
    for path in ["", "/journal", "/explain"] {
        let answer = world.get(&format!("/operations/{id}{path}")).await;
        assert!(
            !answer.text.contains("correct horse") && !answer.text.contains("sealed:"),
            "{}",
            answer.text
        );
    }
    let shown = world.get(&format!("/operations/{id}")).await.json;
    assert_eq!(shown["params"]["password"], "<sealed>");
    assert_eq!(shown["facts"]["write.letter"], json!({"address": "somewhere", "password": "<sealed>"}));
    assert_eq!(shown["state"], json!({"written": 1}));
    let journal = world.get(&format!("/operations/{id}/journal")).await;
    assert!(journal.text.contains("<sealed>"), "{}", journal.text);
}

#[tokio::test]
async fn an_operation_that_waits_or_fails_shows_why() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let shown = world.get(&format!("/operations/{id}")).await.json;
    let post = &shown["steps"][3];
    assert_eq!((&post["state"], &post["cause"]), (&json!("waiting"), &json!("the postman is on his way")));
    assert_eq!(shown["next_attempt"], shown["due_at"]);

    let id = world.run_until(json!({"then": "retry"}), "waiting").await;
    let shown = world.get(&format!("/operations/{id}")).await.json;
    assert_eq!((&shown["steps"][3]["state"], &shown["steps"][3]["attempt"]), (&json!("retrying"), &json!(1)));
    assert_eq!(shown["last_error"]["cause"], "no answer from <b>the external system</b>");

    let id = world.run_until(json!({"then": "fail"}), "undone").await;
    let shown = world.get(&format!("/operations/{id}")).await.json;
    assert_eq!(shown["cause"], "the quota of letters is used up");
    assert_eq!(
        (&shown["steps"][1]["state"], &shown["steps"][3]["state"]),
        (&json!("undone"), &json!("failed"))
    );
    assert_eq!(shown["left_over"], json!([]));

    let id = world.run_until(json!({"then": "stick"}), "stuck").await;
    let shown = world.get(&format!("/operations/{id}")).await.json;
    assert_eq!((&shown["cause"], &shown["left_over"]), (&json!("the bin is full"), &json!(["write"])));
}

#[tokio::test]
async fn an_answer_that_has_not_changed_is_not_sent_again() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let path = format!("/operations/{id}");
    let tag = world.get(&path).await.header("etag").to_owned();
    let ask = || world.call("GET", &path).token(&world.reader).header("if-none-match", &tag).send();
    let same = ask().await;
    assert_eq!((same.status, same.text.as_str(), same.header("etag")), (304, "", tag.as_str()));
    assert_eq!(same.header("cache-control"), "private, no-cache");
    world.call("POST", "/signals/k").token(&world.operator).send().await;
    world.until(&id, "succeeded").await;
    let changed = ask().await;
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), tag);
}

#[tokio::test]
async fn a_journal_is_read_in_pages_and_every_entry_is_a_sentence() {
    let world = world().await;
    let id = world.run_until(json!({"then": "fail"}), "undone").await;
    let path = format!("/operations/{id}/journal");
    let whole: JournalPage = serde_json::from_value(world.get(&path).await.json).unwrap();
    assert!(whole.next.is_none());
    assert_eq!(whole.items[0].text, "ada created it");
    assert_eq!(whole.items[0].kind, "created");
    assert!(whole.items[0].data.get("kind").is_none());
    let last = whole.items.last().unwrap();
    let end =
        "write undone; it failed, and everything it created was undone: the quota of letters is used up";
    assert_eq!((last.kind.as_str(), last.text.as_str()), ("finished", end));
    let (mut walked, mut after) = (Vec::new(), 0);
    loop {
        let page = world.get(&format!("{path}?after={after}&limit=2")).await.json;
        let page: JournalPage = serde_json::from_value(page).unwrap();
        walked.extend(page.items);
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(walked, whole.items);
    let beyond = world.get(&format!("{path}?after=4294967295")).await;
    assert_eq!((beyond.status, &beyond.json["items"]), (200, &json!([])));
    for bad in ["after=-1", "after=4294967296", "limit=0", "limit=501"] {
        world.get(&format!("{path}?{bad}")).await.is(400, "invalid-parameter");
    }
    world.get(&format!("{path}?before=1")).await.is(400, "unknown-parameter");
}

#[tokio::test]
async fn an_operation_that_does_not_exist_is_not_found_and_a_bad_id_is_refused() {
    let world = world().await;
    let unknown = "018f0000-0000-7000-8000-000000000000";
    for path in ["", "/journal", "/events", "/explain"] {
        let answer = world.get(&format!("/operations/{unknown}{path}")).await.is(404, "operation-not-found");
        assert_eq!(answer.json["operation"], unknown);
        for bad in ["", "1", "not-a-uuid", "%00", "%ff", "..%2f..%2fetc", &"9".repeat(5000)] {
            if bad.is_empty() && path.is_empty() {
                world.get("/operations/").await.is(404, "not-found");
                continue;
            }
            world.get(&format!("/operations/{bad}{path}")).await.is(400, "invalid-parameter");
        }
    }
    for verb in ["cancel", "pause", "resume", "retry"] {
        let path = format!("/operations/{unknown}/{verb}");
        world.call("POST", &path).token(&world.operator).send().await.is(404, "operation-not-found");
        let path = format!("/operations/1/{verb}");
        world.call("POST", &path).token(&world.operator).send().await.is(400, "invalid-parameter");
    }
}

#[tokio::test]
async fn a_workflow_shows_its_plan() {
    let world = world().await;
    let all = world.get("/workflows").await.json;
    assert_eq!(all["items"][0]["workflow"], "test.letters");
    let plan = world.get("/workflows/test.letters").await.json;
    assert_eq!(plan, all["items"][0]);
    assert_eq!((&plan["on_failure"], &plan["deadline_seconds"]), (&json!("unwind"), &json!(86400)));
    let expect = json!({"weight": 20, "name": "post", "title": "Posting the letter", "effect": "keyed",
                        "driver": "postman", "conditional": false, "clean_up": false});
    assert_eq!(plan["steps"][3], expect);
    assert_eq!(
        (&plan["steps"][2]["conditional"], &plan["steps"][0]["effect"]),
        (&json!(true), &json!("pure"))
    );
    let missing = world.get("/workflows/test.numbers").await.is(404, "workflow-not-found");
    assert!(missing.json["detail"].as_str().unwrap().contains("test.letters"), "{}", missing.text);
}

#[tokio::test]
async fn a_workflow_says_how_its_steps_were_called() {
    let world = world().await;
    let calls =
        async || world.call("GET", "/workflows/test.letters/calls").token(&world.reader).send().await.json;
    let before = calls().await;
    let names: Vec<_> = before["steps"].as_array().unwrap().iter().map(|step| &step["step"]).collect();
    assert_eq!(names, ["think", "write", "stamp", "post"], "in the order of the plan");
    assert_eq!(
        before["steps"][3],
        json!({"step": "post", "results": {}, "seconds": 0.0, "health": "unknown"})
    );

    world.run_until(json!({"then": "retry"}), "waiting").await;
    let bad = calls().await;
    assert_eq!((&bad["steps"][3]["health"], &bad["steps"][0]["health"]), (&json!("bad"), &json!("good")));
    let names: Vec<_> = bad["steps"][3]["results"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["retried"]);

    world.run_until(json!({"then": "succeed"}), "succeeded").await;
    let mixed = calls().await;
    assert_eq!(
        (&mixed["steps"][3]["health"], &mixed["steps"][3]["results"]["done"]),
        (&json!("mixed"), &json!(1))
    );
    assert!(mixed["steps"][3]["seconds"].as_f64() > Some(0.0), "{mixed}");
    assert_eq!(mixed["steps"][2]["health"], "unknown", "what does not apply is not called");
    world.get("/workflows/test.numbers/calls").await.is(404, "workflow-not-found");
}

#[tokio::test]
async fn a_signal_wakes_who_waits_for_it() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "letter/1 ü"}), "waiting").await;
    let signal = |key: &str| world.call("POST", &format!("/signals/{key}")).token(&world.operator);
    let none = signal("another").json(&json!({"any": ["json", 1]})).send().await;
    assert_eq!((none.status, &none.json), (202, &json!({"woke": 0})));
    let woke = signal("letter%2F1%20%C3%BC").send().await;
    assert_eq!((woke.status, &woke.json), (202, &json!({"woke": 1})));
    world.until(&id, "succeeded").await;
    signal("k").body("{}").send().await.is(415, "unsupported-media-type");
    let json = |body: String| signal("k").header("content-type", "application/json").body(body).send();
    assert_eq!(json(format!("\"{}\"", "x".repeat(64 * 1024 - 2))).await.status, 202);
    json(format!("\"{}\"", "x".repeat(64 * 1024))).await.is(413, "body-too-large");
    json("{".into()).await.is(400, "malformed-json");
    let long = signal(&"k".repeat(257)).send().await.is(400, "invalid-parameter");
    assert_eq!(long.json["parameter"], "key");
}

#[tokio::test]
async fn an_operation_that_was_forgotten_is_not_found() {
    let world = world().await;
    let id = world.run_until(json!({"then": "succeed"}), "succeeded").await;
    let later = world.engine.now().plus(Duration::from_secs(3600));
    engine::store::Store::prune(&*world.store, later).await.unwrap();
    world.get(&format!("/operations/{id}")).await.is(404, "operation-not-found");
    world.get(&format!("/operations/{id}/journal")).await.is(404, "operation-not-found");
}

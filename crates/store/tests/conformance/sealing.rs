use engine::secret::{ExposeSecret, KeyRing, Sealed, SealedCount, Sealer, SharedRing, count_sealed, reseal};
use engine::store::{Create, Expect, RecordUpdate, ResourceWrite, Write};
use engine::{Body, Changes, OperationId};
use serde_json::json;

use crate::fixture::*;
use crate::store_fixture::FullStore;

fn fact(seq: u32, sealed: &Sealed) -> engine::Event {
    let facts = [("token".to_owned(), json!(sealed))].into();
    event(seq, Body::Stepped { changes: Changes { facts, ..Changes::default() }, started: None })
}

async fn record(store: &dyn FullStore, name: &str, text: String) {
    let record_update =
        RecordUpdate { kind: "source".into(), record: text, labels: vec![], gone_at: None, due_at: None };
    let (name, tenant, record_update) = (name.to_owned(), "acme".to_owned(), Some(record_update));
    let write = ResourceWrite { name, tenant, expect: Expect::Absent, record_update, at: at(1) };
    store.commit(Write::Resource(Box::new(write))).await.unwrap();
}

/// Every sealed value in these texts, opened.
fn opened(sealer: &Sealer, texts: &[String]) -> Vec<String> {
    let value = |text: &str| text.split('"').find(|part| part.starts_with("sealed:")).unwrap().to_owned();
    let open = |text: &String| sealer.open(&Sealed::parse(&value(text)).unwrap()).unwrap();
    texts.iter().map(|text| open(text).expose_secret().to_owned()).collect()
}

pub(crate) async fn values_are_sealed_again_but_not_under_a_node_that_works(store: &dyn FullStore) {
    let mut keys = KeyRing::generate();
    let old = keys.active().to_owned();
    let ring = SharedRing::new(keys.clone());
    // What has no resource is sealed for its workflow.
    let (of_workflow, of_source) = (Sealer::new(&ring, "acme\nlaunch"), Sealer::new(&ring, "acme\nsource/1"));
    let secret = |text: &str| of_workflow.seal(&text.into());
    let params = |text: &str| json!({"password": secret(text)}).to_string();

    let node = joined(store).await;
    let works = start(store, node, Create { params: params("works"), ..owned(node) }).await;
    store.commit(append_of(works.id, fact(2, &secret("works")))).await.unwrap();
    let waits = start(store, node, Create { params: params("waits"), ..owned(node) }).await;
    let memory = Some((json!({"facts": {"token": secret("waits")}}).to_string(), 1));
    park(store, engine::store::Park { memory, ..park_of(waits) }).await.unwrap();
    let over = start(store, node, Create { params: params("over"), ..owned(node) }).await;
    store.commit(append_of(over.id, fact(2, &secret("over")))).await.unwrap();
    finish(store, finish_of(over, 3)).await.unwrap();
    record(store, "source/1", json!({"secret": of_source.seal(&"record".into())}).to_string()).await;
    // What a caller wrote and what only looks like a sealed value stops nothing.
    record(store, "source/2", json!({"note": format!("sealed:1:{old}:AAAA")}).to_string()).await;
    for n in 0..20 {
        record(store, &format!("other/{n}"), "{}".into()).await;
    }

    keys.rotate(at(1));
    ring.replace(keys.clone());
    let everything = SealedCount { operations: 3, history: 3, records: 1 };
    assert_eq!(count_sealed(store, &ring, &old).await.unwrap(), everything);
    let (sealed, left) = reseal(store, &ring, &old).await.unwrap();
    assert_eq!(sealed, SealedCount { operations: 2, history: 2, records: 1 });
    assert_eq!(left, SealedCount { operations: 1, history: 1, records: 0 }, "a node works on it");
    assert_eq!(store.resource("source/1").await.unwrap().unwrap().version, 2, "a reader looks again");
    park(store, park_of(works)).await.unwrap();
    let (_, left) = reseal(store, &ring, &old).await.unwrap();
    assert_eq!(left, SealedCount::default());
    assert_eq!(count_sealed(store, &ring, &old).await.unwrap(), SealedCount::default());

    keys.forget(&old).unwrap();
    ring.replace(keys);
    let params = async |id: OperationId| show(store, id).await.params;
    let texts = [params(works.id).await, params(waits.id).await, params(over.id).await];
    assert_eq!(opened(&of_workflow, &texts), ["works", "waits", "over"]);
    let memory = show(store, waits.id).await.memory.unwrap();
    let body = async |id| store.journal(id, 1, 1).await.unwrap()[0].body.to_text();
    let texts = [memory, body(works.id).await, body(over.id).await];
    assert_eq!(opened(&of_workflow, &texts), ["waits", "works", "over"]);
    let record = store.resource("source/1").await.unwrap().unwrap().record;
    assert_eq!(opened(&of_source, &[record]), ["record"]);
}

pub(crate) async fn what_changed_since_it_was_read_is_not_replaced(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = start(store, node, Create { params: "sealed:1:k1:AAAA".into(), ..owned(node) }).await;
    park(store, park_of(hold)).await.unwrap();
    let page = |place| store.sealed_page(place, "sealed:1:k1", None);
    let rows = page(engine::store::SealedColumn::Params).await.unwrap().rows;
    assert_eq!((rows.len(), rows[0].text.as_str()), (1, "sealed:1:k1:AAAA"));
    assert!(store.replace_sealed(&rows[0], "one").await.unwrap());
    assert!(!store.replace_sealed(&rows[0], "two").await.unwrap());
    assert_eq!(show(store, hold.id).await.params, "one");
    assert!(page(engine::store::SealedColumn::Params).await.unwrap().rows.is_empty());
}

pub(crate) async fn unfinished_operations_are_read_as_they_are_saved(store: &dyn FullStore) {
    let node = joined(store).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(running(store, node).await);
    }
    let memory = Some(("{\"round\":0,\"other\":1}".to_owned(), 1));
    park(store, engine::store::Park { memory: memory.clone(), event: Some(stepped(2)), ..park_of(ids[1]) })
        .await
        .unwrap();
    finish(store, finish_of(ids[2], 2)).await.unwrap();
    let saved = store.unfinished(None, 10).await.unwrap();
    assert_eq!(saved.iter().map(|saved| saved.id).collect::<Vec<_>>(), [ids[0].id, ids[1].id]);
    assert_eq!((saved[0].workflow.as_str(), saved[0].params.as_str()), ("launch", "{\"size\":3}"));
    assert_eq!((saved[0].memory.as_ref(), saved[0].events.len()), (None, 1));
    assert_eq!(saved[1].memory, memory.map(|(text, _)| text));
    assert_eq!((saved[1].events.len(), saved[1].events[0].seq), (1, 2));
    assert_eq!(saved[1].events[0].body, stepped(2).body.to_text());
    assert_eq!(store.unfinished(None, 1).await.unwrap(), saved[..1]);
    assert_eq!(store.unfinished(Some(ids[0].id), 10).await.unwrap(), saved[1..]);
}

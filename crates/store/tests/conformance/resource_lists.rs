//! Pages of resources, compared with what a plain filter finds.

use std::collections::{BTreeMap, BTreeSet};

use engine::store::{
    Create, Expect, Finish, LabelQuery, Receipt, RecordUpdate, ResourcePage, ResourceQuery, ResourceRow,
};
use engine::{Phase, Timestamp};

use crate::fixture::*;
use crate::random::StoreRandom;
use crate::resources::{resource_write, row, write};
use crate::store_fixture::FullStore;

const KINDS: [&str; 2] = ["runtime", "endpoint"];
const COUNT: usize = 300;

struct ExpectedResource {
    row: ResourceRow,
    labels: Vec<(String, String)>,
}

fn random_record(dice: &mut StoreRandom) -> RecordUpdate {
    let mut labels = vec![
        ("size".to_owned(), dice.one_of(&["small", "big"]).to_owned()),
        ("owner".to_owned(), format!("owner {}", dice.roll(40))),
    ];
    if dice.chance(30) {
        labels.push(("zone".into(), dice.one_of(&["a", "b", "c"]).to_owned()));
        labels.push(("zone".into(), dice.one_of(&["a", "b", "c"]).to_owned()));
    }
    RecordUpdate {
        kind: dice.one_of(&KINDS).to_owned(),
        record: format!("record {}", dice.roll(1000)),
        labels,
        gone_at: dice.chance(15).then_some(at(500)),
        due_at: dice.chance(40).then(|| at(i64::try_from(dice.roll(50)).unwrap())),
    }
}

/// Resources of all kinds, most of them with an operation that is over or not.
async fn mixture(store: &dyn FullStore) -> Vec<ExpectedResource> {
    let node = joined(store).await;
    let mut dice = StoreRandom(7);
    let mut all = Vec::new();
    for n in 0..COUNT {
        let (name, tenant) = (format!("name {n}"), dice.one_of(&["acme", "beta", "core"]));
        let record_update = random_record(&mut dice);
        let mut subject = resource_write(&name, Expect::Absent, Some(record_update.clone()));
        subject.tenant = tenant.into();
        if dice.chance(20) {
            assert_eq!(write(store, subject).await, Receipt::Saved);
        } else {
            let workflow = dice.one_of(&["launch", "resize"]).to_owned();
            let new = Create { workflow, subject: Some(subject), ..on(&name, owned(node)) };
            let hold = start(store, node, new).await;
            if dice.chance(70) {
                let phase = dice.one_of(&[Phase::Succeeded, Phase::Failed]);
                let end = Finish { phase, settles: Some(name.clone()), ..finish_of(hold, 2) };
                finish(store, end).await.unwrap();
            }
        }
        all.push(ExpectedResource { row: row(store, &name).await, labels: record_update.labels });
    }
    assert!(all.is_sorted_by(|a, b| a.row.number < b.row.number), "numbers are in the order of creation");
    all
}

fn fits(known: &ExpectedResource, query: &ResourceQuery) -> bool {
    let row = &known.row;
    let state = row.workflow.as_ref().zip(row.phase);
    row.kind == query.kind
        && query.tenant.as_ref().is_none_or(|wanted| *wanted == row.tenant)
        && (query.names.is_empty() || query.names.contains(&row.name))
        && query.labels.iter().all(|(key, values)| {
            values.iter().any(|value| known.labels.contains(&(key.clone(), value.clone())))
        })
        && (query.states.is_empty()
            || query.states.iter().any(|(workflow, phases)| {
                state.is_some_and(|(of, phase)| of == workflow && phases.contains(&phase))
            }))
        && (query.also_gone || row.gone_at.is_none())
        && query.due_by.is_none_or(|by| row.due_at.is_some_and(|due_at| due_at <= by))
}

fn expected(all: &[ExpectedResource], query: &ResourceQuery) -> ResourcePage {
    let mut fitting: Vec<&ResourceRow> =
        all.iter().filter(|known| fits(known, query)).map(|known| &known.row).collect();
    if query.due_by.is_some() {
        fitting.sort_by_key(|row| (row.due_at, row.number));
    }
    if query.newest_first {
        fitting.reverse();
    }
    let total = query.counts.then_some(fitting.len() as u64);
    let rest = fitting.into_iter().filter(|row| match query.after {
        Some(last) if query.newest_first => row.number < last,
        Some(last) => row.number > last,
        None => true,
    });
    ResourcePage { rows: rest.skip(query.offset).take(query.limit).cloned().collect(), total }
}

fn random_query(dice: &mut StoreRandom, all: &[ExpectedResource]) -> ResourceQuery {
    let mut labels = Vec::new();
    for (key, values) in [("size", ["small", "big"]), ("owner", ["owner 3", "owner 7"]), ("zone", ["a", "b"])]
    {
        if dice.chance(25) {
            let values = values[..dice.roll(3)].iter().map(|value| (*value).to_owned()).collect();
            labels.push((key.to_owned(), values));
        }
    }
    let mut states = Vec::new();
    for workflow in ["launch", "resize"] {
        if dice.chance(30) {
            let phases = [Phase::Running, Phase::Failed, Phase::Succeeded][dice.roll(4).min(3)..].to_vec();
            states.push((workflow.to_owned(), phases));
        }
    }
    let names = if dice.chance(20) { dice.roll(40) } else { 0 };
    ResourceQuery {
        kind: dice.one_of(&["runtime", "runtime", "endpoint", "nothing"]).into(),
        tenant: dice.chance(30).then(|| dice.one_of(&["acme", "unknown"]).into()),
        names: (0..names).map(|_| format!("name {}", dice.roll(COUNT + 20))).collect(),
        labels,
        states,
        also_gone: dice.chance(30),
        due_by: dice.chance(20).then(|| at(i64::try_from(dice.roll(60)).unwrap())),
        newest_first: dice.chance(40),
        after: dice.chance(30).then(|| all[dice.roll(COUNT)].row.number),
        offset: if dice.chance(30) { dice.roll(10) } else { 0 },
        limit: dice.one_of(&[0, 1, 10, 1000]),
        counts: dice.chance(50),
    }
}

pub(crate) async fn every_filter_finds_what_a_plain_look_finds(store: &dyn FullStore) {
    let all = mixture(store).await;
    let mut dice = StoreRandom(11);
    let mut found_some = 0;
    for _ in 0..400 {
        let query = random_query(&mut dice, &all);
        let found = store.resources(&query).await.unwrap();
        assert_eq!(found, expected(&all, &query), "{query:?}");
        found_some += usize::from(!found.rows.is_empty());
    }
    assert!(found_some > 100, "{found_some} questions say too little");
}

pub(crate) async fn pages_of_resources_have_no_gap_and_no_double(store: &dyn FullStore) {
    let all = mixture(store).await;
    let labels = vec![("size".to_owned(), vec!["small".to_owned()])];
    for (limit, labels, newest_first) in [
        (1, vec![], false),
        (7, labels.clone(), false),
        (7, labels.clone(), true),
        (1000, vec![], false),
        (50, labels, false),
        (50, vec![], true),
    ] {
        let kind = "runtime".to_owned();
        let mut query =
            ResourceQuery { kind, labels, newest_first, limit, counts: true, ..Default::default() };
        let wanted = expected(&all, &ResourceQuery { limit: COUNT, ..query.clone() });
        let mut seen: Vec<ResourceRow> = Vec::new();
        loop {
            let page = store.resources(&query).await.unwrap();
            assert_eq!(page.total, wanted.total, "a cursor does not change the total");
            assert!(page.rows.len() <= limit);
            let Some(last) = page.rows.last() else { break };
            query.after = Some(last.number);
            seen.extend(page.rows);
        }
        assert_eq!(seen, wanted.rows, "pages of {limit}");
        query.after = None;
        query.offset = seen.len() - 1;
        assert_eq!(store.resources(&query).await.unwrap().rows, seen[seen.len() - 1..]);
        query.offset = seen.len();
        let beyond = store.resources(&query).await.unwrap();
        assert_eq!(beyond, ResourcePage { rows: Vec::new(), total: wanted.total });
    }
}

pub(crate) async fn values_of_a_label_are_counted_as_a_plain_look_counts_them(store: &dyn FullStore) {
    let all = mixture(store).await;
    let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    for (kind, key, values) in [
        ("runtime", "size", texts(&["small", "big", "small", "unknown"])),
        ("endpoint", "zone", texts(&["a", "b", "c"])),
        ("runtime", "owner", (0..40).map(|n| format!("owner {n}")).collect()),
        ("runtime", "size", vec![]),
        ("runtime", "unknown", texts(&["small"])),
        ("nothing", "size", texts(&["small"])),
    ] {
        for also_gone in [false, true] {
            let mut wanted = BTreeMap::new();
            for value in values.iter().collect::<BTreeSet<_>>() {
                let labels = vec![(key.to_owned(), vec![value.clone()])];
                let query = ResourceQuery { kind: kind.into(), labels, also_gone, ..Default::default() };
                let count = all.iter().filter(|known| fits(known, &query)).count() as u64;
                if count > 0 {
                    wanted.insert(value.clone(), count);
                }
            }
            let (kind, key, values) = (kind.to_owned(), key.to_owned(), values.clone());
            let query = LabelQuery { kind, key, values, also_gone };
            assert_eq!(store.label_counts(&query).await.unwrap(), wanted, "{query:?}");
        }
    }
}

/// A resource has one value at every moment, and every answer is of one moment.
pub(crate) async fn what_changes_its_value_meanwhile_counts_once(store: &dyn FullStore) {
    let values = ["waiting", "running", "over"];
    let query = LabelQuery {
        kind: "lease".into(),
        key: "progress".into(),
        values: values.map(str::to_owned).to_vec(),
        also_gone: true,
    };
    let record = |value: &str| RecordUpdate {
        kind: "lease".into(),
        record: String::new(),
        labels: vec![("progress".into(), value.into())],
        gone_at: (value == "over").then_some(at(500)),
        due_at: None,
    };
    for n in 0..10 {
        write(store, resource_write(&n.to_string(), Expect::Absent, Some(record("waiting")))).await;
    }
    let changing = async {
        for (version, value) in (1..).zip(["running", "over", "waiting", "running", "over"]) {
            for n in 0..10 {
                let expect = Expect::Version(version);
                write(store, resource_write(&n.to_string(), expect, Some(record(value)))).await;
            }
        }
    };
    let counting = async {
        loop {
            let counts = store.label_counts(&query).await.unwrap();
            assert_eq!(counts.values().sum::<u64>(), 10, "{counts:?}");
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = changing => {}
        never = counting => never,
    }
    assert_eq!(store.label_counts(&query).await.unwrap(), [("over".to_owned(), 10)].into());
}

pub(crate) async fn what_is_due_comes_in_the_order_of_its_time(store: &dyn FullStore) {
    for (n, due_at) in [Some(30), None, Some(10), Some(20), Some(10)].into_iter().enumerate() {
        let due_at: Option<Timestamp> = due_at.map(at);
        let new = RecordUpdate {
            kind: "lease".into(),
            record: String::new(),
            labels: vec![],
            gone_at: None,
            due_at,
        };
        write(store, resource_write(&n.to_string(), Expect::Absent, Some(new))).await;
    }
    let due = async |by, limit| -> Vec<String> {
        let query = ResourceQuery { kind: "lease".into(), due_by: Some(at(by)), limit, ..Default::default() };
        let page = store.resources(&query).await.unwrap();
        assert_eq!(page.total, None);
        page.rows.into_iter().map(|row| row.name).collect()
    };
    assert_eq!(due(9, 10).await, [""; 0]);
    assert_eq!(due(20, 10).await, ["2", "4", "3"]);
    assert_eq!(due(100, 10).await, ["2", "4", "3", "0"]);
    assert_eq!(due(100, 2).await, ["2", "4"]);
}

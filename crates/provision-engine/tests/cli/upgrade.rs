//! A database of an older release is opened, and its operations finish.
//!
//! `tests/data/upgrade` holds the database of the program at commit aba25d8, which was killed while operations of all
//! products were under way, most of them between the intent of a call and its answer. `make.py` there made it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::opennebula::OpenNebulaOptions;
use engine::{Clock, WallClock};
use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::stage::{DataDirectory, Sandbox, call, until_or};

/// The external systems are new and know nothing of what the old program made there.
const OUTCOMES: [(&str, &str); 28] = [
    ("hello: finished", "succeeded"),
    ("hello: waits", "succeeded"),
    ("hello: paused", "succeeded"),
    ("hello: busy", "succeeded"),
    ("hello: queued", "succeeded"),
    ("hello: call", "succeeded"),
    ("hello: retries", "succeeded"),
    // There is no greeting to take back.
    ("hello: undoing", "cancelled"),
    ("runtime: ready", "succeeded"),
    ("runtime: gone", "succeeded"),
    // Its intent is saved. The Director knows no runtime after `settle`, so it is made once.
    ("runtime: call", "succeeded"),
    // The Provisioner has lost the runtime, which is a fault that may heal. An operator gives up.
    ("runtime: waits", "cancelled"),
    ("runtime: update", "cancelled"),
    ("runtime: delete", "succeeded"),
    ("serverless: first", "succeeded"),
    ("serverless: second", "succeeded"),
    ("serverless: gone", "succeeded"),
    ("serverless: delete", "succeeded"),
    ("serverless: document", "succeeded"),
    // Its document is gone, so the service is removed again.
    ("serverless: service", "undone"),
    ("launch: finished", "succeeded"),
    ("launch: build", "succeeded"),
    ("launch: key", "succeeded"),
    ("launch: instances", "succeeded"),
    // EC2 does not know the image that the old Image Builder made.
    ("launch: deferred", "undone"),
    ("instance: terminate", "succeeded"),
    ("notice: 1", "succeeded"),
    ("notice: 2", "succeeded"),
];

/// What is made in the new systems: never two for one operation.
const LEDGER: [(&str, u64, u64); 8] = [
    ("greeter/greet", 3, 3),
    ("provisioner/runtime", 1, 1),
    ("oned/document", 1, 1),
    ("oneflow/service", 2, 1),
    ("oned/vm", 2, 1),
    ("image_builder/compose", 1, 1),
    ("ec2/key_pair", 2, 2),
    ("ec2/instance", 3, 3),
];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/upgrade")
}

/// A place with the old database, in which nothing waits longer than it must.
fn unpacked() -> DataDirectory {
    let place = DataDirectory::new()
        .env("PROVISION_ENGINE_RUNTIME__POLL", "50ms")
        .env("PROVISION_ENGINE_RUNTIME__SETTLE", "300ms")
        .env("PROVISION_ENGINE_SERVERLESS__POLL", "50ms")
        .env("PROVISION_ENGINE_SERVERLESS__SETTLE", "300ms")
        .env("PROVISION_ENGINE_LAUNCH__INSTANCE_POLL", "50ms")
        .env("PROVISION_ENGINE_LAUNCH__SETTLE", "300ms");
    let folder = place.path("data");
    std::fs::create_dir(&folder).unwrap();
    let tar = Command::new("tar").arg("xzf").arg(data().join("data.tar.gz")).arg("-C").arg(&folder).status();
    assert!(tar.unwrap().success());
    bring_to_now(&folder.join("engine.db"));
    place
}

/// Moves every time in the database forward, as if the old program had been killed a moment ago: deadlines and budgets
/// are as far away as they were then.
fn bring_to_now(database: &Path) {
    const TIMES: [(&str, &[&str]); 9] = [
        ("operations", &["due_at", "deadline_at", "created_at", "wish_at"]),
        ("archive", &["created_at", "deadline_at", "finished_at"]),
        ("journal", &["at"]),
        ("nodes", &["lease_until"]),
        ("signals", &["at"]),
        ("idempotency", &["at"]),
        ("tokens", &["created_at", "expires_at"]),
        ("audit", &["at"]),
        ("resources", &["created_at", "updated_at", "gone_at", "due_at"]),
    ];
    const DOCUMENTS: [(&str, &str); 4] =
        [("operations", "memory"), ("archive", "memory"), ("journal", "body"), ("resources", "record")];
    let mut base = Connection::open(database).unwrap();
    let made: i64 = base.query_row("select max(at) from journal", [], |row| row.get(0)).unwrap();
    let by = WallClock.now().0 - made;
    let base = base.transaction().unwrap();
    for (table, columns) in TIMES {
        for column in columns {
            base.execute(&format!("update {table} set {column} = {column} + ?"), [by]).unwrap();
        }
    }
    for (table, column) in DOCUMENTS {
        let mut read = base.prepare(&format!("select rowid, {column} from {table}")).unwrap();
        let rows = read.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let rows: Vec<(i64, Option<String>)> = rows.map(Result::unwrap).collect();
        for (row, text) in rows {
            let Some(text) = text else { continue };
            let mut document = serde_json::from_str(&text).unwrap();
            shift(&mut document, by);
            let change = format!("update {table} set {column} = ? where rowid = ?");
            base.execute(&change, (document.to_string(), row)).unwrap();
        }
    }
    base.commit().unwrap();
}

/// A larger number is a time in microseconds.
const OLDEST_MICROS: i64 = 1_700_000_000_000_000;

fn shift(value: &mut Value, by: i64) {
    match value {
        Value::String(text) => {
            if let Ok(at) = OffsetDateTime::parse(text, &Rfc3339) {
                *text = (at + time::Duration::microseconds(by)).format(&Rfc3339).unwrap();
            }
        }
        Value::Number(number) => {
            if let Some(micros) = number.as_i64().filter(|number| *number > OLDEST_MICROS) {
                *value = json!(micros + by);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| shift(value, by)),
        Value::Object(members) => members.values_mut().for_each(|value| shift(value, by)),
        _ => {}
    }
}

#[test]
fn operations_of_an_older_release_are_finished() {
    let place = unpacked();
    let sandbox = Sandbox::start(&place);
    let OpenNebulaOptions { oned, oneflow, .. } = OpenNebulaOptions::beside(&sandbox.url);
    let place = place
        .env("PROVISION_ENGINE_SERVERLESS__ONED", oned)
        .env("PROVISION_ENGINE_SERVERLESS__ONEFLOW", oneflow);
    let ids: BTreeMap<String, String> =
        serde_json::from_slice(&std::fs::read(data().join("operations.json")).unwrap()).unwrap();
    assert_eq!(ids.len(), OUTCOMES.len());

    let checked = place.expect(0, &["check", "--against-db"]);
    assert!(checked.err.contains("all 19 unfinished"), "{checked:?}");
    let server = place.serve(&["--sandbox-url", &sandbox.url]);
    place.expect(0, &["operations", "resume", &ids["hello: paused"]]);
    // What is saved about them is read: each names what it looks for.
    for (name, lost) in [("runtime: waits", "the operation"), ("runtime: update", "the runtime")] {
        let cause = || {
            let shown = place.json(&["operations", "show", &ids[name]]);
            shown["last_error"]["cause"].as_str().unwrap_or_default().to_owned()
        };
        until_or(|| (cause().contains(lost) && cause().ends_with("was not found")).then_some(()), cause);
        place.expect(0, &["operations", "cancel", &ids[name]]);
    }
    let deferred = place.json(&["operations", "show", &ids["launch: deferred"]]);
    let launch = deferred["resource"].as_str().unwrap().trim_start_matches("launch:");
    let how = ["--source", "sandbox", "--type", "t3.small", "--key", "ada@example"];
    place.expect(0, &[&["launches", "parameters", launch], how.as_slice()].concat());

    for (name, phase) in OUTCOMES {
        let show = || place.json(&["operations", "show", &ids[name]]);
        until_or(
            || (show()["phase"] == phase).then_some(()),
            || format!("{name} is not {phase}: {:#}", show()),
        );
    }
    let summary = call(Method::GET, &format!("{}/ledger/summary", sandbox.url), None);
    for (kind, made, standing) in LEDGER {
        let counted = &summary[kind];
        assert_eq!(
            (&counted["made"], &counted["standing"]),
            (&json!(made), &json!(standing)),
            "{kind}: {summary}"
        );
    }
    server.stop();
}

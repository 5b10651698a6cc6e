//! Reading the records of resources.

use std::collections::BTreeMap;

use engine::store::{LabelQuery, ResourcePage, ResourceQuery, ResourceRow, StoreError};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use serde_json::json;
use uuid::Uuid;

use super::apply::{all, one};
use super::statements::{self as sql, resource};
use crate::resource_search::{FEW, SearchTerm, Sizes, SqlDialect, search, states};
use crate::rows::{self, ResourceText};

pub(super) fn get(db: &Connection, name: &str) -> Result<Option<ResourceRow>, StoreError> {
    one(db, sql::RESOURCE, [name], |row| resource_row(row, 0))?.map(ResourceText::read).transpose()
}

pub(super) fn page(db: &Connection, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
    let (text, given) = search::<Sqlite>(query, &sizes(db, query)?, resource!());
    let read = |row: &Row<'_>| {
        let is_there = row.get::<_, Option<i64>>(1)?.is_some();
        Ok((row.get::<_, Option<i64>>(0)?, if is_there { Some(resource_row(row, 1)?) } else { None }))
    };
    let found = all(db, &text, params_from_iter(given.into_iter().map(value)), read)?;
    let total = found.first().and_then(|(total, _)| *total).map(|total| u64::from(rows::unsigned(total)));
    let rows = found.into_iter().filter_map(|(_, row)| row);
    Ok(ResourcePage { rows: rows.map(ResourceText::read).collect::<Result<_, _>>()?, total })
}

pub(super) fn label_counts(db: &Connection, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
    let values = json!(query.values).to_string();
    let asked = params![query.kind, query.also_gone, query.key, values];
    let found = all(db, sql::LABEL_COUNTS, asked, |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
    Ok(found.into_iter().map(|(value, count)| (value, u64::from(rows::unsigned(count)))).collect())
}

fn sizes(db: &Connection, query: &ResourceQuery) -> Result<Sizes, StoreError> {
    let size = |(key, values): &(String, Vec<String>)| {
        let asked = params![query.kind, query.also_gone, key, json!(values).to_string(), FEW];
        Ok(one(db, sql::LABEL_SIZE, asked, |row| row.get(0))?.unwrap_or_default())
    };
    let labels = query.labels.iter().map(size).collect::<Result<_, StoreError>>()?;
    let (workflows, phases) = states(query);
    let asked = params![query.kind, json!(workflows).to_string(), json!(phases).to_string(), FEW];
    let states =
        if query.states.is_empty() { None } else { one(db, sql::STATES_SIZE, asked, |row| row.get(0))? };
    Ok(Sizes { labels, states: states.unwrap_or_default() })
}

/// Lists are JSON, so that any number of texts is one parameter.
pub(super) struct Sqlite;

impl SqlDialect for Sqlite {
    const FENCE: &'static str = "";
    const RESOURCES_OF_FEW: &'static str = "resources r";

    fn value(n: usize) -> String {
        format!("?{n}")
    }

    fn is_among(n: usize) -> String {
        format!("in (select value from json_each(?{n}))")
    }

    fn pairs(a: usize, b: usize) -> String {
        format!("select a.value, b.value from json_each(?{a}) a join json_each(?{b}) b on b.key = a.key")
    }

    fn in_states(kind: &str, workflows: usize, phases: usize) -> String {
        let pairs = Sqlite::pairs(workflows, phases);
        // Otherwise the order of a page would lead through all that live.
        let from = "resources indexed by resources_state";
        let live = format!("select number from {from} where kind = {kind} and gone_at is null");
        format!("{live} and (workflow, phase) in ({pairs})")
    }

    fn count_in_states(kind: &str, workflows: usize, phases: usize) -> String {
        let numbers = Sqlite::in_states(kind, workflows, phases);
        format!("select count(*) from ({numbers}) s")
    }
}

fn value(given: SearchTerm) -> Value {
    match given {
        SearchTerm::Text(text) => Value::Text(text),
        SearchTerm::Texts(texts) => Value::Text(json!(texts).to_string()),
        SearchTerm::Number(number) => Value::Integer(number),
    }
}

fn resource_row(row: &Row<'_>, first: usize) -> rusqlite::Result<ResourceText> {
    Ok(ResourceText {
        number: row.get(first)?,
        name: row.get(first + 1)?,
        kind: row.get(first + 2)?,
        tenant: row.get(first + 3)?,
        version: row.get(first + 4)?,
        record: row.get(first + 5)?,
        operation: row.get::<_, Option<_>>(first + 6)?.map(Uuid::from_bytes),
        workflow: row.get(first + 7)?,
        phase: row.get(first + 8)?,
        created_at: row.get(first + 9)?,
        updated_at: row.get(first + 10)?,
        gone_at: row.get(first + 11)?,
        due_at: row.get(first + 12)?,
    })
}

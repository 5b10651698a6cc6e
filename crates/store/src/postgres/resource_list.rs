//! Reading the records of resources.

use std::collections::BTreeMap;

use engine::store::{LabelQuery, ResourcePage, ResourceQuery, ResourceRow, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::{Connection, ConnectionRole, IN_ORDER, Param};
use super::questions::{self as sql, resource};
use crate::resource_search::{FEW, SearchTerm, Sizes, SqlDialect, search, states};
use crate::rows::{self, ResourceText};

pub(super) const LISTER: ConnectionRole =
    ConnectionRole { settings: IN_ORDER, statements: &[sql::RESOURCE, sql::SIZES, sql::LABEL_COUNTS] };

pub(super) async fn get(line: &Connection, name: &str) -> Result<Option<ResourceRow>, StoreError> {
    line.read(sql::RESOURCE, &[&name]).await?.first().map(|row| resource_row(row, 0)).transpose()
}

pub(super) async fn page(line: &Connection, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
    let sizes = sizes(line, query).await?;
    let (text, given) = search::<Postgres>(query, &sizes, resource!());
    let given: Vec<(Param<'_>, Type)> = given.iter().map(param).collect();
    let found = line.ask(&text, &given).await?;
    let total = found.first().and_then(|row| row.get::<_, Option<i64>>(0));
    let rows = found.iter().filter(|row| row.get::<_, Option<i64>>(1).is_some());
    Ok(ResourcePage {
        rows: rows.map(|row| resource_row(row, 1)).collect::<Result<_, _>>()?,
        total: total.map(|total| u64::from(rows::unsigned(total))),
    })
}

pub(super) async fn label_counts(
    line: &Connection,
    query: &LabelQuery,
) -> Result<BTreeMap<String, u64>, StoreError> {
    let gone = if query.also_gone { vec![false, true] } else { vec![false] };
    let asked: [Param<'_>; 4] = [&query.kind, &gone, &query.key, &query.values];
    let found = line.read(sql::LABEL_COUNTS, &asked).await?;
    Ok(found.iter().map(|row| (row.get(0), u64::from(rows::unsigned(row.get(1))))).collect())
}

async fn sizes(line: &Connection, query: &ResourceQuery) -> Result<Sizes, StoreError> {
    let mut sizes = Sizes { labels: vec![0; query.labels.len()], states: 0 };
    if query.labels.is_empty() && query.states.is_empty() {
        return Ok(sizes);
    }
    let (mut positions, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (position, (key, wanted)) in query.labels.iter().enumerate() {
        for value in wanted {
            positions.push(rows::rows(position));
            keys.push(key);
            values.push(value);
        }
    }
    let (workflows, phases) = states(query);
    let gone = if query.also_gone { vec![false, true] } else { vec![false] };
    let asked: [Param<'_>; 8] = [&query.kind, &gone, &positions, &keys, &values, &FEW, &workflows, &phases];
    for row in line.read(sql::SIZES, &asked).await? {
        let position = row.get::<_, Option<i64>>(0).and_then(|position| usize::try_from(position).ok());
        let size = match position {
            Some(position) => sizes.labels.get_mut(position),
            None => Some(&mut sizes.states),
        };
        if let Some(size) = size {
            *size += row.get::<_, i64>(1);
        }
    }
    Ok(sizes)
}

pub(super) struct Postgres;

impl SqlDialect for Postgres {
    const FENCE: &'static str = " offset 0";
    const RESOURCES_OF_FEW: &'static str =
        "lateral (select * from resources where number = f.number offset 0) r";

    fn value(n: usize) -> String {
        format!("${n}")
    }

    fn is_among(n: usize) -> String {
        format!("= any(${n})")
    }

    fn pairs(a: usize, b: usize) -> String {
        format!("select * from unnest(${a}, ${b})")
    }

    fn in_states(kind: &str, workflows: usize, phases: usize) -> String {
        format!(
            "select s.number from unnest(${workflows}, ${phases}) as a (workflow, phase)
            cross join lateral (
                select number from resources
                where kind = {kind} and gone_at is null and workflow = a.workflow and phase = a.phase offset 0
            ) s"
        )
    }

    fn count_in_states(kind: &str, workflows: usize, phases: usize) -> String {
        format!(
            "select coalesce(sum(s.size), 0)::int8 from unnest(${workflows}, ${phases}) as a (workflow, phase)
            cross join lateral (
                select count(*) as size from resources
                where kind = {kind} and gone_at is null and workflow = a.workflow and phase = a.phase
            ) s"
        )
    }
}

fn param(given: &SearchTerm) -> (Param<'_>, Type) {
    match given {
        SearchTerm::Text(text) => (text, Type::TEXT),
        SearchTerm::Texts(texts) => (texts, Type::TEXT_ARRAY),
        SearchTerm::Number(number) => (number, Type::INT8),
    }
}

fn resource_row(row: &Row, first: usize) -> Result<ResourceRow, StoreError> {
    let found = ResourceText {
        number: row.get(first),
        name: row.get(first + 1),
        kind: row.get(first + 2),
        tenant: row.get(first + 3),
        version: row.get(first + 4),
        record: row.get(first + 5),
        operation: row.get(first + 6),
        workflow: row.get(first + 7),
        phase: row.get(first + 8),
        created_at: row.get(first + 9),
        updated_at: row.get(first + 10),
        gone_at: row.get(first + 11),
        due_at: row.get(first + 12),
    };
    found.read()
}

//! The question for a page of resources, put so that its cost does not depend on what a planner believes.
//!
//! A search begins at the names, at a label or at the states, where those are few. Otherwise it goes through
//! all that live, in the order of the page, until that is full. Numbers are found in indexes, and only the rows
//! of the page are read.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use engine::store::ResourceQuery;

use crate::rows;

/// What fits fewer resources than this is where a search begins.
pub(crate) const FEW: i64 = 10_000;

/// What the databases say differently.
pub(crate) trait SqlDialect {
    /// Keeps a question within a question from becoming a join.
    const FENCE: &'static str;
    /// The resources `r` of a few numbers `f`, one after the other.
    const RESOURCES_OF_FEW: &'static str;

    /// The parameter with this number.
    fn value(n: usize) -> String;
    /// Is one of the texts that this parameter has.
    fn is_among(n: usize) -> String;
    /// The pairs of the texts that these two parameters have.
    fn pairs(a: usize, b: usize) -> String;
    /// The numbers of all that live of this kind, and whose workflow and phase are one of these pairs. No pair comes
    /// twice.
    fn in_states(kind: &str, workflows: usize, phases: usize) -> String;
    /// How many those are, counted in the index of states, pair by pair.
    fn count_in_states(kind: &str, workflows: usize, phases: usize) -> String;
}

/// A value of a question.
pub(crate) enum SearchTerm {
    Text(String),
    Texts(Vec<String>),
    Number(i64),
}

/// How many resources the filters fit, each up to [`FEW`].
pub(crate) struct Sizes {
    /// In the order of the query.
    pub(crate) labels: Vec<i64>,
    pub(crate) states: i64,
}

/// The text of the question and its values, of which the text has the numbers only. A row of the answer is the
/// total and then `columns` of a resource, which are null when the page is empty.
pub(crate) fn search<T: SqlDialect>(
    query: &ResourceQuery,
    sizes: &Sizes,
    columns: &str,
) -> (String, Vec<SearchTerm>) {
    let mut search = Search::<T> {
        given: Vec::new(),
        starts: Vec::new(),
        filters: Vec::new(),
        labels: Vec::new(),
        in_states: None,
        count_in_states: None,
        dialect: PhantomData,
    };
    search.filter(query, sizes);
    search.label(query, sizes);
    let start = search.starts.iter().min_by_key(|(size, _)| *size).filter(|(size, _)| *size < FEW);
    // Few that have nothing to fulfil but their state: the index of states has their numbers, and no row is read.
    let of_states = search.in_states.as_ref().filter(|_| start.is_some() && search.has_only_states(query));
    let (from, mut wanted) = match (of_states, start) {
        (Some(numbers), _) => (format!("({numbers}) r"), vec!["true".to_owned()]),
        (None, Some((_, few))) => {
            let from = format!("({few}) f cross join {}", T::RESOURCES_OF_FEW);
            (from, [search.filters.clone(), vec!["r.number = f.number".to_owned()]].concat())
        }
        (None, None) => ("resources r".to_owned(), search.filters.clone()),
    };
    wanted.extend(search.labels.iter().map(|label| label.of::<T>("r")));
    let total = match search.counted_in_indexes(query) {
        _ if !query.counts => "cast(null as bigint)".to_owned(),
        // What many fit is counted in the indexes alone.
        Some(count) if start.is_none() || of_states.is_some() => format!("({count})"),
        _ => format!("(select count(*) from {from} where {})", wanted.join(" and ")),
    };
    let (is_after, direction) = if query.newest_first { ("<", " desc") } else { (">", "") };
    if let Some(after) = query.after {
        wanted.push(format!("r.number {is_after} {}", search.value(SearchTerm::Number(after))));
    }
    let wanted = wanted.join(" and ");
    let due = if query.due_by.is_some() { format!("r.due_at{direction}, ") } else { String::new() };
    let order = format!("{due}r.number{direction}");
    let limit = search.value(SearchTerm::Number(rows::rows(query.limit)));
    let offset = search.value(SearchTerm::Number(rows::rows(query.offset)));
    let text = format!(
        "select t.total, {columns} from (select {total} as total) t
        left join (
            select r.number from {from} where {wanted} order by {order} limit {limit} offset {offset}
        ) p on true
        left join resources r on r.number = p.number
        order by {order}"
    );
    (text, search.given)
}

/// A question that is being put together.
struct Search<T> {
    given: Vec<SearchTerm>,
    /// Where it may begin: numbers, and about how many of them.
    starts: Vec<(i64, String)>,
    /// What a resource `r` has to be, besides its labels.
    filters: Vec<String>,
    /// The one that fits the fewest comes first.
    labels: Vec<Label>,
    /// The numbers of all that are in the wanted states, and how many there are.
    in_states: Option<String>,
    count_in_states: Option<String>,
    dialect: PhantomData<T>,
}

/// What a filter says about a row of `resource_labels`.
struct Label {
    text: String,
    size: i64,
    /// Otherwise two of its values may be of the same resource.
    is_single: bool,
}

impl Label {
    fn of<T: SqlDialect>(&self, table: &str) -> String {
        let (text, fence) = (&self.text, T::FENCE);
        format!("exists (select 1 from resource_labels where {text} and number = {table}.number{fence})")
    }
}

impl<T: SqlDialect> Search<T> {
    fn add(&mut self, given: SearchTerm) -> usize {
        self.given.push(given);
        self.given.len()
    }

    fn value(&mut self, given: SearchTerm) -> String {
        T::value(self.add(given))
    }

    fn has_only_states(&self, query: &ResourceQuery) -> bool {
        self.in_states.is_some() && self.labels.is_empty() && !has_more(query)
    }

    /// How many fit, from indexes that hold nothing else, where all filters have one.
    fn counted_in_indexes(&self, query: &ResourceQuery) -> Option<String> {
        let has_states = query.states.is_empty() || self.in_states.is_some();
        if has_more(query) || !has_states {
            return None;
        }
        if self.labels.is_empty() {
            return self.count_in_states.clone();
        }
        let of = |label: &Label| format!("select number from resource_labels where {}", label.text);
        let sets: Vec<String> = self.labels.iter().map(of).chain(self.in_states.clone()).collect();
        let numbers = match sets.as_slice() {
            [one] if self.labels[0].is_single => one.clone(),
            [one] => format!("select distinct number from ({one}) x"),
            several => several.join(" intersect "),
        };
        Some(format!("select count(*) from ({numbers}) s"))
    }

    fn filter(&mut self, query: &ResourceQuery, sizes: &Sizes) {
        let kind = self.value(SearchTerm::Text(query.kind.clone()));
        self.filters.push(format!("r.kind = {kind}"));
        if !query.also_gone {
            self.filters.push("r.gone_at is null".into());
        }
        if let Some(tenant) = &query.tenant {
            let tenant = self.value(SearchTerm::Text(tenant.clone()));
            self.filters.push(format!("r.tenant = {tenant}"));
        }
        if !query.names.is_empty() {
            let names = T::is_among(self.add(SearchTerm::Texts(query.names.clone())));
            self.starts.push((0, format!("select number from resources where name {names}{}", T::FENCE)));
        }
        if !query.states.is_empty() {
            let (workflows, phases) = states(query);
            let (workflows, phases) =
                (self.add(SearchTerm::Texts(workflows)), self.add(SearchTerm::Texts(phases)));
            let pairs = T::pairs(workflows, phases);
            self.filters.push(format!("((r.workflow, r.phase) in ({pairs})) is true"));
            if !query.also_gone {
                let numbers = T::in_states(&kind, workflows, phases);
                self.in_states = Some(numbers.clone());
                self.count_in_states = Some(T::count_in_states(&kind, workflows, phases));
                self.starts.push((sizes.states, numbers));
            }
        }
        if let Some(by) = query.due_by {
            let by = self.value(SearchTerm::Number(by.0));
            self.filters.push(format!("r.due_at <= {by}"));
        }
    }

    fn label(&mut self, query: &ResourceQuery, sizes: &Sizes) {
        let (kind, gone) = (T::value(1), if query.also_gone { "in (false, true)" } else { "= false" });
        for ((key, values), size) in query.labels.iter().zip(&sizes.labels) {
            let key = self.value(SearchTerm::Text(key.clone()));
            let among = T::is_among(self.add(SearchTerm::Texts(values.clone())));
            let text = format!("kind = {kind} and gone {gone} and key = {key} and value {among}");
            let few = format!("select number from resource_labels where {text}{}", T::FENCE);
            self.starts.push((*size, format!("select distinct number from ({few}) x")));
            self.labels.push(Label { text, size: *size, is_single: values.len() == 1 });
        }
        self.labels.sort_by_key(|label| label.size);
    }
}

/// Whether there are filters besides labels and states.
fn has_more(query: &ResourceQuery) -> bool {
    query.tenant.is_some() || !query.names.is_empty() || query.due_by.is_some()
}

/// The states of a query as pairs of a workflow and a phase, each once: what is counted pair by pair must not be counted
/// twice.
pub(crate) fn states(query: &ResourceQuery) -> (Vec<String>, Vec<String>) {
    let lines = query.states.iter();
    let pairs = lines.flat_map(|(of, phases)| phases.iter().map(|phase| (of.clone(), phase.to_string())));
    pairs.collect::<BTreeSet<_>>().into_iter().unzip()
}

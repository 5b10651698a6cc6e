//! Chooses instance types by an expression such as `vcpus = 2 and memory < 4000`, or by a part of their name.

mod parser;
mod words;

use std::cmp::Ordering;

use cloud::Architecture;

use super::TypeEntry;

/// Long enough for anything that a person types.
const TEXT_BYTES_MAX: usize = 512;
/// How deep parentheses and `not` may nest.
const DEPTH_MAX: usize = 16;

/// A text that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    condition: Condition,
}

/// What is wrong with an expression, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("character {at}: expected {expected}, found {found}")]
pub struct SearchError {
    /// Counted from 1.
    pub at: usize,
    pub expected: String,
    pub found: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Number {
        of: SearchNumber,
        is: Comparison,
        value: u64,
    },
    /// In lower case.
    NameHas(String),
    NameIs(String),
    Architecture(Architecture),
    Supported,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchNumber {
    Vcpus,
    Cores,
    Memory,
    Storage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    /// A part of the name.
    Like,
}

impl Search {
    /// A text without any comparison is a part of the name, in lower or upper case.
    pub fn parse(text: &str) -> Result<Search, SearchError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(SearchError {
                at: 1,
                expected: format!("at most {TEXT_BYTES_MAX} bytes"),
                found: format!("{} bytes", text.len()),
            });
        }
        let condition = if text.contains(['=', '<', '>', '!', '~']) {
            parser::parse(text)?
        } else {
            Condition::NameHas(text.trim().to_ascii_lowercase())
        };
        Ok(Search { condition })
    }

    pub fn fits(&self, entry: &TypeEntry) -> bool {
        self.condition.holds(entry)
    }
}

impl Condition {
    /// No deeper than the text was nested.
    fn holds(&self, entry: &TypeEntry) -> bool {
        match self {
            Condition::All(all) => all.iter().all(|one| one.holds(entry)),
            Condition::Any(any) => any.iter().any(|one| one.holds(entry)),
            Condition::Not(one) => !one.holds(entry),
            Condition::Number { of, is, value } => is.holds(of.of(entry).cmp(value)),
            Condition::NameHas(part) => entry.name.to_ascii_lowercase().contains(part),
            Condition::NameIs(name) => entry.name.eq_ignore_ascii_case(name),
            Condition::Architecture(architecture) => entry.architecture == *architecture,
            Condition::Supported => entry.is_supported(),
        }
    }
}

impl SearchNumber {
    fn of(self, entry: &TypeEntry) -> u64 {
        match self {
            SearchNumber::Vcpus => entry.vcpus.into(),
            SearchNumber::Cores => entry.cores.into(),
            SearchNumber::Memory => entry.memory_mib,
            SearchNumber::Storage => entry.storage_gb,
        }
    }
}

impl Comparison {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal | Comparison::Like => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::AtMost => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::AtLeast => ordering.is_ge(),
        }
    }
}

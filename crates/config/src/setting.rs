//! One row of the table of settings.

use std::fmt;

use crate::period::Period;

/// What a setting is called, what it is when it is not set, what it may be, and what it does.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Dotted path; a last part of `*` stands for any name.
    pub path: &'static str,
    pub default: Preset,
    pub kind: ValueKind,
    pub doc: &'static str,
    /// Whether a value names a system outside this program.
    pub is_external: bool,
}

impl Setting {
    /// The same row where its kind does not say whether it names a system outside this program.
    #[must_use]
    pub const fn external(self, is_external: bool) -> Setting {
        Setting { is_external, ..self }
    }
}

/// What a setting is when it is not set.
#[derive(Debug, Clone, Copy)]
pub enum Preset {
    /// This text, read like the value of an environment variable.
    Is(&'static str),
    /// Nothing: the setting is optional.
    Nothing,
    /// A file in the data directory.
    InDataDir(&'static str),
    /// The place where the system keeps the state of programs, which depends on the user.
    StateDir,
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preset::Is(text) => f.write_str(text),
            Preset::Nothing => f.write_str("none"),
            Preset::InDataDir(name) => write!(f, "DATA_DIR/{name}"),
            Preset::StateDir => f.write_str("depends on the user"),
        }
    }
}

/// What a setting may be. Its words appear in error messages and in the manual.
#[derive(Debug, Clone, Copy)]
pub enum ValueKind {
    Address,
    Switch,
    Whole(u64, u64),
    Time(Period, Period),
    Path,
    Url,
    Database,
    /// One line.
    Text,
    Filter,
    OneOf(&'static [&'static str]),
    /// A map whose keys are names of the operator, so that it is one value. The text says what is in it.
    Map(&'static str),
    SomeOf(&'static [&'static str]),
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueKind::Address => f.write_str("an address such as 127.0.0.1:1337"),
            ValueKind::Switch => f.write_str("true or false"),
            ValueKind::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            ValueKind::Time(least, most) => write!(f, "a time from {least} to {most}"),
            ValueKind::Path => f.write_str("a path"),
            ValueKind::Url => f.write_str("a URL that begins with http:// or https://"),
            ValueKind::Database => f.write_str("postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH"),
            ValueKind::Text => f.write_str("a text of one line"),
            ValueKind::Filter => f.write_str(
                "a level (error, warn, info, debug, trace, off) or pairs such as engine=debug,info",
            ),
            ValueKind::OneOf(names) => write!(f, "one of {}", names.join(", ")),
            ValueKind::Map(text) => f.write_str(text),
            ValueKind::SomeOf(names) => write!(f, "a list of {}", names.join(", ")),
        }
    }
}

impl ValueKind {
    /// Whether a variable's or flag's text is the value itself. Reading such text as YAML could cut a
    /// password at a `#` or turn a path of digits into a number.
    pub fn is_plain_text(self) -> bool {
        !matches!(self, ValueKind::Switch | ValueKind::Whole(..) | ValueKind::Map(_) | ValueKind::SomeOf(_))
    }
}

/// A row.
pub const fn set(path: &'static str, default: Preset, kind: ValueKind, doc: &'static str) -> Setting {
    Setting { path, default, kind, doc, is_external: matches!(kind, ValueKind::Url | ValueKind::Database) }
}

pub const SECOND: Period = Period::seconds(1);
pub const HOUR: Period = Period::hours(1);
pub const DAY: Period = Period::days(1);
pub const YEAR: Period = Period::days(365);

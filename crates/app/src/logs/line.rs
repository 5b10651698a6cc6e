//! One log line: what it says, and its two written forms.

use std::fmt::{self, Write};

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata};

/// Names that every line has itself. A field of the same name gets an underscore, so that a JSON line never
/// has two values for one name.
const OWN_NAMES: [&str; 4] = ["time", "level", "target", "message"];

/// The fields of a span or an event in the order in which they came; a later value replaces an earlier one.
#[derive(Default)]
pub(super) struct Fields {
    message: Option<String>,
    rest: Vec<(&'static str, Value)>,
}

impl Fields {
    pub(super) fn extend(&mut self, other: &Fields) {
        for (name, value) in &other.rest {
            self.set(name, value.clone());
        }
    }

    fn set(&mut self, name: &'static str, value: Value) {
        match self.rest.iter_mut().find(|(known, _)| *known == name) {
            Some((_, slot)) => *slot = value,
            None => self.rest.push((name, value)),
        }
    }

    fn put(&mut self, field: &Field, value: Value) {
        if field.name() == "message" {
            self.message = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        } else {
            self.set(field.name(), value);
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.rest.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The message and then every field, on one line.
    pub(super) fn write(&self, text: &mut String) {
        escape(text, self.message.as_deref().unwrap_or_default());
        for (name, value) in &self.rest {
            text.push(' ');
            text.push_str(name);
            text.push('=');
            match value {
                Value::String(value) if is_one_word(value) => text.push_str(value),
                Value::String(value) => escape(text, &format!("{value:?}")),
                // Writing to a string cannot fail.
                other => drop(write!(text, "{other}")),
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let index = self.rest.iter().position(|(known, _)| *known == name)?;
        Some(self.rest.remove(index).1)
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(error) = source {
            // Writing to a string cannot fail.
            let _ = write!(text, ": {error}");
            source = error.source();
        }
        self.put(field, text.into());
    }
}

pub(super) struct LogLine {
    pub(super) level: Level,
    time: String,
    target: String,
    fields: Fields,
}

impl LogLine {
    pub(super) fn new(time: String, metadata: &Metadata<'_>, mut fields: Fields) -> LogLine {
        let mut target = metadata.target().to_owned();
        // Lines of libraries that use the `log` crate share one target and have their own as a field.
        if let Some(own) = fields.take("log.target") {
            own.as_str().unwrap_or("log").clone_into(&mut target);
            for name in ["log.module_path", "log.file", "log.line"] {
                fields.take(name);
            }
        }
        LogLine { level: *metadata.level(), time, target, fields }
    }

    /// `2026-01-02T03:04:05.678901Z  INFO engine::runner: said hello operation.id=42`
    pub(super) fn text(&self) -> String {
        let LogLine { level, time, .. } = self;
        format!("{time} {level:>5} {}", self.text_without_time())
    }

    /// The form for outputs that add time and level themselves.
    pub(super) fn text_without_time(&self) -> String {
        let mut text = format!("{}: ", self.target);
        self.fields.write(&mut text);
        text
    }

    pub(super) fn json(&self) -> String {
        let mut text = String::from("{");
        let own: [Value; 4] = [
            self.time.as_str().into(),
            self.level.as_str().into(),
            self.target.as_str().into(),
            self.fields.message.as_deref().unwrap_or_default().into(),
        ];
        for (name, value) in OWN_NAMES.iter().zip(own) {
            member(&mut text, name, &value);
        }
        for (name, value) in &self.fields.rest {
            if OWN_NAMES.contains(name) {
                member(&mut text, &format!("{name}_"), value);
            } else {
                member(&mut text, name, value);
            }
        }
        text.push('}');
        text
    }
}

fn member(text: &mut String, name: &str, value: &Value) {
    if text.len() > 1 {
        text.push(',');
    }
    // Writing to a string cannot fail, and a `Value` prints as JSON.
    let _ = write!(text, "{}:{value}", Value::from(name));
}

fn is_one_word(value: &str) -> bool {
    !value.is_empty()
        && !value.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'=\\".contains(c))
}

/// What comes from outside must not be able to begin a line of its own or command the terminal.
pub(super) fn escape(text: &mut String, part: &str) {
    for c in part.chars() {
        if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
    }
}

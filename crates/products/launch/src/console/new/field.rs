//! One field of a form: its label, what it holds, what helps, and what is wrong with it.

use askama::Template;
use askama::filters::HtmlSafe;
use console::Flaw;

/// What is said below a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Template)]
#[template(path = "new/said.html")]
pub(crate) struct Said {
    pub(crate) good: Option<String>,
    pub(crate) bad: Option<String>,
}

impl Said {
    pub(crate) fn good(text: impl Into<String>) -> Said {
        Said { good: Some(text.into()), bad: None }
    }
}

impl From<Option<Flaw>> for Said {
    fn from(flaw: Option<Flaw>) -> Said {
        let bad = flaw.map(|flaw| match flaw.hint {
            Some(hint) => format!("{} {}", sentence(&flaw.text), sentence(&hint)),
            None => sentence(&flaw.text),
        });
        Said { good: None, bad }
    }
}

impl HtmlSafe for Said {}

/// As a sentence begins and ends.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.trim().chars();
    let text: String = chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect();
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

#[derive(Template)]
#[template(path = "new/field.html")]
pub(crate) struct Field {
    name: &'static str,
    label: &'static str,
    value: String,
    hint: &'static str,
    kind: &'static str,
    list: Vec<String>,
    rows: u32,
    is_live: bool,
    drops: bool,
    said: Said,
}

impl HtmlSafe for Field {}

impl Field {
    pub(crate) fn new(name: &'static str, label: &'static str, value: &str, said: Said) -> Field {
        Field {
            name,
            label,
            value: value.to_owned(),
            hint: "",
            kind: "text",
            list: Vec::new(),
            rows: 0,
            is_live: false,
            drops: false,
            said,
        }
    }

    pub(crate) fn hint(self, hint: &'static str) -> Field {
        Field { hint, ..self }
    }

    /// What may be chosen beside what may be typed.
    pub(crate) fn list<T: ToString>(self, list: &[T]) -> Field {
        Field { list: list.iter().map(T::to_string).collect(), ..self }
    }

    /// With several lines.
    pub(crate) fn tall(self, rows: u32) -> Field {
        Field { rows, ..self }
    }

    /// A file may be dropped on it.
    pub(crate) fn drops(self) -> Field {
        Field { drops: true, ..self }
    }

    /// It is looked at while somebody types.
    pub(crate) fn live(self) -> Field {
        Field { is_live: true, ..self }
    }

    /// Nobody is shown what is in it.
    pub(crate) fn secret(self) -> Field {
        Field { kind: "password", value: String::new(), ..self }
    }

    fn described(&self) -> String {
        let hint = if self.hint.is_empty() { String::new() } else { format!("{}-hint ", self.name) };
        format!("{hint}{}-said", self.name)
    }

    fn is_bad(&self) -> bool {
        self.said.bad.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_says_what_is_wrong_and_keeps_what_was_typed() {
        let flaw = Flaw { field: "name".into(), text: "must be short".into(), hint: Some("Try x.".into()) };
        let text = Field::new("name", "Name", "<long>", Said::from(Some(flaw))).hint("Any.").to_string();
        assert!(text.contains("Must be short. Try x.") && text.contains("aria-invalid"), "{text}");
        assert!(text.contains("&#60;long&#62;") || text.contains("&lt;long&gt;"), "{text}");
        assert!(text.contains(r#"aria-describedby="name-hint name-said""#), "{text}");
    }

    #[test]
    fn a_secret_is_not_sent_back() {
        let text = Field::new("secret", "Secret", "hunter2", Said::default()).secret().to_string();
        assert!(!text.contains("hunter2"), "{text}");
    }
}

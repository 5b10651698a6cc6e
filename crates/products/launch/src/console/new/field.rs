//! One field of a form: its label, what it holds, what helps, and what is wrong with it.

use askama::Template;
use askama::filters::HtmlSafe;
use console::{Fields, FormError, PageError};

/// What is said below a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Template)]
#[template(path = "new/said.html")]
pub(crate) struct FieldNote {
    pub(crate) good: Option<String>,
    pub(crate) bad: Option<String>,
}

impl FieldNote {
    pub(crate) fn good(text: impl Into<String>) -> FieldNote {
        FieldNote { good: Some(text.into()), bad: None }
    }
}

impl From<Option<FormError>> for FieldNote {
    fn from(field_error: Option<FormError>) -> FieldNote {
        let bad = field_error.map(|field_error| match field_error.hint {
            Some(hint) => format!("{} {}", sentence(&field_error.text), sentence(&hint)),
            None => sentence(&field_error.text),
        });
        FieldNote { good: None, bad }
    }
}

impl HtmlSafe for FieldNote {}

/// As a sentence begins and ends.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.trim().chars();
    let text: String = chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect();
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

#[derive(Template)]
#[template(path = "new/field.html")]
pub(crate) struct FormField {
    name: &'static str,
    label: &'static str,
    value: String,
    hint: &'static str,
    kind: &'static str,
    list: Vec<String>,
    rows: u32,
    is_live: bool,
    drops: bool,
    said: FieldNote,
}

impl HtmlSafe for FormField {}

impl FormField {
    pub(crate) fn new(name: &'static str, label: &'static str, value: &str, said: FieldNote) -> FormField {
        FormField {
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

    /// With what was typed, and with what is wrong with it.
    pub(crate) fn typed(
        name: &'static str,
        label: &'static str,
        typed: &Fields,
        page_error: Option<&PageError>,
    ) -> FormField {
        let mut field_errors = page_error.into_iter().flat_map(|page_error| &page_error.field_errors);
        let field_error = field_errors.find(|field_error| field_error.field == name).cloned();
        FormField::new(name, label, typed.text(name), field_error.into())
    }

    pub(crate) fn hint(self, hint: &'static str) -> FormField {
        FormField { hint, ..self }
    }

    /// What may be chosen beside what may be typed.
    pub(crate) fn list<T: ToString>(self, list: &[T]) -> FormField {
        FormField { list: list.iter().map(T::to_string).collect(), ..self }
    }

    /// With several lines.
    pub(crate) fn tall(self, rows: u32) -> FormField {
        FormField { rows, ..self }
    }

    /// A file may be dropped on it.
    pub(crate) fn drops(self) -> FormField {
        FormField { drops: true, ..self }
    }

    /// It is checked while the user types.
    pub(crate) fn live(self) -> FormField {
        FormField { is_live: true, ..self }
    }

    /// Its content is never shown.
    pub(crate) fn secret(self) -> FormField {
        FormField { kind: "password", value: String::new(), ..self }
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
        let field_error =
            FormError { field: "name".into(), text: "must be short".into(), hint: Some("Try x.".into()) };
        let text = FormField::new("name", "Name", "<long>", FieldNote::from(Some(field_error)))
            .hint("Any.")
            .to_string();
        assert!(text.contains("Must be short. Try x.") && text.contains("aria-invalid"), "{text}");
        assert!(text.contains("&#60;long&#62;") || text.contains("&lt;long&gt;"), "{text}");
        assert!(text.contains(r#"aria-describedby="name-hint name-said""#), "{text}");
    }

    #[test]
    fn a_secret_is_not_sent_back() {
        let text = FormField::new("secret", "Secret", "hunter2", FieldNote::default()).secret().to_string();
        assert!(!text.contains("hunter2"), "{text}");
    }
}

//! A form that is made from a JSON Schema, and what was typed into it.

mod field;

use askama::Template;
use askama::filters::HtmlSafe;
use serde_json::{Map, Value};

use crate::fields::Fields;
use field::SchemaField;

/// Where all names begin.
const ROOT: &str = "p";

/// Fields for the properties of a schema.
#[derive(Debug, Clone, PartialEq, Template)]
#[template(path = "schema_form/form.html")]
pub struct SchemaForm {
    pub fields: Vec<SchemaField>,
    empty: Vec<SchemaField>,
}

impl HtmlSafe for SchemaForm {}

impl SchemaForm {
    /// Empty, but for defaults.
    pub fn new(schema: &Value) -> SchemaForm {
        let fields = SchemaField::all_of(ROOT, schema, 0);
        SchemaForm { empty: fields.clone(), fields }
    }

    /// For a change: the values in force, and nothing has to be typed. Where nothing was asked for, that of the plan
    /// is in force.
    pub fn of_present(schema: &Value, present: &Map<String, Value>) -> SchemaForm {
        let mut form = SchemaForm::new(schema);
        for field in &mut form.fields {
            let key = field.name.strip_prefix("p.").unwrap_or_default().to_owned();
            if let Some(value) = present.get(&key) {
                field.show(value);
            }
        }
        form
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub fn is_good(&self) -> bool {
        !self.fields.iter().any(SchemaField::has_error)
    }

    /// Takes what was typed, and keeps it. What cannot be read is noted at its field.
    pub fn take(&mut self, posted: &Fields) -> Map<String, Value> {
        let mut all = Map::new();
        for field in &mut self.fields {
            let key = field.name.strip_prefix("p.").unwrap_or_default().to_owned();
            match field.take(posted) {
                Some(value) => {
                    all.insert(key, value);
                }
                None if field.required && field.error.is_none() => {
                    field.error = Some("It is required.".to_owned());
                }
                None => {}
            }
        }
        all
    }

    /// Puts each thing that the broker finds wrong at the field that it is about. Answers what is about none.
    pub fn blame(&mut self, said: &str) -> Option<String> {
        let mut left = Vec::new();
        for part in split(said) {
            let (name, text) = about(part);
            let is_assigned = self.fields.iter_mut().any(|field| field.blame(&name, &text));
            if !is_assigned {
                left.push(part.to_owned());
            }
        }
        (!left.is_empty()).then(|| left.join("; "))
    }

    /// The same for the params of an operation, where a complaint begins with the name of its param.
    pub fn blame_params(&mut self, said: &str) -> Option<String> {
        let mut left = Vec::new();
        for part in said.split("; ") {
            let (name, text) = about_param(part);
            let is_assigned = self.fields.iter_mut().any(|field| field.blame(&name, &text));
            if !is_assigned {
                left.push(part);
            }
        }
        (!left.is_empty()).then(|| left.join("; "))
    }

    /// Those that are shown at once.
    pub fn first(&self) -> impl Iterator<Item = &SchemaField> {
        self.fields.iter().filter(|field| field.required)
    }

    pub fn others(&self) -> impl Iterator<Item = &SchemaField> {
        self.fields.iter().filter(|field| !field.required)
    }

    pub fn has_others(&self) -> bool {
        self.others().next().is_some()
    }

    /// Whether something is in those that are folded away.
    pub fn is_open(&self) -> bool {
        let pairs = self.fields.iter().zip(&self.empty);
        self.first().next().is_none()
            || pairs.filter(|(field, _)| !field.required).any(|(field, empty)| field.is_open(empty))
    }
}

/// The broker puts several complaints into one line, and a complaint may have a semicolon too.
fn split(said: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = said;
    while let Some(at) = rest.find("; parameters") {
        parts.push(&rest[..at]);
        rest = &rest[at + 2..];
    }
    parts.push(rest);
    parts
}

/// The name of the field that a complaint is about, and the rest of it.
fn about(part: &str) -> (String, String) {
    let Some((pointer, text)) = part.split_once(": ") else { return (String::new(), part.to_owned()) };
    let Some(path) = pointer.strip_prefix("parameters") else { return (String::new(), part.to_owned()) };
    // The number of an item says nothing here: all items are in one field.
    let is_number = |step: &&str| step.parse::<usize>().is_ok();
    let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty() && !is_number(step)).collect();
    let mut name = [&[ROOT], steps.as_slice()].concat().join(".");
    let missing = text.strip_suffix(" is missing").filter(|property| !property.contains(' '));
    let text = match missing {
        Some(property) => {
            name = format!("{name}.{}", property.trim_matches('"'));
            "It is required.".to_owned()
        }
        None => sentence(text),
    };
    (name, text)
}

/// Such as `size: must be small`, `name must have 1 to 200 characters`, or `"team" is a required property`.
fn about_param(part: &str) -> (String, String) {
    let (pointer, text) = match (part.split_once(": "), part.split_once(' ')) {
        (Some((pointer, text)), _) if !pointer.contains(' ') => (pointer, text),
        (_, Some((pointer, text))) => (pointer, text),
        _ => (part, ""),
    };
    let pointer = format!("{ROOT}.{}", pointer.trim_matches('"'));
    if text == "is a required property" {
        return (pointer, "It is required.".to_owned());
    }
    match text.strip_suffix(" is a required property") {
        Some(inner) => (format!("{pointer}.{}", inner.trim_matches('"')), "It is required.".to_owned()),
        None => (pointer, sentence(text)),
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let text = text.strip_prefix("value ").unwrap_or(text);
    if text.starts_with("must ")
        || text.starts_with("has ")
        || text.starts_with("does ")
        || text.starts_with("is ")
    {
        format!("It {text}.")
    } else {
        format!("{text}.")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::field::FieldKind;
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object", "required": ["name", "region"],
            "properties": {
                "zones": {"type": "array", "items": {"type": "string"}},
                "region": {"type": "string", "enum": ["eu", "us"], "_enumDisplayName": {"eu": "Europe"}},
                "name": {"type": "string", "title": "Name", "minLength": 1, "maxLength": 64, "pattern": "^a"},
                "max": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                "ratio": {"type": ["null", "number"]},
                "open": {"type": "boolean"},
                "oidc": {"type": "object", "required": ["client"],
                         "properties": {"client": {"type": "string"}, "algs": {"type": "array", "items": {"type": "string"}}}},
                "rules": {"type": "array", "items": {"type": "object"}},
            },
        })
    }

    fn posted(pairs: &[(&str, &str)]) -> Fields {
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Fields::from(pairs)
    }

    fn find<'a>(form: &'a SchemaForm, name: &str) -> &'a SchemaField {
        form.fields.iter().find(|field| field.name == name).unwrap()
    }

    #[test]
    fn every_type_has_its_field_and_what_is_needed_comes_first() {
        let form = SchemaForm::new(&schema());
        let first: Vec<_> = form.first().map(|field| field.name.as_str()).collect();
        assert_eq!(first, ["p.name", "p.region"]);
        assert!(form.fields[..2].iter().all(|field| field.required));
        assert!(matches!(find(&form, "p.zones").kind, FieldKind::Lines));
        assert!(matches!(find(&form, "p.open").kind, FieldKind::Switch));
        assert!(matches!(find(&form, "p.ratio").kind, FieldKind::Number { is_whole: false, .. }));
        assert!(matches!(find(&form, "p.rules").kind, FieldKind::Json));
        assert_eq!(find(&form, "p.max").value, "3");
        let FieldKind::Choice { options } = &find(&form, "p.region").kind else { panic!() };
        assert_eq!((options[0].label.as_str(), options[1].label.as_str()), ("Europe", "us"));
        assert!(!form.is_open());
    }

    #[test]
    fn what_is_typed_becomes_json_of_the_right_types_and_nothing_is_left_out() {
        let mut form = SchemaForm::new(&schema());
        let typed = posted(&[
            ("p.name", " abc "),
            ("p.region", "eu"),
            ("p.max", "4"),
            ("p.ratio", "0.5"),
            ("p.open", "false"),
            ("p.zones", "a\r\n\r\n b "),
            ("p.oidc.client", "x"),
            ("p.rules", r#"[{"a": 1}]"#),
        ]);
        let read = form.take(&typed);
        let expected = json!({
            "name": "abc", "region": "eu", "max": 4, "ratio": 0.5, "open": false, "zones": ["a", "b"],
            "oidc": {"client": "x"}, "rules": [{"a": 1}],
        });
        assert_eq!(Value::Object(read), expected);
        assert!(form.is_good() && form.is_open());
    }

    #[test]
    fn what_is_wrong_stands_at_its_field_and_what_was_typed_stays() {
        let mut form = SchemaForm::new(&schema());
        let read = form.take(&posted(&[("p.max", "many"), ("p.region", "eu"), ("p.rules", "{")]));
        assert_eq!(Value::Object(read), json!({"region": "eu"}));
        assert!(!form.is_good());
        assert_eq!(find(&form, "p.max").value, "many");
        assert!(find(&form, "p.max").error.is_some() && find(&form, "p.rules").error.is_some());
        assert_eq!(find(&form, "p.name").error.as_deref(), Some("It is required."));
    }

    #[test]
    fn the_words_of_the_broker_find_their_fields() {
        let mut form = SchemaForm::new(&schema());
        let left = form.blame(
            "parameters.max: must be at most 9; parameters.zones.1: has the wrong type; see the schema in the catalog; \
             parameters: \"name\" is missing; parameters.oidc: client is missing; parameters.other: is odd",
        );
        assert_eq!(left.as_deref(), Some("parameters.other: is odd"));
        assert_eq!(find(&form, "p.max").error.as_deref(), Some("It must be at most 9."));
        assert!(find(&form, "p.zones").error.as_deref().unwrap().starts_with("It has the wrong type"));
        assert_eq!(find(&form, "p.name").error.as_deref(), Some("It is required."));
        assert!(find(&form, "p.oidc").has_error());
        assert_eq!(
            form.blame("another operation is in progress").as_deref(),
            Some("another operation is in progress")
        );
    }

    #[test]
    fn the_words_of_a_workflow_find_their_fields() {
        let mut form = SchemaForm::new(&schema());
        let left = form.blame_params(
            "max: value is greater than the maximum of 9; \"name\" is a required property; region must be eu or us; \
             oidc: \"client\" is a required property; it is odd",
        );
        assert_eq!(left.as_deref(), Some("it is odd"));
        assert!(find(&form, "p.max").error.as_deref() == Some("It is greater than the maximum of 9."));
        assert_eq!(find(&form, "p.name").error.as_deref(), Some("It is required."));
        assert_eq!(find(&form, "p.region").error.as_deref(), Some("It must be eu or us."));
        assert!(find(&form, "p.oidc").has_error());
    }

    #[test]
    fn a_change_shows_the_values_in_force() {
        let present = json!({"name": "here", "zones": ["a", "b"], "oidc": {"client": "c"}});
        let form = SchemaForm::of_present(&schema(), present.as_object().unwrap());
        assert_eq!(find(&form, "p.name").value, "here");
        assert_eq!(find(&form, "p.zones").value, "a\nb");
        assert_eq!(find(&form, "p.max").value, "3", "the default of the plan");
        let FieldKind::Group { fields } = &find(&form, "p.oidc").kind else { panic!() };
        assert_eq!(fields[0].value, "c");
    }
}

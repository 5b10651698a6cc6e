//! One field of a form that is made from a JSON schema.

use askama::Template;
use askama::filters::HtmlSafe;
use serde_json::{Map, Number, Value};

use crate::fields::Fields;

/// Objects within objects beyond this are typed as JSON.
const DEPTH_MAX: usize = 4;

#[derive(Debug, Clone, PartialEq, Template)]
#[template(path = "schema_form/field.html")]
pub struct SchemaField {
    /// Where its value goes: the names of the members with dots between them, after a `p`.
    pub(crate) name: String,
    label: String,
    hint: String,
    pub(crate) required: bool,
    /// What is typed here is not shown again.
    is_secret: bool,
    pub(crate) kind: FieldKind,
    /// As it was typed.
    pub(crate) value: String,
    pub(crate) error: Option<String>,
}

impl HtmlSafe for SchemaField {}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldKind {
    Text {
        pattern: String,
        min: String,
        max: String,
    },
    Number {
        is_whole: bool,
        min: String,
        max: String,
    },
    Choice {
        options: Vec<Choice>,
    },
    Switch,
    /// One text in each line.
    Lines,
    Group {
        fields: Vec<SchemaField>,
    },
    Json,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    /// As requests have it: a choice need not be a text.
    json: Value,
}

impl SchemaField {
    fn new(name: &str, key: &str, schema: &Value, required: bool, depth: usize) -> SchemaField {
        let is_secret = schema.get("writeOnly") == Some(&Value::Bool(true));
        let about = schema;
        let schema = without_null(schema);
        let text = |key: &str| {
            let found = about.get(key).or_else(|| schema.get(key));
            found.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let kind = FieldKind::of(name, schema, depth);
        let (title, description) = (text("title"), text("description"));
        let limits = kind.limits();
        let end =
            if limits.is_empty() || description.is_empty() || description.ends_with('.') { "" } else { "." };
        let hint = format!("{description}{end} {limits}").trim().to_owned();
        let label = if title.is_empty() { spaced(key) } else { title };
        let value = schema.get("default").map(|value| kind.shown(value)).unwrap_or_default();
        SchemaField { name: name.to_owned(), label, hint, required, is_secret, kind, value, error: None }
    }

    /// All fields below an object, those that are needed first.
    pub(crate) fn all_of(name: &str, schema: &Value, depth: usize) -> Vec<SchemaField> {
        let Some(members) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
        let listed = |key: &str| schema.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let (required, order) = (listed("required"), listed("_controlsOrder"));
        let is_needed = |key: &String| required.iter().any(|one| one == key.as_str());
        let rank = |key: &String| order.iter().position(|one| one == key.as_str()).unwrap_or(usize::MAX);
        let mut keys: Vec<&String> = members.keys().collect();
        keys.sort_by_key(|key| (!is_needed(key), rank(key)));
        let one = |key: &String| {
            let path = format!("{name}.{key}");
            SchemaField::new(&path, key, &members[key.as_str()], is_needed(key), depth + 1)
        };
        keys.into_iter().map(one).collect()
    }

    /// Takes what was typed; `None` where that is nothing.
    pub(crate) fn take(&mut self, posted: &Fields) -> Option<Value> {
        if let FieldKind::Group { fields } = &mut self.kind {
            let members: Map<String, Value> = fields
                .iter_mut()
                .filter_map(|field| Some((field.key().to_owned(), field.take(posted)?)))
                .collect();
            return (!members.is_empty()).then_some(Value::Object(members));
        }
        posted.text(&self.name).clone_into(&mut self.value);
        if self.value.is_empty() {
            return None;
        }
        let read = self.kind.read(&self.value);
        self.error = read.as_ref().err().cloned();
        read.ok()
    }

    /// Shows a value that is there already.
    pub(crate) fn show(&mut self, value: &Value) {
        match &mut self.kind {
            FieldKind::Group { fields } => {
                for field in fields {
                    if let Some(value) = value.get(field.key()).cloned() {
                        field.show(&value);
                    }
                }
            }
            kind => self.value = kind.shown(value),
        }
    }

    /// Puts what is wrong at the field that it is about; `false` when it is not about this one.
    pub(crate) fn blame(&mut self, name: &str, text: &str) -> bool {
        if let FieldKind::Group { fields } = &mut self.kind
            && fields.iter_mut().any(|field| field.blame(name, text))
        {
            return true;
        }
        let is_mine = self.name == name;
        if is_mine {
            self.error = Some(text.to_owned());
        }
        is_mine
    }

    pub(crate) fn has_error(&self) -> bool {
        let inner = if let FieldKind::Group { fields } = &self.kind { fields.as_slice() } else { &[] };
        self.error.is_some() || inner.iter().any(SchemaField::has_error)
    }

    /// Whether a user has typed something here, or has to.
    pub(crate) fn is_open(&self, default: &SchemaField) -> bool {
        self.required || self.has_error() || self != default
    }

    /// The name of the parameter, as requests have it.
    fn key(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// Not within an object that may be left out as a whole.
    fn is_top(&self) -> bool {
        self.name.matches('.').count() == 1
    }

    fn is_described(&self) -> bool {
        !self.hint.is_empty() || self.error.is_some()
    }

    fn described(&self) -> String {
        let hint = (!self.hint.is_empty()).then(|| format!("{}-hint", self.name));
        let error = self.error.as_ref().map(|_| format!("{}-error", self.name));
        hint.into_iter().chain(error).collect::<Vec<_>>().join(" ")
    }
}

impl FieldKind {
    fn of(name: &str, schema: &Value, depth: usize) -> FieldKind {
        let number = |key: &str| schema.get(key).filter(|value| value.is_number()).map(ToString::to_string);
        let limit = |key: &str| number(key).unwrap_or_default();
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            return FieldKind::Choice { options: choices(schema, options) };
        }
        match kind_of(schema) {
            "string" => FieldKind::Text {
                pattern: html_pattern(schema.get("pattern").and_then(Value::as_str).unwrap_or_default()),
                min: limit("minLength"),
                max: limit("maxLength"),
            },
            kind @ ("integer" | "number") => FieldKind::Number {
                is_whole: kind == "integer",
                min: limit("minimum"),
                max: limit("maximum"),
            },
            "boolean" => FieldKind::Switch,
            "array" if schema.get("items").is_some_and(|items| kind_of(items) == "string") => {
                FieldKind::Lines
            }
            "object" if depth < DEPTH_MAX && schema.get("properties").is_some() => {
                FieldKind::Group { fields: SchemaField::all_of(name, schema, depth) }
            }
            _ => FieldKind::Json,
        }
    }

    fn read(&self, text: &str) -> Result<Value, String> {
        match self {
            FieldKind::Text { .. } => Ok(Value::String(text.to_owned())),
            FieldKind::Choice { options } => Ok(chosen(options, text)),
            FieldKind::Switch => Ok(Value::Bool(text == "true")),
            FieldKind::Number { is_whole: true, .. } => {
                text.parse::<i64>().map(Value::from).map_err(|_| "It must be a whole number.".to_owned())
            }
            FieldKind::Number { .. } => {
                let number = text.parse::<f64>().ok().and_then(Number::from_f64);
                number.map(Value::Number).ok_or_else(|| "It must be a number.".to_owned())
            }
            FieldKind::Lines => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                Ok(lines.map(Value::from).collect())
            }
            FieldKind::Group { .. } | FieldKind::Json => {
                serde_json::from_str(text).map_err(|error| format!("It must be JSON: {error}."))
            }
        }
    }

    fn shown(&self, value: &Value) -> String {
        match (self, value) {
            (_, Value::String(text)) => text.clone(),
            (FieldKind::Lines, Value::Array(items)) => {
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
            }
            (_, Value::Null) => String::new(),
            (_, other) => other.to_string(),
        }
    }

    /// What may be typed, in words.
    fn limits(&self) -> String {
        match self {
            FieldKind::Number { min, max, .. } => match (min.is_empty(), max.is_empty()) {
                (false, false) => format!("From {min} to {max}."),
                (false, true) => format!("{min} or more."),
                (true, false) => format!("{max} or less."),
                (true, true) => String::new(),
            },
            FieldKind::Lines => "One in each line.".to_owned(),
            FieldKind::Json => "As JSON.".to_owned(),
            _ => String::new(),
        }
    }
}

fn choices(schema: &Value, options: &[Value]) -> Vec<Choice> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let one = |json: &Value| {
        let value = plain(json);
        let label = schema.get("_enumDisplayName").and_then(|names| names.get(&value)?.as_str());
        Choice { label: label.unwrap_or(&value).to_owned(), value, json: json.clone() }
    };
    options.iter().filter(|option| !option.is_null()).map(one).collect()
}

/// The API refuses what is not among the options, and says so.
fn chosen(options: &[Choice], text: &str) -> Value {
    let found = options.iter().find(|option| option.value == text);
    found.map_or_else(|| Value::String(text.to_owned()), |option| option.json.clone())
}

/// A choice between nothing and one schema is that schema: nothing is what is left empty.
fn without_null(schema: &Value) -> &Value {
    let options = ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
    let is_null = |option: &&Value| kind_of(option).is_empty() && option.get("type").is_some();
    let mut others = options.into_iter().flatten().filter(|option| !is_null(option));
    match (others.next(), others.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

/// The name of a member as words: `signingAlgs` is "Signing algs".
fn spaced(key: &str) -> String {
    let mut words = String::new();
    for (nth, letter) in key.chars().enumerate() {
        match letter {
            '_' | '-' => words.push(' '),
            letter if nth == 0 => words.extend(letter.to_uppercase()),
            letter if letter.is_uppercase() => {
                words.push(' ');
                words.extend(letter.to_lowercase());
            }
            letter => words.push(letter),
        }
    }
    words
}

/// The type that a schema names; of several the first that is not null.
fn kind_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) if kind != "null" => kind,
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        _ => "",
    }
}

/// Browsers compile a pattern with the flag `v`, in which a dash at the end of a class needs a backslash. In a schema it
/// needs none.
fn html_pattern(pattern: &str) -> String {
    pattern.replace("\\-]", "-]").replace("-]", "\\-]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_at_the_end_of_a_class_is_escaped_for_browsers() {
        for pattern in ["^[a-zA-Z0-9-]*$", r"^[a-zA-Z0-9\-]*$"] {
            assert_eq!(html_pattern(pattern), r"^[a-zA-Z0-9\-]*$");
        }
    }

    fn fields_of(schema: &Value) -> Vec<SchemaField> {
        SchemaField::all_of("p", schema, 0)
    }

    #[test]
    fn a_choice_keeps_its_type_and_a_secret_is_not_shown_again() {
        let schema = serde_json::json!({"properties": {
            "size": {"enum": [1, 2]},
            "password": {"type": "string", "writeOnly": true},
            "parameters": {"type": ["object", "null"], "writeOnly": true},
        }});
        let typed = [("p.size", "2"), ("p.password", "hush"), ("p.parameters", r#"{"key": "hush"}"#)];
        let typed = typed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let typed = Fields::from(Vec::from(typed));
        for mut field in fields_of(&schema) {
            let value = field.take(&typed);
            let page = field.render().unwrap();
            match field.key() {
                "size" => assert_eq!(value, Some(Value::from(2))),
                "password" => {
                    assert_eq!(value, Some(Value::from("hush")));
                    assert!(page.contains("type=\"password\""), "{page}");
                }
                _ => assert_eq!(value, Some(serde_json::json!({"key": "hush"}))),
            }
            assert!(!page.contains("hush"), "{page}");
        }
    }

    #[test]
    fn a_schema_or_nothing_is_that_schema() {
        let schema = serde_json::json!({"properties": {"change": {
            "description": "What changes.",
            "oneOf": [{"type": "null"}, {"type": "object", "properties": {"to": {"type": "integer"}}}],
        }}});
        let fields = fields_of(&schema);
        let FieldKind::Group { fields: inner } = &fields[0].kind else { panic!() };
        assert_eq!((fields[0].hint.as_str(), inner[0].name.as_str()), ("What changes.", "p.change.to"));
    }

    #[test]
    fn a_name_without_a_title_is_read_as_words() {
        for (key, words) in [("signingAlgs", "Signing algs"), ("zones", "Zones"), ("max_surge", "Max surge")]
        {
            assert_eq!(spaced(key), words);
        }
    }
}

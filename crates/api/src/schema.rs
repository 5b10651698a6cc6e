//! JSON Schema of a type, with nothing outside it: for the params of workflows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use utoipa::ToSchema;

const COMPONENTS: &str = "#/components/schemas/";
/// A type that contains itself is described down to this depth.
const DEPTH_MAX: usize = 8;

/// The schema of a type as JSON. Types inside it stand in their places, so that forms and command lines follow no reference.
pub fn json_schema<T: ToSchema>() -> Value {
    let mut parts = Vec::new();
    T::schemas(&mut parts);
    let to_json = |schema| serde_json::to_value(schema).unwrap_or_default();
    parts.push((T::name().into_owned(), T::schema()));
    let parts: BTreeMap<String, Value> =
        parts.into_iter().map(|(name, schema)| (name, to_json(schema))).collect();
    let mut schema = to_json(T::schema());
    inline(&mut schema, &parts, DEPTH_MAX);
    schema
}

/// `depth` is how many references may still be followed inside one another.
fn inline(schema: &mut Value, parts: &BTreeMap<String, Value>, mut depth: usize) {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix(COMPONENTS));
    if let Some(part) = reference.and_then(|name| parts.get(name)) {
        let Some(rest) = depth.checked_sub(1) else {
            *schema = Value::Bool(true);
            return;
        };
        depth = rest;
        let description = schema.get("description").cloned();
        *schema = part.clone();
        if let (Some(description), Some(map)) = (description, schema.as_object_mut()) {
            map.insert("description".to_owned(), description);
        }
    }
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(|inner| inline(inner, parts, depth));
            lift_from_option(map);
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| inline(inner, parts, depth)),
        _ => {}
    }
}

/// What is said about a value that may be nothing stands at the value alone; it is meant for both.
fn lift_from_option(schema: &mut Map<String, Value>) {
    let Some([first, second]) = schema.get("oneOf").and_then(Value::as_array).map(Vec::as_slice) else {
        return;
    };
    let is_null = |option: &Value| option.get("type").is_some_and(|kind| kind == "null");
    let inner = match (is_null(first), is_null(second)) {
        (true, false) => second,
        (false, true) => first,
        _ => return,
    };
    let said =
        ["description", "writeOnly"].into_iter().filter_map(|key| Some((key, inner.get(key)?.clone())));
    for (key, value) in said.collect::<Vec<_>>() {
        schema.entry(key).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    /// A colour.
    #[derive(Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    enum Colour {
        Red,
        Blue,
    }

    #[derive(Serialize, Deserialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    struct Paint {
        /// Of the wall.
        colour: Colour,
        coats: Option<u32>,
        #[schema(write_only)]
        code: Option<String>,
        /// Below it.
        under: Option<Colour>,
    }

    #[derive(Serialize, Deserialize, ToSchema)]
    struct Knot {
        #[schema(no_recursion)]
        inner: Vec<Knot>,
    }

    #[test]
    fn the_types_inside_stand_in_their_places() {
        let schema = json_schema::<Paint>();
        assert_eq!(schema["required"], json!(["colour"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["colour"]["enum"], json!(["red", "blue"]));
        assert_eq!(schema["properties"]["colour"]["description"], json!("Of the wall."));
        assert_eq!(schema["properties"]["code"]["writeOnly"], json!(true));
        assert_eq!(schema["properties"]["under"]["description"], json!("Below it."));
        assert!(!schema.to_string().contains("$ref"), "{schema}");
    }

    #[test]
    fn a_type_that_contains_itself_has_an_end() {
        assert!(!json_schema::<Knot>().to_string().contains("$ref"));
    }
}

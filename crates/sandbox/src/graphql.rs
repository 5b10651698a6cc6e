//! GraphQL over HTTP for external systems: a schema read from its own language, answered from plain JSON.
//!
//! An external system only answers the fields at the top, with one JSON value each. Everything below is taken out of
//! that value by name, so a schema file and a function are a whole GraphQL server.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::dynamic::{
    Enum, Field, FieldFuture, FieldValue, InputObject, InputValue, Object, ResolverContext, Scalar, Schema,
    SchemaBuilder, TypeRef, Union,
};
use async_graphql::parser::types::{
    BaseType, ConstDirective, FieldDefinition, InputValueDefinition, ObjectType, Type, TypeDefinition,
    TypeKind, TypeSystemDefinition,
};
use async_graphql::{Error, ErrorExtensions, Positioned, Request, Value};
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value as JsonValue, json};

/// A provisioning with hundreds of components and overrides stays far below.
pub(crate) const GRAPHQL_BYTES_MAX: usize = 2 * 1024 * 1024;
const SELECTED_FIELDS_MAX: usize = 2000;
const DEPTH_MAX: usize = 32;
/// What a query may nest, brackets of all kinds counted together; our own queries need about ten.
const NESTING_MAX: usize = 32;
/// Carries a null up to where the schema allows one; it is no error of its own.
const ONLY_NULL: &str = "a field that cannot be null has no answer";

/// Who calls, as far as the headers say.
#[derive(Debug, Clone, Default)]
pub(crate) struct GraphqlUser {
    pub(crate) tenant: String,
    pub(crate) sub_account: Option<String>,
}

impl GraphqlUser {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        GraphqlUser { tenant: text("tenant").unwrap_or_default(), sub_account: text("sub-account") }
    }
}

/// An entry of `errors`, with the class that the external system gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GraphqlError {
    pub(crate) message: String,
    pub(crate) error_code: u16,
}

impl GraphqlError {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        GraphqlError { message: message.into(), error_code: 400 }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        GraphqlError { message: message.into(), error_code: 500 }
    }
}

pub(crate) type Arguments = Map<String, JsonValue>;

/// The fields at the top of a schema.
pub(crate) trait Root: Send + Sync + 'static {
    fn answer(
        &self,
        field: &str,
        arguments: Arguments,
        caller: &GraphqlUser,
    ) -> Result<JsonValue, GraphqlError>;
}

/// Builds the schema once, with what it has in a dialect; a mistake in it is a mistake in this crate.
pub(crate) fn schema(language: &str, dialect: u16, root: &Arc<dyn Root>) -> Schema {
    let document = async_graphql::parser::parse_schema(language).expect("the schema is part of this crate");
    let mut types: Vec<TypeDefinition> = document
        .definitions
        .into_iter()
        .filter_map(|definition| match definition {
            TypeSystemDefinition::Type(definition) => Some(definition.node),
            TypeSystemDefinition::Schema(_) | TypeSystemDefinition::Directive(_) => None,
        })
        .collect();
    keep_dialect(&mut types, dialect);
    let shapes: HashMap<String, QueryShape> = types
        .iter()
        .map(|definition| (definition.name.node.to_string(), QueryShape::of(definition)))
        .collect();
    let builder = Schema::build("Query", Some("Mutation"), None)
        .limit_complexity(SELECTED_FIELDS_MAX)
        .limit_depth(DEPTH_MAX);
    types
        .into_iter()
        .fold(builder, |builder, definition| register(builder, definition, &shapes, root))
        .finish()
        .expect("the types of the schema fit together")
}

/// Removes what a dialect does not have, by the directives `since` and `until`.
fn keep_dialect(types: &mut Vec<TypeDefinition>, dialect: u16) {
    types.retain(|definition| is_in(&definition.directives, dialect));
    let names: Vec<String> = types.iter().map(|definition| definition.name.node.to_string()).collect();
    for definition in types {
        match &mut definition.kind {
            TypeKind::Object(kind) => kind.fields.retain(|field| is_in(&field.node.directives, dialect)),
            TypeKind::InputObject(kind) => kind.fields.retain(|field| is_in(&field.node.directives, dialect)),
            TypeKind::Enum(kind) => kind.values.retain(|value| is_in(&value.node.directives, dialect)),
            TypeKind::Union(kind) => {
                kind.members.retain(|member| names.iter().any(|name| *name == *member.node));
            }
            TypeKind::Scalar | TypeKind::Interface(_) => {}
        }
    }
}

fn is_in(directives: &[Positioned<ConstDirective>], dialect: u16) -> bool {
    directives.iter().all(|directive| {
        let year = directive.node.get_argument("dialect").map(|year| to_json(&year.node));
        let year = year.and_then(|year| year.as_u64()).expect("since and until name a dialect");
        match directive.node.name.node.as_str() {
            "since" => u64::from(dialect) >= year,
            _ => u64::from(dialect) <= year,
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueryShape {
    Leaf,
    Object,
    Union,
}

impl QueryShape {
    fn of(definition: &TypeDefinition) -> Self {
        match definition.kind {
            TypeKind::Object(_) => QueryShape::Object,
            TypeKind::Union(_) => QueryShape::Union,
            _ => QueryShape::Leaf,
        }
    }
}

fn register(
    builder: SchemaBuilder,
    definition: TypeDefinition,
    shapes: &HashMap<String, QueryShape>,
    root: &Arc<dyn Root>,
) -> SchemaBuilder {
    let name = definition.name.node.to_string();
    match definition.kind {
        TypeKind::Scalar => builder.register(Scalar::new(name)),
        TypeKind::Enum(kind) => {
            let names = kind.values.into_iter().map(|value| value.node.value.node.to_string());
            builder.register(Enum::new(name).items(names))
        }
        TypeKind::Union(kind) => {
            let members = kind.members.into_iter().map(|member| member.node.to_string());
            builder.register(members.fold(Union::new(name), Union::possible_type))
        }
        TypeKind::InputObject(kind) => {
            let fields = kind.fields.into_iter().map(|field| input_value(&field.node));
            builder.register(fields.fold(InputObject::new(name), InputObject::field))
        }
        TypeKind::Object(kind) => builder.register(object(name, kind, shapes, root)),
        TypeKind::Interface(_) => builder,
    }
}

fn object(
    name: String,
    kind: ObjectType,
    shapes: &HashMap<String, QueryShape>,
    root: &Arc<dyn Root>,
) -> Object {
    let is_root = matches!(name.as_str(), "Query" | "Mutation");
    kind.fields.into_iter().fold(Object::new(name), |object, definition| {
        let FieldDefinition { name, arguments, ty, .. } = definition.node;
        let name = name.node.to_string();
        let shape = shapes.get(base_name(&ty.node)).copied().unwrap_or(QueryShape::Leaf);
        let ty = type_ref(&ty.node);
        let field = if is_root {
            root_field(name, ty, shape, Arc::clone(root))
        } else {
            let key = name.clone();
            Field::new(name, ty, move |context| {
                let parent = context.parent_value.downcast_ref::<JsonValue>();
                FieldFuture::Value(parent.and_then(|parent| field_value(parent.get(&key)?, shape)))
            })
        };
        object
            .field(arguments.iter().map(|argument| input_value(&argument.node)).fold(field, Field::argument))
    })
}

fn root_field(name: String, ty: TypeRef, shape: QueryShape, root: Arc<dyn Root>) -> Field {
    let is_nullable = !matches!(ty, TypeRef::NonNull(_));
    Field::new(name.clone(), ty, move |context: ResolverContext<'_>| {
        let arguments =
            context.args.iter().map(|(name, value)| (name.to_string(), to_json(value.as_value())));
        let arguments = arguments.collect();
        let answer = match context.ctx.data::<GraphqlUser>() {
            Ok(caller) => root.answer(&name, arguments, caller),
            Err(error) => Err(GraphqlError::internal(error.message)),
        };
        FieldFuture::new(async move {
            match answer {
                Ok(JsonValue::Null) => Ok(None),
                Ok(answer) if shape == QueryShape::Leaf => {
                    Ok(Value::from_json(answer).ok().map(FieldValue::value))
                }
                Ok(answer) => Ok(Some(FieldValue::owned_any(answer))),
                Err(GraphqlError { message, error_code }) => {
                    let error = Error::new(message).extend_with(|_, e| e.set("error_code", error_code));
                    let error = error.into_server_error(context.ctx.item.pos);
                    context.ctx.add_error(context.ctx.set_error_path(error));
                    if is_nullable { Ok(None) } else { Err(Error::new(ONLY_NULL)) }
                }
            }
        })
    })
}

fn field_value(json: &JsonValue, shape: QueryShape) -> Option<FieldValue<'_>> {
    match (json, shape) {
        (JsonValue::Null, _) => None,
        (_, QueryShape::Leaf) => Value::from_json(json.clone()).ok().map(FieldValue::value),
        (JsonValue::Array(items), _) => {
            Some(FieldValue::list(items.iter().filter_map(|item| field_value(item, shape))))
        }
        (_, QueryShape::Object) => Some(FieldValue::borrowed_any(json)),
        (_, QueryShape::Union) => {
            let name = json.get("__typename")?.as_str()?.to_owned();
            Some(FieldValue::borrowed_any(json).with_type(name))
        }
    }
}

fn to_json(value: &Value) -> JsonValue {
    value.clone().into_json().unwrap_or_default()
}

fn input_value(definition: &InputValueDefinition) -> InputValue {
    InputValue::new(definition.name.node.as_str(), type_ref(&definition.ty.node))
}

fn type_ref(ty: &Type) -> TypeRef {
    let base = match &ty.base {
        BaseType::Named(name) => TypeRef::named(name.as_str()),
        BaseType::List(item) => TypeRef::List(Box::new(type_ref(item))),
    };
    if ty.nullable { base } else { TypeRef::NonNull(Box::new(base)) }
}

fn base_name(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name,
        BaseType::List(item) => base_name(item),
    }
}

/// Answers 200 when something was executed, whatever came of it, and 422 when nothing could be.
pub(crate) async fn execute(schema: &Schema, caller: GraphqlUser, body: &[u8]) -> Response {
    let request: Request = match serde_json::from_slice(body) {
        Ok(request) => request,
        Err(error) => {
            return not_executed(StatusCode::BAD_REQUEST, &format!("the body is no request: {error}"));
        }
    };
    if nesting(&request.query) > NESTING_MAX {
        return not_executed(StatusCode::UNPROCESSABLE_ENTITY, "the query is nested too deeply");
    }
    let mut response = schema.execute(request.data(caller)).await;
    response.errors.retain(|error| error.message != ONLY_NULL);
    let was_executed = response.errors.iter().all(|error| !error.path.is_empty());
    let status = if was_executed { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    (status, Json(response)).into_response()
}

fn not_executed(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({"data": null, "errors": [{"message": message}]}))).into_response()
}

const LONG_QUOTE: &str = "\"\"\"";

/// Counted before the parser sees the query, because it calls itself for every bracket and has no limit.
fn nesting(query: &str) -> usize {
    let (mut depth, mut deepest, mut rest) = (0_usize, 0, query);
    while let Some(at) = rest.find(['#', '"', '{', '[', '(', '}', ']', ')']) {
        let found = &rest[at..];
        rest = if found.starts_with('#') {
            found.find(['\n', '\r']).map_or("", |end| &found[end..])
        } else if let Some(text) = found.strip_prefix(LONG_QUOTE) {
            after_long_text(text)
        } else if let Some(text) = found.strip_prefix('"') {
            after_short_text(text)
        } else {
            let is_opening = found.starts_with(['{', '[', '(']);
            depth = if is_opening { depth + 1 } else { depth.saturating_sub(1) };
            deepest = deepest.max(depth);
            &found[1..]
        };
    }
    deepest
}

fn after_short_text(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.find(|next| {
        let is_end = next == '"' && !is_escaped;
        is_escaped = next == '\\' && !is_escaped;
        is_end
    });
    end.map_or("", |end| &text[end + 1..])
}

fn after_long_text(text: &str) -> &str {
    let mut ends = text.match_indices(LONG_QUOTE).filter(|(at, _)| !text[..*at].ends_with('\\'));
    ends.next().map_or("", |(at, quote)| &text[at + quote.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_only_where_they_nest() {
        let cases = [
            ("", 0),
            ("{a}", 1),
            ("{a(b: [1]) {c}} {d}", 3),
            (r#"{a(b: "[[[[[")}"#, 2),
            (r#"{a(b: "\\"[[1]])}"#, 4),
            (r#"{a(b: "\"[[[[", c: [[1]])}"#, 4),
            (r#"{a(b: "ö\ö[[[[", c: [[1]])}"#, 4),
            (r#"{a(b: """ " [[[[ "" """, c: [[1]])}"#, 4),
            (r#"{a(b: """ \""" [[[[ """, c: [[1]])}"#, 4),
            (r#"{a(b: """ \""", c: [[1]])}"#, 2),
            (r#"{a(b: """ \\""", c: [[1]])}"#, 2),
            (r#"{a(b: "", c: [[1]])}"#, 4),
            ("# \" [[[[\n{a(b: [[1]])}", 4),
            ("# \" [[[[\r{a(b: [[1]])}", 4),
            ("}}}{", 1),
        ];
        for (query, expected) in cases {
            assert_eq!(nesting(query), expected, "{query}");
        }
    }
}

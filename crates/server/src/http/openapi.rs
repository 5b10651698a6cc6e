//! What the routes of an API have in common, added to each of them in its description, so that none forgets it.

use api::Format;
use axum::http::Method;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required, Response};

/// Names a way to prove an identity.
pub fn add_scheme(api: &mut OpenApi, name: &str, scheme: SecurityScheme) {
    if let Some(components) = &mut api.components {
        components.add_security_scheme(name, scheme);
    }
}

/// Every operation with its path and its method.
pub fn operations(api: &mut OpenApi) -> impl Iterator<Item = (&str, Method, &mut Operation)> {
    api.paths.paths.iter_mut().flat_map(|(path, item)| {
        let PathItem { get, post, put, patch, delete, options, .. } = item;
        let all = [
            (Method::GET, get),
            (Method::POST, post),
            (Method::PUT, put),
            (Method::PATCH, patch),
            (Method::DELETE, delete),
            (Method::OPTIONS, options),
        ];
        all.into_iter()
            .filter_map(move |(method, operation)| Some((path.as_str(), method, operation.as_mut()?)))
    })
}

/// One of these schemes is needed.
pub fn secure(operation: &mut Operation, schemes: &[&str]) {
    let requirement = |scheme: &&str| SecurityRequirement::new(*scheme, Vec::<String>::new());
    operation.security = Some(schemes.iter().map(requirement).collect());
}

/// Errors that the operation does not describe itself. Every error, also those that it describes, is in the format of the
/// API.
pub fn add_errors<F: Format>(operation: &mut Operation, schema: &str, errors: &[(u16, &str)]) {
    let responses = &mut operation.responses.responses;
    for (status, description) in errors {
        responses.entry(status.to_string()).or_insert_with(|| Response::new(*description).into());
    }
    for (status, response) in responses {
        let is_error = status.starts_with(['4', '5']);
        if let RefOr::T(response) = response
            && is_error
            && response.content.is_empty()
        {
            let content = Content::new(Some(Ref::from_schema_name(schema)));
            response.content.insert(F::CONTENT_TYPE.to_owned(), content.into());
        }
    }
}

/// A text that is read from the path, the query or a header.
pub fn add_parameter(
    operation: &mut Operation,
    name: &str,
    location: ParameterIn,
    is_required: bool,
    description: &str,
) {
    let parameter: Parameter = ParameterBuilder::new()
        .name(name)
        .parameter_in(location)
        .required(if is_required { Required::True } else { Required::False })
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build();
    operation.parameters.get_or_insert_default().push(RefOr::T(parameter));
}

/// A paragraph after what the description says already.
pub fn add_paragraph(operation: &mut Operation, text: &str) {
    let before = operation.description.take().filter(|before| !before.is_empty());
    operation.description =
        Some(before.map_or_else(|| text.to_owned(), |before| format!("{before}\n\n{text}")));
}

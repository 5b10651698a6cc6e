//! What the routes of an API have in common, added to each of them in its description, so that none forgets it.

use api::Format;
use axum::http::Method;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required, ResponseBuilder};

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

/// Errors that the operation does not describe itself.
pub fn add_errors<F: Format>(operation: &mut Operation, schema: &str, errors: &[(u16, &str)]) {
    for (status, description) in errors {
        let content = Content::new(Some(Ref::from_schema_name(schema)));
        let response = ResponseBuilder::new().description(*description).content(F::CONTENT_TYPE, content);
        operation.responses.responses.entry(status.to_string()).or_insert_with(|| response.build().into());
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

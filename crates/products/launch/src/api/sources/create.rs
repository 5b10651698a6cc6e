//! `POST /sources`

use crate::model::cloud::Access;
use crate::model::sources;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use engine::secret::SecretString;

use super::super::principal::TenantPrincipal;
use super::super::{BASE, LaunchState, wire};
use crate::api::error;
use server::audit::about;
use server::http::Failure;
use server::http::body::JsonBody;

/// Keeps a source.
///
/// Only where sources are kept here. The credentials are encrypted, and never shown.
#[utoipa::path(
    post, path = "/sources", tag = "sources", operation_id = "create_source",
    request_body = wire::NewSource,
    responses(
        (status = CREATED, body = wire::Source, description = "The source."),
        (status = CONFLICT, description = "There are too many: `conflict`."),
        (status = NOT_IMPLEMENTED, description = "Another service keeps them: `sources_elsewhere`."),
    )
)]
pub(in crate::api) async fn create_source(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    JsonBody(new): JsonBody<wire::NewSource>,
) -> Result<impl IntoResponse, Failure> {
    let new = sources::NewSource {
        provider: super::provider_named(&new.provider)?,
        name: new.name.clone(),
        access: access(new)?,
    };
    let launches = &shared.api_parts.launches;
    let source = sources::create(launches, &shared.app.engine, &principal.owner, &new).await?;
    let path = format!("{BASE}/sources/{}", source.id);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, path.clone())],
        about(&path),
        Json(wire::Source::from(source)),
    ))
}

/// There is one way in.
fn access(new: wire::NewSource) -> Result<Access, Failure> {
    let wire::NewSource { arn, external_id, access_key_id, secret_access_key, .. } = new;
    let keys = access_key_id.or(secret_access_key.as_ref().map(|_| String::new()));
    let keys = keys.map(|id| (id, SecretString::from(secret_access_key.unwrap_or_default())));
    match (arn, keys, new.subscription_id.or(new.project_id)) {
        (Some(arn), None, None) => Ok(Access::Role { arn, external_id: external_id.map(SecretString::from) }),
        (None, Some((id, secret)), None) => Ok(Access::Keys { id, secret }),
        (None, None, Some(name)) => Ok(Access::Name(name)),
        _ => Err(error::invalid("access", "there must be exactly one way into the account")
            .hint("give arn, or access_key_id and secret_access_key, or subscription_id, or project_id")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_exactly_one_way_in() {
        let text = |text: &str| Some(text.to_owned());
        let role = wire::NewSource { arn: text("a"), external_id: text("e"), ..wire::NewSource::default() };
        assert!(matches!(access(role.clone()), Ok(Access::Role { external_id: Some(_), .. })));
        let keys = wire::NewSource { access_key_id: text("i"), ..wire::NewSource::default() };
        assert!(matches!(access(keys.clone()), Ok(Access::Keys { .. })));
        let project = wire::NewSource { project_id: text("p"), ..wire::NewSource::default() };
        assert!(matches!(access(project.clone()), Ok(Access::Name(_))));
        let both = wire::NewSource { access_key_id: keys.access_key_id, ..role };
        for bad in [both, wire::NewSource::default(), wire::NewSource { arn: text("a"), ..project }] {
            assert_eq!(access(bad).unwrap_err().into_error(error::fault).field.as_deref(), Some("access"));
        }
    }
}

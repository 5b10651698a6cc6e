//! The profile and the idempotency key of a request for a launch.

use server::http::Failure;

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::rights::Verb;
use crate::api::error;
use crate::api::types::{NewParameters, ProfileOptions};
use crate::model::profile::{Profile, ProfileName};
use crate::model::public_keys;

/// The profile that a request means. A named one keeps the times that are configured.
pub(super) fn profile(
    name: Option<&str>,
    options: Option<ProfileOptions>,
    configured: &Profile,
) -> Result<Option<Profile>, Failure> {
    if name.is_none() && options.is_none() {
        return Ok(None);
    }
    let named = match name {
        None => configured.clone(),
        Some(name) => {
            let known = ProfileName::ALL.into_iter().find(|known| known.as_str() == name);
            let rule = "it must be one of images, wizard, inventory, events";
            let named = known.ok_or_else(|| error::invalid("profile", rule))?.profile();
            Profile {
                image_source: named.image_source,
                fallback_poll_s: named.fallback_poll_s,
                surface: named.surface,
                ..configured.clone()
            }
        }
    };
    let options = options.unwrap_or_default();
    Ok(Some(Profile {
        image_source: options.image_source.unwrap_or(named.image_source),
        fallback_poll_s: options.fallback_poll_s.or(named.fallback_poll_s),
        image_deadline_s: options.image_deadline_s.unwrap_or(named.image_deadline_s),
        parameters_ttl_s: options.parameters_ttl_s.unwrap_or(named.parameters_ttl_s),
        surface: options.surface.unwrap_or(named.surface),
        detach: options.detach.unwrap_or(named.detach),
        on_launch_failure: options.on_launch_failure.unwrap_or(named.on_launch_failure),
        partial: options.partial.unwrap_or(named.partial),
        after_pivot: options.after_pivot.unwrap_or(named.after_pivot),
    }))
}

/// Keeps the key that came with the parameters, if need be: from now on its number stands for it.
pub(super) async fn keep_key(
    shared: &LaunchState,
    principal: &TenantPrincipal,
    mut new: NewParameters,
) -> Result<NewParameters, Failure> {
    let Some(key) = new.pubkey.take() else { return Ok(new) };
    if new.pubkey_id.is_some() {
        return Err(error::invalid("pubkey", "pubkey_id is given as well"));
    }
    principal.must("pubkey", Verb::Write)?;
    let (engine, who) = (&shared.app.engine, &principal.owner);
    new.pubkey_id = Some(public_keys::keep(engine, who, &key.name, &key.body).await?.number);
    Ok(new)
}

//! External identities from the configuration: an `OpenID` issuer and trusted proxies.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use engine::WallClock;
use server::sandbox_access;
use server::{Bearers, CodeFlow, CodeFlowSettings, Oidc, OidcSettings};
use tracing::{info, warn};

use super::small_file::secret;
use crate::config::Config;

/// As whom the sandbox's identity provider knows us.
const SANDBOX_CLIENT: &str = "provision-engine-console";

/// Who vouches for bearer tokens that are not ours.
pub(super) fn bearers(config: &Config) -> Result<Option<Arc<dyn Bearers>>> {
    let oidc = &config.identity.oidc;
    let (Some(issuer), Some(audience)) = (&oidc.issuer, &oidc.audience) else { return Ok(None) };
    let mut settings = OidcSettings::new(issuer.as_str(), audience)
        .with_groups(oidc.groups.clone())
        .with_grants(oidc.grants.clone());
    settings.scope = Some(oidc.scope.clone());
    settings.org_claim.clone_from(&config.identity.organisation_claim);
    let oidc = Oidc::new(settings, Arc::new(WallClock)).map_err(|error| anyhow!("osb.oidc: {error}"))?;
    Ok(Some(Arc::new(oidc)))
}

/// Where people sign in: at the issuer that is configured, or else at that of the sandbox. There every user of
/// this host is an admin with one click, so it is closed beside any system that is not the sandbox's.
pub(super) fn code_flow(config: &Config, sandbox: Option<&str>) -> Result<Option<Arc<CodeFlow>>> {
    let oidc = &config.identity.oidc;
    let (issuer, client_id, prefix) = match (&oidc.issuer, &oidc.client_id, sandbox) {
        (Some(issuer), Some(client_id), _) => (issuer.as_str().to_owned(), client_id.clone(), None),
        (None, _, Some(url)) => {
            if let Some(path) = config.external_systems().next() {
                info!(setting = path, "the sign-in of the sandbox is closed: a setting names another system");
                return Ok(None);
            }
            let issuer = format!("{}/identity-provider", url.trim_end_matches('/'));
            (issuer, SANDBOX_CLIENT.to_owned(), Some(sandbox_access::PREFIX))
        }
        _ => return Ok(None),
    };
    let mut settings = OidcSettings::new(issuer, &client_id)
        .with_groups(oidc.groups.clone())
        .with_grants(oidc.grants.clone());
    settings.name_prefix = prefix.unwrap_or(settings.name_prefix);
    settings.org_claim.clone_from(&config.identity.organisation_claim);
    let client = CodeFlowSettings {
        client_id,
        client_secret: oidc.client_secret_file.as_deref().map(secret).transpose()?,
        scopes: oidc.scopes.split_whitespace().map(str::to_owned).collect(),
    };
    match CodeFlow::new(settings, client, Arc::new(WallClock)) {
        Ok(flow) => Ok(Some(Arc::new(flow))),
        Err(error) if oidc.issuer.is_some() => Err(anyhow!("osb.oidc: {error}")),
        Err(error) => {
            warn!(%error, "the sandbox's sign-in is not available");
            Ok(None)
        }
    }
}

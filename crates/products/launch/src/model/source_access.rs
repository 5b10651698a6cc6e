//! Access to the account of a source: whether it can be used, its identity, its resources and its missing permissions.

use std::time::Duration;

use api::Code;
use cloud::{
    Access, Account, CloudAccount, CloudIdentity, Page, Permissions, Provider, ProviderKind, Templates,
    UploadTarget,
};

use engine::Engine;
use http::StatusCode;

use super::api_error::{Flaw, LaunchApiError};
use super::catalog::{RefreshError, refresh};
use super::params::LaunchOwner;
use super::preflight::account_id;
use super::settings::Launches;

/// An account, as the Image Builder wants to know it before it shares an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadInfo {
    pub provider: ProviderKind,
    pub target: UploadTarget,
    /// The only region where the image can be launched that was asked about, or one that goes there.
    pub region: Option<String>,
}

/// How long all the tries of one check may take.
const CHECK_LIMIT: Duration = Duration::from_secs(20);
/// The largest page of templates.
pub const TEMPLATES_MAX: u32 = 200;

/// The account behind a source, with the provider that leads there.
pub(crate) struct Reached<'a> {
    pub(crate) account: Account,
    pub(crate) provider: &'a dyn Provider,
    session: String,
}

impl Reached<'_> {
    pub(crate) fn cloud_account<'b>(&'b self, region: &'b str) -> CloudAccount<'b> {
        CloudAccount { account: &self.account, region, session: &self.session }
    }
}

/// The way into an account. `None` where nothing leads to its cloud.
pub(crate) fn enter<'a>(launches: &'a Launches, who: &LaunchOwner, account: Account) -> Option<Reached<'a>> {
    let provider = launches.providers.get(&account.provider)?;
    Some(Reached { account, provider: &**provider, session: format!("source-check-{}", who.org) })
}

/// Finds a source and the way into its account.
async fn reach<'a>(
    launches: &'a Launches,
    who: &LaunchOwner,
    id: &str,
) -> Result<Reached<'a>, LaunchApiError> {
    let account = launches.accounts.get(who, id).await?;
    let account = account.ok_or_else(|| LaunchApiError::not_found("such source").at("source_id"))?;
    let message = format!("this server cannot reach {}", account.provider);
    enter(launches, who, account)
        .ok_or_else(|| LaunchApiError::new(Code::ProviderNotConfigured, message).at("source_id"))
}

/// Whether the source can be used, by the cheapest call there is.
pub async fn status(
    launches: &Launches,
    who: &LaunchOwner,
    id: &str,
) -> Result<CloudIdentity, LaunchApiError> {
    let reached = reach(launches, who, id).await?;
    let region = reached.account.provider.spec().home;
    Ok(reached.provider.identity(&reached.cloud_account(region)).await?)
}

/// Takes over the instance types that the account can have in a region. Answers how many there are.
pub async fn refresh_types(
    launches: &Launches,
    engine: &Engine,
    who: &LaunchOwner,
    provider: ProviderKind,
    id: &str,
    region: &str,
) -> Result<usize, LaunchApiError> {
    let reached = reach(launches, who, id).await?;
    if reached.account.provider != provider {
        let is = reached.account.provider;
        return Err(LaunchApiError::invalid("source_id", format!("this source is one of {is}")));
    }
    let refreshed = refresh(reached.provider, &reached.cloud_account(region), engine).await;
    refreshed.map_err(|error| match error {
        RefreshError::Cloud(error) => error.into(),
        RefreshError::Store(error) => error.into(),
        RefreshError::Save(error) => error.into(),
        error => LaunchApiError::invalid("region", error.to_string()),
    })
}

/// A role names its account, so that the cloud need not be asked. `image` is an image of the cloud.
pub async fn upload_info(
    launches: &Launches,
    who: &LaunchOwner,
    id: &str,
    image: Option<&str>,
) -> Result<UploadInfo, LaunchApiError> {
    let account = launches.accounts.get(who, id).await?;
    let account = account.ok_or_else(|| LaunchApiError::not_found("such source").at("source_id"))?;
    let provider = account.provider;
    let target = match &account.access {
        Access::Role { .. } => {
            UploadTarget { account_id: account_id(&account).unwrap_or_default(), ..UploadTarget::default() }
        }
        Access::Keys { .. } | Access::Name(_) => {
            let reached = reach(launches, who, id).await?;
            reached.provider.upload_target(&reached.cloud_account(provider.spec().home)).await?
        }
    };
    let region = match image {
        Some(image) => {
            let reached = reach(launches, who, id).await?;
            reached.provider.image_region(&reached.cloud_account(provider.spec().home), image).await?
        }
        None => target.region.clone(),
    };
    Ok(UploadInfo { provider, target, region })
}

pub async fn templates(
    launches: &Launches,
    who: &LaunchOwner,
    id: &str,
    region: Option<&str>,
    page: &Page,
) -> Result<Templates, LaunchApiError> {
    let reached = reach(launches, who, id).await?;
    let provider = reached.account.provider;
    let spec = provider.spec();
    let region = match region.filter(|region| !region.is_empty()) {
        _ if spec.names.launch_template.is_none() => {
            let message = format!("{provider} has no launch templates");
            return Err(LaunchApiError::invalid("source_id", message));
        }
        None if spec.is_regional => {
            let field_error =
                Flaw::new("region", "is missing").hint("name the region of the launch templates");
            return Err(LaunchApiError::with_field_errors(StatusCode::BAD_REQUEST, vec![field_error]));
        }
        region => region.unwrap_or(spec.home),
    };
    let page = Page { limit: page.limit.clamp(1, TEMPLATES_MAX), token: page.token.clone() };
    Ok(reached.provider.templates(&reached.cloud_account(region), &page).await?)
}

/// Tries everything that can be tried without leaving anything, instead of reading what policies say.
pub async fn permissions(
    launches: &Launches,
    who: &LaunchOwner,
    id: &str,
    region: Option<&str>,
) -> Result<Permissions, LaunchApiError> {
    let reached = reach(launches, who, id).await?;
    let spec = reached.account.provider.spec();
    let region = region.filter(|region| !region.is_empty()).unwrap_or(spec.home);
    let cloud_account = reached.cloud_account(region);
    let tried = tokio::time::timeout(CHECK_LIMIT, reached.provider.permissions(&cloud_account)).await;
    let tried = tried.map_err(|_| LaunchApiError::unavailable("the cloud did not answer in time"))?;
    Ok(tried?)
}

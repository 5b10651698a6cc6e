//! What a source lets us do: whether it lets us in, who it is, what it offers, what it forbids.

use std::time::Duration;

use api::Code;
use cloud::{
    Access, Account, Category, CloudAccount, CloudError, CloudIdentity, Fingerprints, InstanceRequest, Page,
    Provider, ProviderKind, Templates,
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
    /// The id of the account in AWS.
    pub aws_account: Option<String>,
    /// The id of the subscription in Azure.
    pub azure_subscription: Option<String>,
}

/// What a source lets us do, as far as that can be found out without doing it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// What it forbids.
    pub missing: Vec<&'static str>,
    /// What we need as well and cannot try without doing it.
    pub unproven: Vec<&'static str>,
}

impl Permissions {
    pub fn is_valid(&self) -> bool {
        self.missing.is_empty()
    }
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
    pub(crate) fn place<'b>(&'b self, region: &'b str) -> CloudAccount<'b> {
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

/// Whether the source lets us in, by the cheapest call there is.
pub async fn status(
    launches: &Launches,
    who: &LaunchOwner,
    id: &str,
) -> Result<CloudIdentity, LaunchApiError> {
    let reached = reach(launches, who, id).await?;
    let region = reached.account.provider.spec().home;
    Ok(reached.provider.identity(&reached.place(region)).await?)
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
    let refreshed = refresh(reached.provider, &reached.place(region), engine).await;
    refreshed.map_err(|error| match error {
        RefreshError::Cloud(error) => error.into(),
        RefreshError::Store(error) => error.into(),
        RefreshError::Save(error) => error.into(),
        error => LaunchApiError::invalid("region", error.to_string()),
    })
}

/// A role names its account, so that the cloud need not be asked. Keys do not.
pub async fn upload_info(
    launches: &Launches,
    who: &LaunchOwner,
    id: &str,
) -> Result<UploadInfo, LaunchApiError> {
    let account = launches.accounts.get(who, id).await?;
    let account = account.ok_or_else(|| LaunchApiError::not_found("such source").at("source_id"))?;
    let own = match &account.access {
        Access::Keys { .. } => Some(status(launches, who, id).await?.account_id),
        Access::Role { .. } | Access::Name(_) => account_id(&account),
    };
    let of = |provider| own.clone().filter(|_| account.provider == provider);
    Ok(UploadInfo {
        provider: account.provider,
        aws_account: of(ProviderKind::Aws),
        azure_subscription: of(ProviderKind::Azure),
    })
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
    Ok(reached.provider.templates(&reached.place(region), &page).await?)
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
    if !spec.proves_permissions {
        return Ok(Permissions::default());
    }
    let region = region.filter(|region| !region.is_empty()).unwrap_or(spec.home);
    let tried = tokio::time::timeout(CHECK_LIMIT, try_all(&reached, region, &who.org)).await;
    let tried = tried.map_err(|_| LaunchApiError::unavailable("the cloud did not answer in time"))?;
    Ok(tried?)
}

/// The actions that a launch needs, each proven by a call that changes nothing.
pub(crate) async fn try_all(
    reached: &Reached<'_>,
    region: &str,
    org: &str,
) -> Result<Permissions, CloudError> {
    let (provider, place) = (reached.provider, reached.place(region));
    let mut found = Permissions {
        missing: Vec::new(),
        unproven: vec!["ec2:ImportKeyPair", "ec2:DeleteKeyPair", "ec2:TerminateInstances"],
    };
    let unknown = Fingerprints { any_of: vec!["00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00".to_owned()] };
    found.note("sts:AssumeRole", provider.identity(&place).await)?;
    if !found.missing.is_empty() {
        // Who is not let in can do nothing at all, and need not be asked further.
        return Ok(found);
    }
    found.note("ec2:DescribeRegions", provider.regions(&place).await)?;
    found.note("ec2:DescribeImages", provider.image(&place, NO_IMAGE).await)?;
    found.note("ec2:DescribeKeyPairs", provider.find_key(&place, &unknown).await)?;
    found.note("ec2:DescribeInstances", provider.find(&place, &order(org)).await)?;
    let page = Page { limit: 5, token: None };
    found.note("ec2:DescribeLaunchTemplates", provider.templates(&place, &page).await)?;
    found.note("ec2:RunInstances", provider.dry_run(&place, &order(org)).await)?;
    Ok(found)
}

impl Permissions {
    /// Only a refusal counts against the source; that something is not there or makes no sense does not.
    fn note<T>(&mut self, action: &'static str, answer: Result<T, CloudError>) -> Result<(), CloudError> {
        match answer {
            Err(error) if error.is(Category::Permission) => self.missing.push(action),
            Err(error) if error.may_heal() => return Err(error),
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }
}

const NO_IMAGE: &str = "ami-00000000000000000";
const DRY_RUN: &str = "rehearsal";

/// The smallest launch with everything that a real one asks for, tags included.
fn order(org: &str) -> InstanceRequest {
    InstanceRequest {
        instance_type: Some("t3.small".to_owned()),
        tags: vec![("rh-org".to_owned(), org.to_owned())],
        ..InstanceRequest::new(DRY_RUN)
    }
}

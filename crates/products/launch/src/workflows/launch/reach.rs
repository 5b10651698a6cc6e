//! Access to the account of a launch.

use cloud::{Account, Category, CloudAccount, CloudError, Provider};
use engine::prelude::*;

use crate::model::params::Parameters;
use crate::model::settings::{LaunchSettings, Launches};
use crate::model::sources::SourceError;
use crate::workflows::launch::Launch;

/// A cloud, and the account and region in it. Good for one pass.
#[derive(Clone)]
pub(crate) struct Reach {
    pub(crate) provider: Arc<dyn Provider>,
    account: Account,
    pub(crate) region: String,
    session: String,
}

impl Reach {
    pub(crate) fn cloud_account(&self) -> CloudAccount<'_> {
        CloudAccount { account: &self.account, region: &self.region, session: &self.session }
    }

    /// How long what a lost call made may take to be shown.
    pub(crate) fn settle(&self, settings: &LaunchSettings) -> Duration {
        self.provider.settle().unwrap_or(settings.settle)
    }
}

/// Those that came with the request or later.
pub(crate) fn parameters(op: &Operation<Launch>) -> Result<&Parameters, Halt> {
    let known = op.state.parameters.as_ref().or(op.params.parameters.as_ref());
    known.ok_or_else(|| Halt::fail("the launch parameters are not known yet"))
}

/// The way that was found in this pass, or a new one.
pub(crate) async fn reach(launches: &Launches, op: &mut Operation<Launch>) -> Result<Reach, CloudError> {
    if let Some(reach) = &op.input.reach {
        return Ok(reach.clone());
    }
    let kind = op.params.provider;
    let refused = |code: &str, text: String| CloudError::new(Category::Permission, code, text);
    let Ok(parameters) = parameters(op) else {
        return Err(refused("NoParameters", "the launch parameters are not known yet".into()));
    };
    let (source, region) = (parameters.source_id.clone(), parameters.region.clone());
    let provider = launches.providers.get(&kind).ok_or_else(|| {
        refused("NoProvider", format!("{kind} is not configured here; configure it, then try again"))
    })?;
    let account = launches.accounts.get(&op.params.owner, &source).await.map_err(|error| match error {
        SourceError::Outside(error) if error.is_final() => refused("SourceRefused", error.to_string()),
        SourceError::Locked { .. } => refused("SourceLocked", error.to_string()),
        error => CloudError::new(Category::Network, "", error.to_string()),
    })?;
    let account = account.ok_or_else(|| {
        refused("SourceNotFound", format!("source {source} does not exist any longer; make it again"))
    })?;
    let reach = Reach { provider: Arc::clone(provider), account, region, session: op.id.to_string() };
    op.input.reach = Some(reach.clone());
    Ok(reach)
}

//! `source.check`: looks whether the cloud account behind a source can be used, and leaves word for those who want to
//! know. One look at a source at a time: who asks while one is under way has asked for that one.

mod ask;
mod look_at_source;
mod record;
mod sweep;

use engine::Settled;
use engine::prelude::*;
use engine::store::RecordUpdate;
use utoipa::ToSchema;

pub use self::ask::{Check, ask};
pub use self::record::SourceCheck;
pub use self::sweep::sweep;
use crate::model::Launches;
use crate::model::params::LaunchOwner;
use crate::model::sources::Finding;

pub const SOURCE_CHECK: &str = "source.check";

pub struct CheckSource;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// On whose behalf the account is checked.
    #[serde(rename = "requester")]
    pub owner: LaunchOwner,
    /// The source of the cloud account.
    pub source_id: String,
}

impl Params {
    fn check(&self) -> Result<(), String> {
        let is_id = cloud::spec::is_id(&self.source_id);
        is_id.then_some(()).ok_or_else(|| "source_id must be the id of a source".into())
    }
}

/// What the look brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// By which the service that keeps the source knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
}

impl Workflow for CheckSource {
    const KIND: &'static str = SOURCE_CHECK;
    const ABOUT: &'static str = "Checks whether the cloud account of a source can be used.";
    const DEADLINE: Duration = Duration::from_mins(10);
    type Params = Params;
    type State = State;
    type Input = ();

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }

    fn operation_name(params: &Params) -> Option<String> {
        Some(params.source_id.clone())
    }

    fn admit(asked: serde_json::Value, _sealer: &engine::secret::Sealer) -> Result<Params, String> {
        let params: Params = engine::parse(asked)?;
        params.check().map(|()| params)
    }

    /// Whatever happened, the record says how the source was found, and that others are to be told.
    fn on_settled(op: &Operation<CheckSource>, rest: &Settled<'_>) -> Option<RecordUpdate> {
        let finding = op.state.finding.clone().unwrap_or_else(|| unavailable(rest));
        let record = SourceCheck::new(&op.params, finding, op.state.application.clone(), op.id.0);
        record.record_update().ok()
    }
}

/// A look that did not come to its end.
fn unavailable(rest: &Settled<'_>) -> Finding {
    let reason = rest.cause.map_or("the check was given up", |cause| cause.as_str());
    Finding { is_available: false, reason: Some(reason.to_owned()), at: rest.at }
}

/// The table of steps and weights.
pub fn plan(launches: &Arc<Launches>) -> Plan<CheckSource> {
    Plan::new(OnFailure::Leave).step(10, look_at_source::LookAtSource::new(launches))
}

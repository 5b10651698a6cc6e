//! How a look at a source is asked for.

use api::Code;
use engine::store::Expect;
use engine::{Engine, OperationId, RecordWrites, Resource, Submission, SubmitError};

use super::{CheckSource, Params, SourceCheck};
use crate::model::api_error::LaunchApiError;
use crate::model::numbers;
use crate::model::params::LaunchOwner;

/// A look that will be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    pub operation: OperationId,
    /// Another client had asked for it, and it is under way.
    pub joined: bool,
}

/// How often to look again when another request has written the record in the meantime.
const LOOKS_MAX: u32 = 5;

/// Asks for a look at the source of this name, or joins the one that is under way.
pub async fn ask(
    engine: &Engine,
    who: &LaunchOwner,
    source_id: &str,
    name: Option<&str>,
) -> Result<Check, LaunchApiError> {
    let resource = SourceCheck::resource(who, source_id);
    let params = Params { owner: who.clone(), source_id: source_id.to_owned() };
    let (tenant, by) = (who.tenant(), who.name());
    params.check().map_err(|message| LaunchApiError::invalid("source_id", message))?;
    for _ in 0..LOOKS_MAX {
        let row = engine.resource(&resource).await?;
        let before = row.as_ref().map(numbers::read::<SourceCheck>).transpose()?;
        // What others have not been told yet stays to be told.
        let record = before.unwrap_or_else(|| SourceCheck {
            owner: who.clone(),
            source_id: source_id.to_owned(),
            finding: None,
            application: None,
            notice: None,
        });
        let record_update = record.record_update().map_err(|error| internal(&error))?;
        let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
        let along = RecordWrites { subject: Some((expect, Some(record_update))), ..RecordWrites::default() };
        let instance_request = Submission::<CheckSource>::new(&tenant, &by, &params);
        let submission = Submission { resource: Some(&resource), name, along, ..instance_request };
        match engine.submit(submission).await {
            Ok(accepted) => return Ok(Check { operation: accepted.id, joined: false }),
            Err(SubmitError::Busy { operation }) => return Ok(Check { operation, joined: true }),
            Err(SubmitError::Changed) => {}
            // A name that is too long.
            Err(SubmitError::Invalid(message)) => return Err(LaunchApiError::invalid("source_id", message)),
            Err(error) => return Err(error.into()),
        }
    }
    Err(LaunchApiError::conflict("another request keeps asking for the same check; try again"))
}

fn internal(error: &str) -> LaunchApiError {
    tracing::error!(error, "accepting a source check failed");
    LaunchApiError::new(Code::Internal, "the check could not be accepted; the reason is in the log")
}

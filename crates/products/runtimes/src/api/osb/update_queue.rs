//! Changes that come while another operation works on the instance, in the place of the broker that takes them.

use axum::response::Response;
use engine::store::OperationQuery;
use engine::{OperationId, Phase, Submission};

use super::change::{Update, UpdateDecision};
use super::error;
use super::standing::StoredRecord;
use super::submit::{done, under_way};
use super::update::{UpdateRequest, on, sealed};
use super::{BrokerShared, wire};
use crate::model::{InstanceRecord, Status, UPDATE};
use crate::workflows::update::Update as UpdateWorkflow;
use server::http::Failure;

/// So many operations on one instance may wait or run.
const QUEUE_MAX: usize = 20;

/// A change that is carried out after what runs and what queues already. It is worked out from what will be there then,
/// and has all values: should the one before it fail, nothing of that is lost.
pub(super) async fn queue(
    broker: &BrokerShared,
    update_request: &UpdateRequest<'_>,
    known: &StoredRecord<InstanceRecord>,
) -> Result<Option<Response>, Failure> {
    let pending = broker.pending(known).await?;
    let (expect, sealer) = (known.expect(), broker.sealer(known));
    let mut wanted = match broker.change_of(update_request, known, Some(&pending))? {
        UpdateDecision::Nothing
            if known.row.workflow.as_deref() == Some(UPDATE) || known.status == Status::Suspending =>
        {
            return Ok(Some(under_way(broker.accepted(known)?)));
        }
        UpdateDecision::Nothing => return Ok(Some(done())),
        UpdateDecision::Resume(_) if known.status == Status::Resuming => {
            return Ok(Some(under_way(broker.accepted(known)?)));
        }
        // The record says whether the instance is suspended, and the operation that runs goes by that.
        UpdateDecision::Suspend(_) | UpdateDecision::Resume(_) => return Err(error::busy()),
        UpdateDecision::Update(_) | UpdateDecision::Save(_) if !update_request.can_wait => {
            return Err(error::async_required());
        }
        UpdateDecision::Update(update) | UpdateDecision::Save(update) => update,
        UpdateDecision::Context(context) => Update { context: Some(context), ..Update::default() },
    };
    if broker.unfinished(&known.row.name).await? >= QUEUE_MAX {
        return Err(error::busy());
    }
    wanted.plan = wanted.plan.or(pending.plan);
    wanted.parameters = wanted.parameters.or(pending.parameters);
    wanted.context = wanted.context.or(pending.context);
    wanted.maintenance = wanted.maintenance.or(pending.maintenance);
    let params = sealed(known.record.instance_id.clone(), wanted, &sealer);
    let submission = on::<UpdateWorkflow>(&known.row, &update_request.caller.name, &params, (expect, None));
    let accepted =
        broker.submit(Submission { name: known.record.shown_name(), queue: true, ..submission }).await?;
    let answer = |operation: OperationId| {
        let (operation, dashboard_url) = (Some(operation.to_string()), known.record.dashboard_url.clone());
        under_way(wire::Accepted { operation, dashboard_url, metadata: None })
    };
    Ok(accepted.map(|operation| if update_request.can_wait { answer(operation) } else { done() }))
}

impl BrokerShared {
    /// What the newest operation makes of the instance, where that is a change.
    async fn pending(&self, known: &StoredRecord<InstanceRecord>) -> Result<Update, Failure> {
        if known.row.workflow.as_deref() != Some(UPDATE) {
            return Ok(Update::default());
        }
        Ok(self.running_update(known).await?.unwrap_or_default())
    }

    /// How many operations on a resource are not over, as far as that matters.
    async fn unfinished(&self, resource: &str) -> Result<usize, Failure> {
        let phases = Phase::ALL.into_iter().filter(|phase| !phase.is_final()).collect();
        let resource = Some(resource.to_owned());
        let query = OperationQuery { resource, phases, limit: QUEUE_MAX, ..OperationQuery::default() };
        Ok(self.app.engine.list(&query).await?.len())
    }
}

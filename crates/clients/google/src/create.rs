//! Making instances, once, whatever becomes of the answers.
//!
//! Nothing is remembered here. The operation is found again by its request id, which follows from the idempotency
//! key, and the instances by their names, which follow from the tag of the launch. A bulk call that failed is cleaned
//! away before it is reported, so that the next one finds the names free.

use cloud::{Category, CloudAccount, CloudError, CloudInstance, Created, InstanceRequest, InstanceState};
use engine::Timestamp;

use crate::Google;
use crate::bulk_insert::bulk_insert;
use crate::error::from_operation;
use crate::instances::{Instance, named};
use crate::names::{Names, request_id};
use crate::operations::Operation;
use crate::{disks, instances, operations};

/// An operation that failed stays with its request id. What may heal is tried under so many others.
const TRIES_MAX: u32 = 3;

/// How a bulk call stands.
enum Bulk {
    Answer(Created),
    /// Nothing of it is left.
    Failed(CloudError),
}

pub(super) async fn create(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
    key: &str,
) -> Result<Created, CloudError> {
    google.prove(place).await?;
    let launch = BulkLaunch { google, place, request, names: Names::of(request)? };
    let mut last: Option<Operation> = None;
    for number in 0..TRIES_MAX {
        let key = if number == 0 { key.to_owned() } else { format!("{key}/{number}") };
        let request_id = request_id(&request.launch_tag, &key);
        if let Some(operation) = operations::of_request(google, place, &request_id).await? {
            last = Some(operation);
            continue;
        }
        if let Some(operation) = last.take() {
            match launch.look(operation).await? {
                Bulk::Failed(error) if is_passing(&error) => {}
                bulk => return bulk.answer(),
            }
        }
        return launch.start(&request_id).await?.answer();
    }
    match last {
        Some(operation) => launch.look(operation).await?.answer(),
        None => Err(CloudError::new(Category::Upstream, "", "no bulk call was made")),
    }
}

impl Bulk {
    fn answer(self) -> Result<Created, CloudError> {
        match self {
            Bulk::Answer(created) => Ok(created),
            Bulk::Failed(error) => Err(error),
        }
    }
}

/// An operation that failed so may succeed under another request id.
fn is_passing(error: &CloudError) -> bool {
    matches!(error.category, Category::Upstream | Category::Throttle)
}

struct BulkLaunch<'a> {
    google: &'a Google,
    place: &'a CloudAccount<'a>,
    request: &'a InstanceRequest,
    names: Names,
}

impl BulkLaunch<'_> {
    /// Looks first: what is on its way out still has its name.
    async fn start(&self, request_id: &str) -> Result<Bulk, CloudError> {
        if self.there().await?.iter().any(is_leaving) {
            return Ok(self.again(None));
        }
        match bulk_insert(self.google, self.place, self.request, &self.names, request_id).await {
            Ok(operation) => self.look(operation).await,
            Err(error) if error.is(Category::Duplicate) => self.ended(None, None, Some(error)).await,
            Err(error) => Err(error),
        }
    }

    async fn look(&self, operation: Operation) -> Result<Bulk, CloudError> {
        if !operation.is_done() {
            return Ok(self.again(Some(operation.name)));
        }
        let (ended_at, error) = (operation.ended_at(), from_operation(&operation));
        self.ended(Some(operation.name), ended_at, error).await
    }

    /// What has our names, all of it ours.
    async fn there(&self) -> Result<Vec<Instance>, CloudError> {
        let there = named(self.google, self.place, &self.names.instances).await?;
        if let Some(other) = there.iter().find(|instance| !instance.is_of(&self.request.launch_tag)) {
            let message = format!(
                "the name {} belongs to an instance of another launch: delete it, or choose another name",
                other.name
            );
            return Err(CloudError::new(Category::Duplicate, "alreadyExists", message));
        }
        Ok(there)
    }

    /// Enough instances are taken over, however the operation ended. Otherwise what is left of it is cleaned away.
    async fn ended(
        &self,
        reservation: Option<String>,
        ended_at: Option<Timestamp>,
        error: Option<CloudError>,
    ) -> Result<Bulk, CloudError> {
        let there = self.there().await?;
        if there.iter().any(|instance| instance.is_newer_than(ended_at)) {
            // A later call made it, and lists do not show that call yet.
            return Ok(self.again(reservation));
        }
        let staying: Vec<&Instance> = there.iter().filter(|instance| !is_leaving(instance)).collect();
        if staying.len() >= self.request.least as usize {
            let read = staying.into_iter().map(Instance::read);
            let instances = read.collect::<Result<Vec<CloudInstance>, CloudError>>()?;
            return Ok(Bulk::Answer(Created { reservation, instances, again: None }));
        }
        if !there.is_empty() {
            let ids: Vec<String> = staying.iter().map(|instance| instance.id.clone()).collect();
            instances::delete(self.google, self.place, &ids).await?;
            return Ok(self.again(reservation));
        }
        // A disk has the name of its instance, and would be in the way of the next one.
        if !disks::sweep(self.google, self.place, self.request).await?.is_empty() {
            return Ok(self.again(reservation));
        }
        Ok(Bulk::Failed(error.filter(|error| !error.is(Category::Duplicate)).unwrap_or_else(|| {
            let message = "the instances were made and are not there any longer";
            CloudError::new(Category::Terminated, "", message)
        })))
    }

    fn again(&self, reservation: Option<String>) -> Bulk {
        Bulk::Answer(Created { reservation, instances: Vec::new(), again: Some(self.google.poll) })
    }
}

/// On its way out: nothing that could be taken over.
fn is_leaving(instance: &Instance) -> bool {
    let state = instance.read().map(|instance| instance.state);
    matches!(state, Ok(InstanceState::Stopping | InstanceState::ShuttingDown))
}

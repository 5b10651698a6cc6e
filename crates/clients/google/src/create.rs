//! Making instances, once, whatever becomes of the answers.
//!
//! Nothing is remembered here. The operation is found again by its request id, which follows from the idempotency
//! key, and the instances by their names, which follow from the tag of the launch. A bulk call that failed is cleaned
//! away before it is reported, so that the next one finds the names free.

use cloud::{Category, CloudAccount, CloudError, CloudInstance, Created, InstanceRequest, InstanceState};

use crate::Google;
use crate::bulk_insert::bulk_insert;
use crate::error::from_operation;
use crate::instances::{Instance, named};
use crate::names::{Names, request_id};
use crate::{disks, instances, operations};

/// An operation that failed stays with its request id. What may heal is tried under so many others.
const TRIES_MAX: u32 = 3;

/// How a try of a bulk call ended.
enum End {
    Created(Created),
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
    let launch = Launch { google, place, request, names: Names::of(request)? };
    let mut last = None;
    for number in 0..TRIES_MAX {
        let key = if number == 0 { key.to_owned() } else { format!("{key}/{number}") };
        match launch.try_once(&request_id(&request.launch_tag, &key)).await? {
            End::Created(created) => return Ok(created),
            End::Failed(error) if matches!(error.category, Category::Upstream | Category::Throttle) => {
                last = Some(error);
            }
            End::Failed(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| CloudError::new(Category::Upstream, "", "no bulk call was made")))
}

struct Launch<'a> {
    google: &'a Google,
    place: &'a CloudAccount<'a>,
    request: &'a InstanceRequest,
    names: Names,
}

impl Launch<'_> {
    async fn try_once(&self, request_id: &str) -> Result<End, CloudError> {
        let Launch { google, place, request, names } = self;
        let operation = if let Some(operation) = operations::of_request(google, place, request_id).await? {
            operation
        } else {
            if self.there().await?.iter().any(is_leaving) {
                return Ok(self.again(None));
            }
            match bulk_insert(google, place, request, names, request_id).await {
                Err(error) if error.is(Category::Duplicate) => return self.ended(None, Some(error)).await,
                operation => operation?,
            }
        };
        if !operation.is_done() {
            return Ok(self.again(Some(operation.name)));
        }
        let error = from_operation(&operation);
        self.ended(Some(operation.name), error).await
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

    /// Nothing is being made any longer. Enough instances are taken over, however the operation ended.
    async fn ended(&self, reservation: Option<String>, error: Option<CloudError>) -> Result<End, CloudError> {
        let there = self.there().await?;
        let staying: Vec<&Instance> = there.iter().filter(|instance| !is_leaving(instance)).collect();
        if staying.len() >= self.request.least as usize {
            let read = staying.into_iter().map(Instance::read);
            let instances = read.collect::<Result<Vec<CloudInstance>, CloudError>>()?;
            return Ok(End::Created(Created { reservation, instances, again: None }));
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
        let gone = || {
            let message = "the instances were made and are not there any longer";
            CloudError::new(Category::Terminated, "", message)
        };
        Ok(End::Failed(match error {
            Some(error) if !error.is(Category::Duplicate) => error,
            _ => gone(),
        }))
    }

    fn again(&self, reservation: Option<String>) -> End {
        End::Created(Created { reservation, instances: Vec::new(), again: Some(self.google.poll) })
    }
}

/// On its way out: nothing that could be taken over.
fn is_leaving(instance: &Instance) -> bool {
    let state = instance.read().map(|instance| instance.state);
    matches!(state, Ok(InstanceState::Stopping | InstanceState::ShuttingDown))
}

//! A resource that has to stand: looked for by its name, made if it is missing, and waited for.

use cloud::{CloudAccount, CloudError};
use serde_json::Value;

use super::Azure;
use super::arm::ArmCall;
use super::ids::{Kind, ResourceId};
use super::launch::LaunchNames;
use super::operation::Readiness;
use super::resource::ResourceHead;

impl Azure {
    /// A resource of the same name that is not of this launch is never touched.
    pub(super) async fn ensure(
        &self,
        place: &CloudAccount<'_>,
        launch: &LaunchNames<'_>,
        (id, kind): (&ResourceId, Kind),
        body: Value,
    ) -> Result<Readiness, CloudError> {
        let look = ArmCall::get(id, kind);
        let found: Option<ResourceHead> = self.arm.find(place, &look, "a resource").await?;
        match found {
            Some(resource) if !resource.is_of(&launch.request.launch_tag) => Err(LaunchNames::duplicate(id)),
            Some(resource) if resource.is_ready() => Ok(Readiness::Ready),
            Some(resource) if !resource.has_failed() => Ok(Readiness::Busy(self.pause(None))),
            _ => {
                let begun = self.arm.call(place, &ArmCall::put(id, kind, body)).await?;
                self.follow(place, &begun, &look).await
            }
        }
    }
}

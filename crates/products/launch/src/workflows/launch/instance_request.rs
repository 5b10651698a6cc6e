//! What is asked of the cloud, put together from what is saved: the same in every pass.

use cloud::{Category, CloudError, InstanceRequest, KeyMaterial};
use engine::prelude::*;

use super::reach::parameters;
use crate::model::params::{ImageChoice, LaunchParameters, Parameters};
use crate::model::profile::Partial;
use crate::model::public_key::PublicKey;
use crate::model::record::LaunchRecord;
use crate::model::reservation_tag;
use crate::model::settings::{LaunchSettings, Launches};
use crate::model::user_data::{Additions, merged};
use crate::workflows::launch::Launch;

/// The label of the token by which everything of a launch is found again.
const LAUNCH_KEY: &str = "launch";

pub(crate) fn launch_tag(op: &Operation<Launch>) -> String {
    op.idempotency_key(LAUNCH_KEY)
}

/// The image that is launched, where it is known and the template does not name it.
pub(crate) fn image(op: &Operation<Launch>) -> Option<String> {
    match (&op.state.image, &op.params.image) {
        (Some(image), _) => Some(image.id.clone()),
        (None, ImageChoice::Cloud { id }) => Some(id.clone()),
        _ => None,
    }
}

/// How the hosted service calls the launch: by its number, where its record is found.
pub(crate) async fn reservation(launches: &Launches, op: &Operation<Launch>) -> Result<String, CloudError> {
    let row = launches.store.resource(&LaunchRecord::resource(op.params.launch)).await;
    let row = row.map_err(|error| CloudError::new(Category::Network, "", error.to_string()))?;
    let number = row.map_or_else(|| op.params.launch.simple().to_string(), |row| row.number.to_string());
    Ok(reservation_tag(&number, &launches.settings))
}

/// As it is asked for, with the key if there is one.
pub(crate) fn complete(
    op: &Operation<Launch>,
    settings: &LaunchSettings,
    reservation: &str,
) -> Result<InstanceRequest, Halt> {
    let parameters = parameters(op)?;
    let secret = parameters.user_data.as_ref().map(|sealed| op.open(sealed)).transpose()?;
    let text = secret.as_ref().map(ExposeSecret::expose_secret);
    let additions = Additions::of(settings, op.params.provider, parameters.poweroff, reservation);
    Ok(InstanceRequest { user_data: merged(text, additions), ..tagged(op, reservation)? })
}

/// With all tags, and without the text for the first start.
pub(crate) fn tagged(op: &Operation<Launch>, reservation: &str) -> Result<InstanceRequest, Halt> {
    let mut instance_request = dry_run(op)?;
    instance_request.tags.insert(0, ("rh-rid".to_owned(), reservation.to_owned()));
    Ok(instance_request)
}

/// Without the text for the first start, which no rehearsal needs, and with the key only if it is there.
pub(crate) fn dry_run(op: &Operation<Launch>) -> Result<InstanceRequest, Halt> {
    let parameters = parameters(op)?;
    let params = &op.params;
    let tags = vec![("rh-org".to_owned(), params.owner.org.clone())];
    let least = match params.profile.partial {
        Partial::AllOrNothing => parameters.amount,
        Partial::Keep => 1,
    };
    Ok(InstanceRequest {
        image: image(op),
        least,
        key_name: op.state.key.as_ref().map(|state| state.key.name.clone()),
        key: key_material(op, parameters),
        tags,
        ..of(parameters, launch_tag(op))
    })
}

/// What the parameters say.
pub(crate) fn of(parameters: &LaunchParameters, tag: String) -> InstanceRequest {
    InstanceRequest {
        name: parameters.name.clone(),
        instance_type: parameters.instance_type.clone(),
        template: parameters.launch_template_id.clone(),
        most: parameters.amount,
        subnet: parameters.subnet.clone(),
        security_groups: parameters.security_groups.clone(),
        resource_group: parameters.resource_group.clone(),
        ..InstanceRequest::new(tag)
    }
}

/// What is looked for later: as it was asked for, or by the mark alone where no parameters came.
pub(crate) fn sought(op: &Operation<Launch>) -> InstanceRequest {
    dry_run(op).unwrap_or_else(|_| InstanceRequest::new(launch_tag(op)))
}

/// The public key for clouds that put it into the instance. That it can be read was checked when it came.
fn key_material(op: &Operation<Launch>, parameters: &Parameters) -> Option<KeyMaterial> {
    let choice = parameters.key.as_ref().filter(|_| !op.params.provider.spec().keys.are_uploaded)?;
    PublicKey::parse(&choice.line).ok().map(|key| key.material())
}

/// Before there is an image.
pub(crate) fn without_image(op: &Operation<Launch>) -> Result<InstanceRequest, Halt> {
    Ok(InstanceRequest { image: None, ..dry_run(op)? })
}

//! What is asked of the cloud, put together from what is saved: the same in every pass.

use drivers::cloud::Order;
use engine::prelude::*;

use super::reach::parameters;
use super::user_data;
use crate::launch::Launch;
use crate::launch::params::ImageChoice;
use crate::launch::profile::Partial;

/// The label of the token by which everything of a launch is found again.
const MARK: &str = "launch";

pub(super) fn mark(op: &Operation<Launch>) -> String {
    op.token(MARK)
}

/// The image that is launched, where it is known and the template does not name it.
pub(super) fn image(op: &Operation<Launch>) -> Option<String> {
    match (&op.state.image, &op.params.image) {
        (Some(image), _) => Some(image.id.clone()),
        (None, ImageChoice::Cloud { id }) => Some(id.clone()),
        _ => None,
    }
}

/// As it is asked for, with the key if there is one.
pub(super) fn complete(op: &Operation<Launch>) -> Result<Order, Halt> {
    let parameters = parameters(op)?;
    let secret = parameters.user_data.as_ref().map(|sealed| op.open(sealed)).transpose()?;
    let text = secret.as_ref().map(ExposeSecret::expose_secret);
    let user_data = user_data::merged(parameters.poweroff, text);
    Ok(Order { user_data, ..rehearsed(op)? })
}

/// Without the text for the first start, which no rehearsal needs, and with the key only if it is there.
pub(super) fn rehearsed(op: &Operation<Launch>) -> Result<Order, Halt> {
    let parameters = parameters(op)?;
    let params = &op.params;
    let mut tags = vec![
        ("rh-rid".to_owned(), format!("r-{}", params.launch.simple())),
        ("rh-org".to_owned(), params.requester.org.clone()),
    ];
    tags.extend(parameters.name.iter().map(|name| ("Name".to_owned(), name.clone())));
    let least = match params.profile.partial {
        Partial::AllOrNothing => parameters.amount,
        Partial::Keep => 1,
    };
    Ok(Order {
        image: image(op),
        instance_type: parameters.instance_type.clone(),
        template: parameters.launch_template_id.clone(),
        least,
        most: parameters.amount,
        key_name: op.state.key.as_ref().map(|state| state.key.name.clone()),
        user_data: None,
        subnet: parameters.subnet.clone(),
        security_groups: parameters.security_groups.clone(),
        tags,
        mark: mark(op),
    })
}

/// Before there is an image.
pub(super) fn without_image(op: &Operation<Launch>) -> Result<Order, Halt> {
    Ok(Order { image: None, ..rehearsed(op)? })
}

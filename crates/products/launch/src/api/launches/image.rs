//! Which image to launch: one of the cloud, one of the Image Builder, or one that is built first.

use crate::model::params::RequestedImage;
use uuid::Uuid;

use crate::api::error;
use crate::api::types;
use server::http::Failure;

pub(crate) fn asked(image: &types::NewImage) -> Result<RequestedImage, Failure> {
    match (&image.id, &image.compose_id, &image.build) {
        (None, None, None) => Ok(RequestedImage::None),
        (Some(id), None, None) => Ok(RequestedImage::Cloud { id: id.clone() }),
        (None, Some(id), None) => Uuid::try_parse(id)
            .map(|id| RequestedImage::Compose { id })
            .map_err(|_| error::invalid("image.compose_id", "it must be a UUID")),
        (None, None, Some(request)) => Ok(RequestedImage::Build { request: request.clone() }),
        _ => Err(error::invalid("image", "it must have one of id, compose_id and build")),
    }
}

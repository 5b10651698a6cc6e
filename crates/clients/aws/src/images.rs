//! Images that instances start from.

use cloud::{Category, CloudError, Image, Place};

use super::Aws;
use super::form::Form;
use super::instance_types::architecture;
use super::xml::Parts as _;

/// Every code about an image begins like this.
pub(super) const BAD_IMAGE: &str = "InvalidAMIID.";

pub(super) async fn image(aws: &Aws, place: &Place<'_>, id: &str) -> Result<Option<Image>, CloudError> {
    let answer = match aws.ec2(place, &Form::new("DescribeImages").with("ImageId.1", id)).await {
        Err(error) if error.is(Category::NotFound) && error.code.starts_with(BAD_IMAGE) => return Ok(None),
        answer => answer?,
    };
    let Some(item) = answer.items("imagesSet").next() else { return Ok(None) };
    Ok(Some(Image {
        id: item.word("imageId")?,
        architecture: item.text("architecture").and_then(architecture),
        is_available: item.text("imageState") == Some("available"),
    }))
}

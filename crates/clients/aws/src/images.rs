//! Images that instances start from.

use cloud::{Category, CloudAccount, CloudError, CloudImage};

use super::Aws;
use super::form::QueryForm;
use super::instance_types::architecture;
use super::xml::Parts as _;

/// Every code about an image begins like this.
pub(super) const BAD_IMAGE: &str = "InvalidAMIID.";

pub(super) async fn image(
    aws: &Aws,
    place: &CloudAccount<'_>,
    id: &str,
) -> Result<Option<CloudImage>, CloudError> {
    let answer = match aws.ec2(place, &QueryForm::new("DescribeImages").with("ImageId.1", id)).await {
        Err(error) if error.is(Category::NotFound) && error.code.starts_with(BAD_IMAGE) => return Ok(None),
        answer => answer?,
    };
    let Some(item) = answer.items("imagesSet").next() else { return Ok(None) };
    Ok(Some(CloudImage {
        id: item.word("imageId")?,
        architecture: item.text("architecture").and_then(architecture),
        is_available: item.text("imageState") == Some("available"),
        region: None,
        generation: None,
    }))
}

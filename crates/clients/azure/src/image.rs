//! Images that instances start from.

use cloud::{CloudAccount, CloudError, CloudImage};
use serde::Deserialize;

use super::Azure;
use super::arm::ArmCall;
use super::ids::{Kind, ResourceId, Subscription};

#[derive(Deserialize)]
struct ImageBody {
    #[serde(default)]
    location: Option<String>,
    #[serde(default)]
    properties: ImageProperties,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageProperties {
    #[serde(default)]
    provisioning_state: String,
    #[serde(default)]
    hyper_v_generation: Option<String>,
}

/// A managed image does not say for which processor it is: none but x86-64 can be one.
pub(super) async fn image(
    azure: &Azure,
    place: &CloudAccount<'_>,
    id: &str,
) -> Result<Option<CloudImage>, CloudError> {
    let kinds = [Kind::Image, Kind::GalleryImage];
    let (resource, kind) = ResourceId::parse(id, &Subscription::of(place)?, &kinds)?;
    let found: Option<ImageBody> = azure.arm.find(place, &ArmCall::get(&resource, kind), "an image").await?;
    Ok(found.map(|body| CloudImage {
        id: id.to_owned(),
        architecture: (kind == Kind::Image).then_some(cloud::Architecture::X86_64),
        is_available: body.properties.provisioning_state.eq_ignore_ascii_case("Succeeded"),
        region: body.location.map(|name| name.replace(' ', "").to_ascii_lowercase()),
        generation: body.properties.hyper_v_generation,
    }))
}

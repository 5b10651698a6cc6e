//! Images that instances start from.

use cloud::{CloudAccount, CloudError, CloudImage};
use reqwest::Method;
use serde::Deserialize;

use super::arm::ArmCall;
use super::ids::{Kind, ResourceId, Subscription};
use super::prepare::GROUPS;
use super::{Azure, ownership};

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
    // Our application reads the subscriptions of all organisations.
    ownership::prove(azure, place).await?;
    let found: Option<ImageBody> = azure.arm.find(place, &ArmCall::get(&resource, kind), "an image").await?;
    Ok(found.map(|body| CloudImage {
        id: id.to_owned(),
        architecture: (kind == Kind::Image).then_some(cloud::Architecture::X86_64),
        is_available: body.properties.provisioning_state.eq_ignore_ascii_case("Succeeded"),
        region: body.location.as_deref().map(location),
        generation: body.properties.hyper_v_generation,
    }))
}

/// Azure writes `West Europe` in some answers and `westeurope` in others.
pub(super) fn location(text: &str) -> String {
    text.replace(' ', "").to_ascii_lowercase()
}

#[derive(Deserialize)]
struct GroupPlace {
    location: String,
}

/// Where an image is. The Image Builder puts one that is not built yet where its resource group is.
pub(super) async fn region(
    azure: &Azure,
    place: &CloudAccount<'_>,
    id: &str,
) -> Result<Option<String>, CloudError> {
    if let Some(image) = image(azure, place, id).await? {
        return Ok(image.region);
    }
    let subscription = Subscription::of(place)?;
    let (resource, _) = ResourceId::parse(id, &subscription, &[Kind::Image, Kind::GalleryImage])?;
    let call = ArmCall::new(Method::GET, subscription.group_path(resource.group()), GROUPS);
    let group: Option<GroupPlace> = azure.arm.find(place, &call, "a resource group").await?;
    Ok(group.map(|group| location(&group.location)))
}

//! Images that instances start from.

use cloud::{Category, CloudAccount, CloudError, CloudImage};
use serde::Deserialize;
use tracing::warn;

use crate::Google;
use crate::call::Call;
use crate::machine_types::architecture;
use crate::paths::ImagePath;

#[derive(Deserialize)]
struct ImageItem {
    #[serde(default)]
    status: String,
    architecture: Option<String>,
}

/// One that we may not see is as good as none: its owner must share it.
pub(super) async fn image(
    google: &Google,
    place: &CloudAccount<'_>,
    id: &str,
) -> Result<Option<CloudImage>, CloudError> {
    let image = ImagePath::parse(id)?;
    google.prove_image(place, &image.project).await?;
    let found: ImageItem = match google.call(place, Call::get(image.path())).await {
        Err(error) if error.is(Category::NotFound) => return Ok(None),
        Err(error) if error.is(Category::Permission) => {
            warn!(target: "google", image = id, "{}: {}", sharing(google, place, &image)?, error.message);
            return Ok(None);
        }
        found => found?,
    };
    Ok(Some(CloudImage {
        id: id.to_owned(),
        architecture: found.architecture.as_deref().and_then(architecture),
        is_available: found.status == "READY",
        region: None,
        generation: None,
    }))
}

/// What the owner of an image has to do.
pub(super) fn sharing(
    google: &Google,
    place: &CloudAccount<'_>,
    image: &ImagePath,
) -> Result<String, CloudError> {
    let email = google.tokens.email(place)?;
    Ok(format!(
        "the image {} is not shared: give roles/compute.imageUser to serviceAccount:{email}",
        image.path()
    ))
}

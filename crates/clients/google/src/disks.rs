//! Disks of a launch that no instance uses any longer.

use cloud::{CloudAccount, CloudError, InstanceRequest, Part, PartKind};
use serde::Deserialize;

use crate::call::Call;
use crate::paths::{Site, is_name};
use crate::{Google, labels};

#[derive(Deserialize)]
struct Disk {
    name: String,
    /// The instances that it is attached to.
    #[serde(default)]
    users: Vec<String>,
}

/// Begins to delete those that are not attached, and answers all that are there.
pub(super) async fn sweep(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
) -> Result<Vec<Part>, CloudError> {
    let site = Site::of(place)?;
    let call = Call::get(site.zonal("disks")).with("filter", labels::filter(&request.launch_tag)?);
    let disks: Vec<Disk> = google.pages(place, call).await?;
    let mut parts = Vec::new();
    for disk in disks {
        if disk.users.is_empty() && is_name(&disk.name) {
            let call = Call::delete(site.zonal(&format!("disks/{}", disk.name)));
            google.begin_deletion(place, call).await?;
        }
        parts.push(Part { kind: PartKind::Disk, id: disk.name });
    }
    Ok(parts)
}

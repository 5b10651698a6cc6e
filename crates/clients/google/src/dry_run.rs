//! Whether a launch would be carried out. Compute Engine has no dry run, so what it would check is asked one by one.

use cloud::{Category, CloudAccount, CloudError, InstanceRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bulk_insert::default_network;
use crate::call::Call;
use crate::error::{invalid, permission};
use crate::images::sharing;
use crate::machine_types::MachineType;
use crate::paths::{ImagePath, Site, SubnetPath, is_name, project};
use crate::quotas::{Need, QuotaItem, check, cpu_metric};
use crate::zones::Zone;
use crate::{Google, labels, names, templates};

/// What a launch and its undo need in the project.
const PERMISSIONS: &[&str] = &[
    "compute.disks.create",
    "compute.disks.delete",
    "compute.disks.get",
    "compute.disks.list",
    "compute.disks.setLabels",
    "compute.instances.create",
    "compute.instances.delete",
    "compute.instances.get",
    "compute.instances.list",
    "compute.instances.setLabels",
    "compute.instances.setMetadata",
    "compute.instances.setTags",
    "compute.machineTypes.get",
    "compute.machineTypes.list",
    "compute.networks.get",
    "compute.projects.get",
    "compute.regions.get",
    "compute.regions.list",
    "compute.subnetworks.use",
    "compute.subnetworks.useExternalIp",
    "compute.zoneOperations.get",
    "compute.zoneOperations.list",
    "compute.zones.get",
    "compute.zones.list",
    "serviceusage.services.use",
];
const OF_TEMPLATES: &[&str] = &[
    "compute.instanceTemplates.get",
    "compute.instanceTemplates.list",
    "compute.instanceTemplates.useReadOnly",
];
const USE_IMAGE: &str = "compute.images.useReadOnly";

#[derive(Deserialize)]
struct GrantedPermissions {
    #[serde(default)]
    permissions: Vec<String>,
}

#[derive(Deserialize)]
struct Region {
    #[serde(default)]
    quotas: Vec<QuotaItem>,
}

pub(super) async fn dry_run(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
) -> Result<(), CloudError> {
    google.prove(place).await?;
    let site = Site::of(place)?;
    names::Names::of(request)?;
    labels::labels(request)?;
    check_permissions(google, place, request, &site).await?;
    if let Some(id) = &request.image {
        check_image(google, place, &ImagePath::parse(id)?).await?;
    }
    if let Some(template) = &request.template {
        templates::find(google, place, template).await?;
    }
    let zone: Option<Zone> =
        google.find_one(place, Call::get(format!("projects/{}/zones/{}", site.project, site.zone))).await?;
    if !zone.is_some_and(|zone| zone.is_up()) {
        let message = format!("the zone {} does not exist, or is closed at the moment", site.zone);
        return Err(CloudError::new(Category::NotFound, "notFound", message));
    }
    check_network(google, place, request, &site).await?;
    check_quotas(google, place, request, &site).await
}

async fn granted(google: &Google, place: &CloudAccount<'_>, call: Call) -> Result<Vec<String>, CloudError> {
    let granted: GrantedPermissions = google.call(place, call).await?;
    Ok(granted.permissions)
}

/// Which permissions of a launch the project does not give.
pub(super) async fn missing(
    google: &Google,
    place: &CloudAccount<'_>,
    with_templates: bool,
) -> Result<Vec<String>, CloudError> {
    let of_templates = if with_templates { OF_TEMPLATES } else { &[] };
    let wanted: Vec<&str> = PERMISSIONS.iter().chain(of_templates).copied().collect();
    let path = format!("projects/{}:testIamPermissions", project(place)?);
    let granted =
        granted(google, place, Call::post(path, json!({"permissions": wanted})).of_projects()).await?;
    let is_missing = |one: &&str| !granted.iter().any(|granted| granted == *one);
    Ok(wanted.into_iter().filter(is_missing).map(str::to_owned).collect())
}

async fn check_permissions(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
    site: &Site,
) -> Result<(), CloudError> {
    let missing = missing(google, place, request.template.is_some()).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let email = google.tokens.email(place)?;
    let message = format!(
        "the project {} does not let {email} do everything: give it a role with {}",
        site.project,
        missing.join(", ")
    );
    Err(permission("MissingPermissions", message))
}

async fn check_image(google: &Google, place: &CloudAccount<'_>, image: &ImagePath) -> Result<(), CloudError> {
    google.prove_image(place, &image.project).await?;
    if image.name.starts_with("family/") {
        // Rights belong to the images of a family.
        return google.call::<Value>(place, Call::get(image.path())).await.map(drop);
    }
    let call =
        Call::post(format!("{}/testIamPermissions", image.path()), json!({"permissions": [USE_IMAGE]}));
    match granted(google, place, call).await {
        Ok(granted) if granted.iter().any(|one| one == USE_IMAGE) => Ok(()),
        Ok(_) => Err(permission("ImageNotShared", sharing(google, place, image)?)),
        Err(error) if error.is(Category::Permission) => {
            Err(permission("ImageNotShared", sharing(google, place, image)?))
        }
        Err(error) => Err(error),
    }
}

async fn check_network(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
    site: &Site,
) -> Result<(), CloudError> {
    match &request.subnet {
        Some(subnet) => {
            let subnet = SubnetPath::parse(subnet, site)?;
            google.prove_project(place, &subnet.project).await?;
            google.call::<Value>(place, Call::get(subnet.path)).await.map(drop)
        }
        None if request.template.is_some() => Ok(()),
        None => {
            let found: Option<Value> = google.find_one(place, Call::get(default_network(site))).await?;
            found.map(drop).ok_or_else(|| {
                let message = format!(
                    "the project {} has no network \"default\": name a subnetwork of the region {}",
                    site.project,
                    site.region()
                );
                invalid("NoDefaultNetwork", message)
            })
        }
    }
}

async fn check_quotas(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
    site: &Site,
) -> Result<(), CloudError> {
    let least = request.least;
    let mut in_region: Vec<Need> = vec![("INSTANCES".to_owned(), least)];
    if request.template.is_none() {
        in_region.push(("IN_USE_ADDRESSES".to_owned(), least));
    }
    let mut in_project = Vec::new();
    if let Some(name) = &request.instance_type {
        if !is_name(name) {
            return Err(invalid("InvalidMachineType", format!("{name:?} is no machine type")));
        }
        let call = Call::get(site.zonal(&format!("machineTypes/{name}")));
        let found: MachineType = google.call(place, call).await?;
        let cpus = found.guest_cpus.saturating_mul(least);
        in_region.push((cpu_metric(&found.name), cpus));
        in_project.push(("CPUS_ALL_REGIONS".to_owned(), cpus));
    }
    let path = format!("projects/{}/regions/{}", site.project, site.region());
    let region: Region = google.call(place, Call::get(path)).await?;
    check(site.region(), &region.quotas, &in_region)?;
    if in_project.is_empty() {
        return Ok(());
    }
    check("the project", &google.project(place).await?.quotas, &in_project)
}

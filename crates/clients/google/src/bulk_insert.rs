//! The call that makes all instances of a launch.

use cloud::{CloudAccount, CloudError, InstanceRequest};
use serde_json::{Map, Value, json};
use tracing::warn;

use crate::Google;
use crate::call::Call;
use crate::error::invalid;
use crate::labels::labels;
use crate::names::Names;
use crate::operations::Operation;
use crate::paths::{ImagePath, Site, SubnetPath, is_name};
use crate::templates;
use crate::user_data::UserData;

/// Who logs in to an instance of an image from the Image Builder.
const USER: &str = "gcp-user";

pub(super) async fn bulk_insert(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
    names: &Names,
    request_id: &str,
) -> Result<Operation, CloudError> {
    let site = Site::of(place)?;
    let mut body = json!({
        "count": request.most.to_string(),
        "minCount": request.least.to_string(),
        "perInstanceProperties": named(&names.instances),
    });
    let mut metadata = Vec::new();
    if let Some(wanted) = &request.template {
        let (template, path) = templates::find(google, place, wanted).await?;
        body["sourceInstanceTemplate"] = path.into();
        metadata = template.metadata();
    }
    body["instanceProperties"] = properties(google, place, request, &site, metadata).await?;
    let call = Call::post(site.zonal("instances/bulkInsert"), body).with("requestId", request_id);
    google.call(place, call).await
}

fn named(names: &[String]) -> Map<String, Value> {
    names.iter().map(|name| (name.clone(), json!({"name": name}))).collect()
}

/// What a template says is replaced by what stands here, lists as a whole.
async fn properties(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
    site: &Site,
    of_template: Vec<(String, String)>,
) -> Result<Value, CloudError> {
    let labels = labels(request)?;
    let mut properties = json!({"labels": labels});
    match &request.instance_type {
        // A link in its place would end in an internal error of the cloud.
        Some(name) if is_name(name) => properties["machineType"] = name.as_str().into(),
        Some(name) => return Err(invalid("InvalidMachineType", format!("{name:?} is no machine type"))),
        None if request.template.is_none() => {
            return Err(invalid("InvalidMachineType", "a launch without a template needs an instance type"));
        }
        None => {}
    }
    if let Some(id) = &request.image {
        let image = ImagePath::parse(id)?;
        google.prove_image(place, &image.project).await?;
        properties["disks"] = json!([{
            "boot": true, "autoDelete": true, "type": "PERSISTENT",
            "initializeParams": {"sourceImage": image.path(), "labels": labels},
        }]);
    }
    if let Some(network) = network(google, place, request, site).await? {
        properties["networkInterfaces"] = network;
    }
    let items = items(request, of_template)?;
    if !items.is_empty() {
        properties["metadata"] = json!({"items": items});
    }
    if request.template.is_none() {
        // Without one an instance can do nothing in the project.
        properties["serviceAccounts"] = json!([]);
    }
    Ok(properties)
}

/// A template brings its own network, unless another one is named.
async fn network(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
    site: &Site,
) -> Result<Option<Value>, CloudError> {
    let mut interface = json!({"accessConfigs": [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}]});
    match &request.subnet {
        Some(subnet) => {
            let subnet = SubnetPath::parse(subnet, site)?;
            google.prove_project(place, &subnet.project).await?;
            interface["subnetwork"] = subnet.path.into();
        }
        None if request.template.is_some() => return Ok(None),
        None => interface["network"] = default_network(site).into(),
    }
    Ok(Some(json!([interface])))
}

pub(super) fn default_network(site: &Site) -> String {
    format!("projects/{}/global/networks/default", site.project)
}

/// Ours win over those of the template.
fn items(request: &InstanceRequest, of_template: Vec<(String, String)>) -> Result<Vec<Value>, CloudError> {
    let mut items = Vec::new();
    if let Some(key) = &request.key {
        items.push(("ssh-keys", format!("{USER}:{}", key.line.trim())));
    }
    if let Some(text) = &request.user_data {
        let data = UserData::of(text, &request.launch_tag)?;
        if data.cloud_init.is_some() {
            warn!(
                target: "google",
                "the user data needs cloud-init, which images of the Image Builder do not have: use a script"
            );
        }
        items.extend(data.startup_script.map(|script| ("startup-script", script)));
        items.extend(data.cloud_init.map(|text| ("user-data", text)));
    }
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let is_ours = |key: &str| items.iter().any(|(ours, _)| *ours == key);
    let theirs = of_template.into_iter().filter(|(key, _)| !is_ours(key));
    let theirs = theirs.map(|(key, value)| json!({"key": key, "value": value}));
    let all = theirs.chain(items.iter().map(|(key, value)| json!({"key": key, "value": value}))).collect();
    Ok(all)
}

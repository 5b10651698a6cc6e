//! What a resource looks like to a client.

use serde_json::{Value, json};

use super::operations::moment;
use super::resource::{ArmKind, ArmResource, ArmStage};
use super::service_members;
use super::target;
use super::world::AzureState;

impl AzureState {
    pub(super) fn view(&self, resource: &ArmResource, expand: Option<&str>) -> Value {
        let mut properties = resource.properties.clone();
        properties["provisioningState"] = json!(resource.state());
        service_members::complete(resource, &mut properties);
        match resource.key.kind {
            ArmKind::Vm => Self::complete_vm(resource, &mut properties, expand),
            ArmKind::Nic => self.complete_nic(&mut properties, expand),
            ArmKind::PublicIp => {
                // It is known from the beginning, and shown when it can be used.
                if let Some(address) = resource.address.filter(|_| resource.stage != ArmStage::Creating) {
                    properties["ipAddress"] = json!(address);
                }
            }
            ArmKind::Disk => {
                let owner = self.owner_of_disk(resource);
                properties["diskState"] = json!(if owner.is_some() { "Attached" } else { "Unattached" });
            }
            _ => {}
        }
        let mut body = json!({
            "name": resource.name,
            "id": resource.id(),
            "type": resource.key.kind.path(),
            "location": resource.location,
            "properties": properties,
        });
        if !resource.tags.is_empty() {
            body["tags"] = json!(resource.tags);
        }
        if let Some(sku) = &resource.sku {
            body["sku"] = sku.clone();
            if resource.key.kind == ArmKind::PublicIp && sku.get("tier").is_none() {
                body["sku"]["tier"] = json!("Regional");
            }
        }
        if resource.key.kind.namespace() == "Microsoft.Network" {
            body["etag"] = json!(format!("W/\"{}\"", resource.etag));
        }
        body
    }

    fn complete_vm(vm: &ArmResource, properties: &mut Value, expand: Option<&str>) {
        // Written once, and never read back.
        if let Some(profile) = properties["osProfile"].as_object_mut() {
            profile.remove("customData");
        }
        let nics = properties.pointer_mut("/networkProfile/networkInterfaces").and_then(Value::as_array_mut);
        for nic in nics.into_iter().flatten() {
            nic["id"] = json!(in_other_case(nic["id"].as_str().unwrap_or_default()));
        }
        if expand.is_some_and(|expand| expand.eq_ignore_ascii_case("instanceView")) {
            properties["instanceView"] = json!({"statuses": statuses(vm)});
        }
    }

    fn complete_nic(&self, properties: &mut Value, expand: Option<&str>) {
        if !expand.is_some_and(|expand| expand.eq_ignore_ascii_case("ipConfigurations/publicIPAddress")) {
            return;
        }
        let configurations = properties["ipConfigurations"].as_array_mut();
        for configuration in configurations.into_iter().flatten() {
            let ip = configuration.pointer("/properties/publicIPAddress/id").and_then(Value::as_str);
            let ip = ip.and_then(target::reference).and_then(|key| self.resources.get(&key));
            if let Some(ip) = ip {
                configuration["properties"]["publicIPAddress"] = self.view(ip, None);
            }
        }
    }

    /// The instance whose disk it is.
    pub(super) fn owner_of_disk(&self, disk: &ArmResource) -> Option<&ArmResource> {
        self.resources.values().find(|one| {
            let name = one.properties.pointer("/storageProfile/osDisk/name").and_then(Value::as_str);
            one.key.kind == ArmKind::Vm
                && one.key.subscription == disk.key.subscription
                && one.key.group == disk.key.group
                && name.is_some_and(|name| name.eq_ignore_ascii_case(&disk.name))
        })
    }
}

fn statuses(vm: &ArmResource) -> Vec<Value> {
    // A state of power has no time, and only a failure is explained.
    let status = |code: String| json!({"code": code, "level": "Info", "displayStatus": "state"});
    let stage = |name: &str| {
        let mut status = status(format!("ProvisioningState/{name}"));
        status["time"] = json!(moment(vm.created_at));
        status
    };
    let mut all = match (&vm.failure, vm.stage) {
        (Some(why), ArmStage::Failed) => {
            let mut failed = stage(&format!("failed/{}", why.code));
            failed["level"] = json!("Error");
            failed["message"] = json!(why.message);
            vec![failed]
        }
        (_, ArmStage::Creating) => vec![stage("creating")],
        (_, ArmStage::Deleting) => vec![stage("deleting")],
        _ => vec![stage("succeeded")],
    };
    if vm.is_running() {
        all.push(status("PowerState/running".into()));
    }
    all
}

/// Azure writes the ids to which it refers in a case of its own.
fn in_other_case(id: &str) -> String {
    let mut parts: Vec<String> = id.split('/').map(str::to_owned).collect();
    if let Some(group) = parts.get_mut(4) {
        *group = group.to_ascii_uppercase();
    }
    parts.join("/")
}

//! Members that Azure writes into its answers and no client sends.

use serde_json::{Value, json};
use uuid::Uuid;

use super::operations::moment;
use super::resource::{ArmKind, ArmResource};

/// Adds what is missing. What a client sent stays as it is.
pub(super) fn complete(resource: &ArmResource, properties: &mut Value) {
    let is_ready = resource.state() != "Creating";
    let guid = json!(Uuid::from_u128(resource.created_at.unix_timestamp_nanos().unsigned_abs()));
    match resource.key.kind {
        ArmKind::Network => fill(
            properties,
            &json!({"resourceGuid": guid, "virtualNetworkPeerings": [], "enableDdosProtection": false}),
        ),
        ArmKind::Nsg => fill(properties, &json!({"resourceGuid": guid})),
        ArmKind::PublicIp => fill(
            properties,
            &json!({
                "resourceGuid": guid,
                "idleTimeoutInMinutes": 4,
                "ipTags": [],
                "ddosSettings": {"protectionMode": "VirtualNetworkInherited"},
            }),
        ),
        ArmKind::Nic => complete_nic(resource, properties, &guid),
        ArmKind::Vm => complete_vm(resource, properties, is_ready),
        ArmKind::Disk => fill(
            properties,
            &json!({"timeCreated": moment(resource.created_at), "uniqueId": guid, "encryption": {"type": "EncryptionAtRestWithPlatformKey"}}),
        ),
        ArmKind::Group | ArmKind::Image => {}
    }
}

fn complete_nic(nic: &ArmResource, properties: &mut Value, guid: &Value) {
    let dns = json!({
        "dnsServers": [], "appliedDnsServers": [], "internalDomainNameSuffix": "sandbox.xx.internal.cloudapp.net",
    });
    fill(
        properties,
        &json!({
            "resourceGuid": guid,
            "dnsSettings": dns,
            "enableAcceleratedNetworking": false,
            "enableIPForwarding": false,
            "hostedWorkloads": [],
            "nicType": "Standard",
            "tapConfigurations": [],
            "vnetEncryptionSupported": false,
        }),
    );
    for configuration in properties["ipConfigurations"].as_array_mut().into_iter().flatten() {
        let name = configuration["name"].as_str().unwrap_or_default();
        let members = json!({
            "id": format!("{}/ipConfigurations/{name}", nic.id()),
            "etag": format!("W/\"{}\"", nic.etag),
            "type": "Microsoft.Network/networkInterfaces/ipConfigurations",
            "properties": {"primary": true, "privateIPAddressVersion": "IPv4"},
        });
        fill(configuration, &members);
    }
}

fn complete_vm(vm: &ArmResource, properties: &mut Value, is_ready: bool) {
    fill(
        properties,
        &json!({
            "timeCreated": moment(vm.created_at),
            "storageProfile": {
                "dataDisks": [],
                "osDisk": {
                    "osType": "Linux", "caching": "ReadWrite", "deleteOption": "Detach", "diskSizeGB": 10,
                    "managedDisk": {"storageAccountType": "Standard_LRS"},
                },
            },
            "osProfile": {
                "secrets": [],
                "allowExtensionOperations": true,
                "requireGuestProvisionSignal": true,
                "linuxConfiguration": {
                    "disablePasswordAuthentication": false,
                    "provisionVMAgent": true,
                    "patchSettings": {"patchMode": "ImageDefault", "assessmentMode": "ImageDefault"},
                },
            },
        }),
    );
    let disk = &mut properties["storageProfile"]["osDisk"];
    if is_ready && let Some(name) = disk["name"].as_str() {
        let id = vm.id();
        let group = id.split("/providers/").next().unwrap_or_default();
        disk["managedDisk"]["id"] = json!(format!("{group}/providers/{}/{name}", ArmKind::Disk.path()));
    }
}

fn fill(into: &mut Value, members: &Value) {
    let (Some(into), Some(members)) = (into.as_object_mut(), members.as_object()) else { return };
    for (name, value) in members {
        match into.get_mut(name) {
            None => drop(into.insert(name.clone(), value.clone())),
            Some(there) => fill(there, value),
        }
    }
}

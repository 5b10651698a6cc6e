//! The bodies of the resources that a launch makes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::{Category, CloudError};
use serde_json::{Value, json};

use super::ids::{Kind, ResourceId};
use super::launch::{LaunchNames, SUBNET};

/// Who logs in, as the hosted service had it.
const USER: &str = "azureuser";
/// The private network of a launch; nothing else is in it.
const NETWORK: &str = "172.22.0.0/16";
const USER_DATA_BYTES_MAX: usize = 65_535;

pub(super) fn group(launch: &LaunchNames<'_>) -> Value {
    json!({"location": launch.location, "tags": launch.tags})
}

pub(super) fn security_group(launch: &LaunchNames<'_>, ssh_from: &[String]) -> Value {
    let rule = json!({
        "name": "ssh",
        "properties": {
            "protocol": "Tcp",
            "sourcePortRange": "*",
            "destinationPortRange": "22",
            "sourceAddressPrefixes": ssh_from,
            "destinationAddressPrefix": "*",
            "access": "Allow",
            "priority": 100,
            "direction": "Inbound",
        },
    });
    // Azure takes a star only where one address is named, and no rule at all closes the port.
    let rules = match ssh_from {
        [] => json!([]),
        [one] => {
            let mut rule = rule;
            rule["properties"]["sourceAddressPrefix"] = json!(one);
            rule["properties"]["sourceAddressPrefixes"] = json!([]);
            json!([rule])
        }
        _ => json!([rule]),
    };
    json!({"location": launch.location, "tags": launch.tags, "properties": {"securityRules": rules}})
}

pub(super) fn network(launch: &LaunchNames<'_>) -> Value {
    let security_group = launch.security_group.clone().unwrap_or_else(|| launch.own_security_group());
    let subnet = json!({
        "name": SUBNET,
        "properties": {
            "addressPrefix": NETWORK,
            "networkSecurityGroup": {"id": security_group.as_str()},
        },
    });
    json!({
        "location": launch.location,
        "tags": launch.tags,
        "properties": {"addressSpace": {"addressPrefixes": [NETWORK]}, "subnets": [subnet]},
    })
}

pub(super) fn public_ip(launch: &LaunchNames<'_>) -> Value {
    json!({
        "location": launch.location,
        "tags": launch.tags,
        "sku": {"name": "Standard"},
        "properties": {"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4", "deleteOption": "Delete"},
    })
}

pub(super) fn nic(launch: &LaunchNames<'_>, number: u32) -> Value {
    let mut properties = json!({
        "ipConfigurations": [{
            "name": "primary",
            "properties": {
                "primary": true,
                "privateIPAllocationMethod": "Dynamic",
                "subnet": {"id": launch.subnet().as_str()},
                "publicIPAddress": {"id": launch.ip(number).as_str(), "properties": {"deleteOption": "Delete"}},
            },
        }],
    });
    // In a network of ours the subnet has it already.
    if let (Some(group), Some(_)) = (&launch.security_group, &launch.subnet) {
        properties["networkSecurityGroup"] = json!({"id": group.as_str()});
    }
    json!({"location": launch.location, "tags": launch.tags, "properties": properties})
}

pub(super) fn vm(launch: &LaunchNames<'_>, number: u32) -> Result<Value, CloudError> {
    let request = launch.request;
    let image = image_id(launch)?;
    let size = request.instance_type.as_deref().ok_or_else(|| missing("an instance type"))?;
    let key = request.key.as_ref().ok_or_else(|| missing("a public key"))?;
    let name = launch.vm_name(number);
    let mut os_profile = json!({
        "computerName": name,
        "adminUsername": USER,
        "linuxConfiguration": {
            "disablePasswordAuthentication": true,
            "ssh": {"publicKeys": [{
                "path": format!("/home/{USER}/.ssh/authorized_keys"),
                "keyData": key.line,
            }]},
        },
    });
    // Not `userData`, which every reader of the subscription can read back.
    if let Some(text) = &request.user_data {
        if text.len() > USER_DATA_BYTES_MAX {
            let message =
                format!("the user data has {} bytes and may have {USER_DATA_BYTES_MAX}", text.len());
            return Err(CloudError::new(Category::Invalid, "InvalidUserData", message));
        }
        os_profile["customData"] = json!(STANDARD.encode(text));
    }
    Ok(json!({
        "location": launch.location,
        "tags": launch.tags,
        "properties": {
            "hardwareProfile": {"vmSize": size},
            "storageProfile": {
                "imageReference": {"id": image.as_str()},
                "osDisk": {
                    "name": launch.disk(number).name(),
                    "createOption": "FromImage",
                    "deleteOption": "Delete",
                    "managedDisk": {"storageAccountType": "Standard_LRS"},
                },
            },
            "osProfile": os_profile,
            "networkProfile": {"networkInterfaces": [{
                "id": launch.nic(number).as_str(),
                "properties": {"primary": true, "deleteOption": "Delete"},
            }]},
        },
    }))
}

pub(super) fn image_id(launch: &LaunchNames<'_>) -> Result<ResourceId, CloudError> {
    let image = launch.request.image.as_deref().ok_or_else(|| missing("an image"))?;
    let kinds = [Kind::Image, Kind::GalleryImage];
    ResourceId::parse(image, &launch.subscription, &kinds).map(|(id, _)| id)
}

fn missing(what: &str) -> CloudError {
    let message = format!("an instance of Azure needs {what}: name one");
    CloudError::new(Category::Invalid, "IncompleteRequest", message)
}

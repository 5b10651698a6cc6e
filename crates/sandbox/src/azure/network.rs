//! Security groups, networks, public addresses and network interfaces, each checked for what it refers to.

use serde_json::{Value, json};

use super::call_error::ArmError;
use super::put::{Making, NewResource};
use super::resource::{ArmKey, ArmKind, ArmResource, ArmStage};
use super::target::{self, ArmTarget};
use super::world::AzureState;

impl AzureState {
    pub(super) fn make_network(&mut self, new: &NewResource<'_>) -> Result<Making, ArmError> {
        let mut properties = new.body.properties.clone().unwrap_or_else(|| json!({}));
        let mut at_once = false;
        match new.key.kind {
            ArmKind::Nsg => check_rules(&properties)?,
            ArmKind::Network => self.check_network(new, &mut properties)?,
            ArmKind::PublicIp => check_ip(new)?,
            _ => {
                self.check_nic(new, &properties)?;
                self.nics_made += u32::from(!self.resources.contains_key(new.key));
                // Azure finishes some of them with the answer.
                at_once = self.nics_made % 2 == 1;
                self.complete_nic_body(new.key, &mut properties);
            }
        }
        let lasts_ms = self.controls.delay_times.network_ms;
        Ok(Making { properties, lasts_ms, failure: None, at_once })
    }

    fn check_network(&self, new: &NewResource<'_>, properties: &mut Value) -> Result<(), ArmError> {
        if properties.pointer("/addressSpace/addressPrefixes/0").is_none() {
            return Err(ArmError::new(400, "InvalidRequestFormat", "a network needs addressPrefixes"));
        }
        let id = |name: &str| format!("{}/subnets/{name}", id_of(new.key));
        for subnet in properties["subnets"].as_array_mut().into_iter().flatten() {
            let name = subnet["name"].as_str().unwrap_or_default().to_owned();
            if let Some(nsg) = subnet.pointer("/properties/networkSecurityGroup/id") {
                self.referred(new, nsg, ArmKind::Nsg)?;
            }
            subnet["id"] = json!(id(&name));
        }
        // A network that is put again has the subnets of the body and no others.
        let names: Vec<&str> = properties["subnets"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["name"].as_str())
            .collect();
        let used = self.subnets_in_use(new.key);
        if used.iter().any(|name| !names.iter().any(|one| one.eq_ignore_ascii_case(name))) {
            let message = "a subnet that would go is in use";
            return Err(ArmError::new(400, "InUseSubnetCannotBeDeleted", message));
        }
        Ok(())
    }

    /// The names of the subnets that network interfaces are in.
    pub(super) fn subnets_in_use(&self, network: &ArmKey) -> Vec<String> {
        let nics = self.resources.values().filter(|one| one.key.kind == ArmKind::Nic);
        let ids = nics.flat_map(|nic| nic.each("/ipConfigurations", "/properties/subnet/id"));
        let subnet = |id: &Value| match target::read(id.as_str()?)? {
            (_, ArmTarget::Subnet { network: of, name }) if of == *network => Some(name),
            _ => None,
        };
        ids.filter_map(subnet).collect()
    }

    fn check_nic(&self, new: &NewResource<'_>, properties: &Value) -> Result<(), ArmError> {
        let configurations = properties["ipConfigurations"].as_array().map(Vec::as_slice).unwrap_or_default();
        if configurations.is_empty() {
            return Err(ArmError::new(400, "MissingIpConfiguration", "a network interface needs one"));
        }
        for configuration in configurations {
            let subnet = configuration.pointer("/properties/subnet/id");
            self.check_subnet(new, subnet.and_then(Value::as_str).unwrap_or_default())?;
            let Some(ip) = configuration.pointer("/properties/publicIPAddress/id") else { continue };
            let ip = self.referred(new, ip, ArmKind::PublicIp)?;
            if ip.stage == ArmStage::Creating {
                let message = format!("the public address '{}' is not in Succeeded state", ip.name);
                return Err(ArmError::not_ready(message));
            }
            if self.nic_of_ip(&ip.key).is_some_and(|nic| nic.key != *new.key) {
                let message = format!("the public address '{}' is in use", ip.name);
                return Err(ArmError::new(400, "PublicIPAddressInUse", message));
            }
        }
        if let Some(nsg) = properties.pointer("/networkSecurityGroup/id") {
            self.referred(new, nsg, ArmKind::Nsg)?;
        }
        Ok(())
    }

    fn check_subnet(&self, new: &NewResource<'_>, id: &str) -> Result<(), ArmError> {
        let found = match target::read(id) {
            Some((_, ArmTarget::Subnet { network, name })) => {
                self.resources.get(&network).filter(|network| {
                    let mut names = network.each("/subnets", "/name").filter_map(Value::as_str);
                    network.location == new.location && names.any(|one| one.eq_ignore_ascii_case(&name))
                })
            }
            _ => None,
        };
        match found {
            None => Err(missing_reference(id)),
            Some(network) if network.stage == ArmStage::Creating => {
                Err(ArmError::not_ready(format!("the subnet {id} is not in Succeeded state")))
            }
            Some(_) => Ok(()),
        }
    }

    /// Another resource of this kind and location, which must be there.
    pub(super) fn referred(
        &self,
        new: &NewResource<'_>,
        id: &Value,
        kind: ArmKind,
    ) -> Result<&ArmResource, ArmError> {
        let id = id.as_str().unwrap_or_default();
        let found = target::reference(id).and_then(|key| self.resources.get(&key));
        let fits = |one: &&ArmResource| {
            one.key.kind == kind && one.location == new.location && one.stage != ArmStage::Deleting
        };
        found.filter(fits).ok_or_else(|| missing_reference(id))
    }

    pub(super) fn nic_of_ip(&self, ip: &ArmKey) -> Option<&ArmResource> {
        let is_of = |nic: &&ArmResource| {
            let mut ids = nic.each("/ipConfigurations", "/properties/publicIPAddress/id");
            nic.key.kind == ArmKind::Nic
                && ids.any(|id| id.as_str().and_then(target::reference).as_ref() == Some(ip))
        };
        self.resources.values().find(is_of)
    }

    fn complete_nic_body(&self, key: &ArmKey, properties: &mut Value) {
        let before = self
            .resources
            .get(key)
            .and_then(|nic| nic.each("/ipConfigurations", "/properties/privateIPAddress").next().cloned());
        let number = self.nics_made + 3;
        let private =
            before.unwrap_or_else(|| json!(format!("172.22.{}.{}", number / 250, number % 250 + 4)));
        for configuration in properties["ipConfigurations"].as_array_mut().into_iter().flatten() {
            configuration["properties"]["privateIPAddress"] = private.clone();
            configuration["properties"]["provisioningState"] = json!("Succeeded");
        }
    }
}

fn id_of(key: &ArmKey) -> String {
    let ArmKey { subscription, group, kind, name } = key;
    format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/{}/{name}", kind.path())
}

fn missing_reference(id: &str) -> ArmError {
    let message = format!("the resource {id} that is referenced was not found, or is in another location");
    ArmError::new(400, "InvalidResourceReference", message)
}

fn check_rules(properties: &Value) -> Result<(), ArmError> {
    for rule in properties["securityRules"].as_array().into_iter().flatten() {
        let is_there =
            |name: &str| rule.pointer(&format!("/properties/{name}")).is_some_and(|one| !one.is_null());
        let needed = ["protocol", "access", "priority", "direction", "destinationPortRange"];
        let has_source = is_there("sourceAddressPrefix") || is_there("sourceAddressPrefixes");
        if !has_source || !needed.into_iter().all(is_there) {
            return Err(ArmError::new(400, "SecurityRuleInvalid", "a security rule is incomplete"));
        }
    }
    Ok(())
}

/// The basic kind cannot be made any more.
fn check_ip(new: &NewResource<'_>) -> Result<(), ArmError> {
    let sku = new.body.sku.as_ref().and_then(|sku| sku["name"].as_str());
    if sku != Some("Standard") {
        let message = "cannot create more than 0 public IP addresses of the Basic SKU";
        return Err(ArmError::new(400, "IPv4BasicSkuPublicIpCountLimitReached", message));
    }
    let method = new.body.properties.as_ref().and_then(|one| one["publicIPAllocationMethod"].as_str());
    if method != Some("Static") {
        return Err(ArmError::invalid("a standard public address is static"));
    }
    Ok(())
}

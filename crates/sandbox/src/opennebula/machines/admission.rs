//! What oned checks before a machine is made, and what it says when it does not make it.

use super::NebulaError;
use crate::opennebula::call_error::{ALLOCATE, AUTHORIZATION};
use crate::opennebula::documents::check_new_name;
use crate::opennebula::release::Release;
use crate::opennebula::template::{TemplateText, Vector};
use crate::opennebula::users::AuthenticatedUser;

/// The only image that there is, and its size in megabytes.
const IMAGE: &str = "function-image";
pub(super) const IMAGE_ID: i32 = 0;
pub(super) const IMAGE_SIZE: u64 = 1024;

/// What ordinary users may not set from 7.4 on.
pub(crate) const RESTRICTED: &str = "RAW";

/// Of the image and the networks.
const OWNER: &str = "oneadmin";
const OWNER_UID: i32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    pub(super) id: i32,
    name: &'static str,
    /// It has a gateway and a mask.
    pub(super) is_routed: bool,
}

const NETWORKS: [Network; 2] = [
    Network { id: 0, name: "edge-net", is_routed: true },
    Network { id: 1, name: "bare-net", is_routed: false },
];

impl Network {
    /// A NIC that names none gets the first one.
    pub(super) fn of(nic: &Vector) -> Network {
        let is_meant = |network: &&Network| {
            nic.get("NETWORK_ID").is_some_and(|id| *id == network.id.to_string())
                || nic.get("NETWORK").is_some_and(|name| name == network.name)
        };
        NETWORKS.iter().find(is_meant).copied().unwrap_or(NETWORKS[0])
    }
}

/// A machine that is asked for, with its VM template and the extra template merged.
pub(super) struct Admission<'a> {
    pub(super) release: Release,
    pub(super) caller: &'a AuthenticatedUser,
    pub(super) name: &'a str,
    pub(super) template: &'a TemplateText,
    pub(super) has_onegate: bool,
}

impl Admission<'_> {
    pub(super) fn check(&self) -> Result<(), NebulaError> {
        self.check_raw()?;
        self.check_quota()?;
        if !self.name.is_empty() {
            check_new_name(self.name).or_else(|why| refuse(&why.message))?;
        }
        self.check_capacity()?;
        for (position, disk) in self.template.vectors("DISK").enumerate() {
            self.check_disk(disk).or_else(|why| refuse(&format!("DISK {position}: {why}")))?;
        }
        for nic in self.template.vectors("NIC") {
            self.check_nic(nic).or_else(|why| refuse(&why))?;
        }
        let says_yes = |context: &Vector| context.get("TOKEN").is_some_and(|value| value == "YES");
        if !self.has_onegate && self.template.vectors("CONTEXT").any(says_yes) {
            return refuse("TOKEN set, but onegate endpoint was not defined in oned.conf.");
        }
        Ok(())
    }

    fn check_raw(&self) -> Result<(), NebulaError> {
        if !self.template.has(RESTRICTED) {
            return Ok(());
        }
        match self.release {
            Release::Seven if !self.caller.is_admin() => {
                let why = format!("User Template includes a restricted attribute {RESTRICTED}.");
                Err(NebulaError::new(AUTHORIZATION, why))
            }
            _ if self.template.vectors(RESTRICTED).all(|raw| raw.contains_key("TYPE")) => Ok(()),
            _ => refuse("Invalid RAW section: unsupported TYPE"),
        }
    }

    /// The quotas of 6.8 meet a negative value before anything else does.
    fn check_quota(&self) -> Result<(), NebulaError> {
        if self.release != Release::Six || self.caller.is_admin() {
            return Ok(());
        }
        let is_negative =
            |name| self.template.get(name).and_then(|text| text.parse::<f64>().ok()).is_some_and(|n| n < 0.0);
        let why = match () {
            () if is_negative("MEMORY") => NO_MEMORY,
            () if is_negative("CPU") => NO_CPU,
            () => return Ok(()),
        };
        let uid = self.caller.uid;
        Err(NebulaError::new(AUTHORIZATION, format!("User [{uid}] : user [{uid}] {why}")))
    }

    fn check_capacity(&self) -> Result<(), NebulaError> {
        let value = |name| self.template.get(name);
        let is_positive = |name| value(name).and_then(|text| text.parse::<i64>().ok()).is_some_and(|n| n > 0);
        if !is_positive("MEMORY") {
            return refuse(NO_MEMORY);
        }
        if value("CPU").and_then(|text| text.parse::<f64>().ok()).is_none_or(|cpu| cpu <= 0.0) {
            return refuse(NO_CPU);
        }
        if self.template.has("VCPU") && !is_positive("VCPU") {
            return refuse("VCPU attribute must be a positive integer value.");
        }
        Ok(())
    }

    fn check_disk(&self, disk: &Vector) -> Result<(), String> {
        match (disk.get("IMAGE_ID"), disk.get("IMAGE")) {
            (Some(id), _) if *id != IMAGE_ID.to_string() => {
                return Err(format!("Image with ID: {id} does not exist"));
            }
            (None, Some(name)) => {
                let uid = self.owner_of(disk, "IMAGE");
                if name != IMAGE || uid != OWNER_UID {
                    return Err(not_owned(uid, "an image", name, "IMAGE", "DISK"));
                }
            }
            (None, None) => return Ok(()),
            _ => {}
        }
        match disk.get("SIZE").and_then(|size| size.parse::<u64>().ok()) {
            Some(size) if size < IMAGE_SIZE => {
                Err(format!("SIZE of {size}MB is less than the image [{IMAGE_ID}] size of {IMAGE_SIZE}MB."))
            }
            _ => Ok(()),
        }
    }

    fn check_nic(&self, nic: &Vector) -> Result<(), String> {
        let Some(name) = nic.get("NETWORK").filter(|_| !nic.contains_key("NETWORK_ID")) else {
            return Ok(());
        };
        let uid = self.owner_of(nic, "NETWORK");
        if uid != OWNER_UID || NETWORKS.iter().all(|network| network.name != name) {
            return Err(not_owned(uid, "a network", name, "NETWORK", "NIC"));
        }
        Ok(())
    }

    /// The user who is named beside the thing, or the caller.
    fn owner_of(&self, vector: &Vector, kind: &str) -> i32 {
        if let Some(uid) = vector.get(&format!("{kind}_UID")) {
            return uid.parse().unwrap_or(-1);
        }
        match vector.get(&format!("{kind}_UNAME")).map(String::as_str) {
            None => self.caller.uid,
            Some(OWNER) => OWNER_UID,
            Some(name) if name == self.caller.name => self.caller.uid,
            Some(_) => -1,
        }
    }
}

const NO_MEMORY: &str = "MEMORY attribute must be a positive integer value.";
const NO_CPU: &str = "CPU attribute must be a positive float or integer value.";

fn not_owned(uid: i32, what: &str, name: &str, kind: &str, place: &str) -> String {
    format!(
        "User {uid} does not own {what} with name: {name} . Set {kind}_UNAME or {kind}_UID of owner in {place}."
    )
}

pub(super) fn refuse<T>(why: &str) -> Result<T, NebulaError> {
    Err(NebulaError::new(ALLOCATE, format!("Error allocating a new virtual machine template. {why}")))
}

//! The networks of a cluster, and the networks that may reach its API server.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

const PODS: &str = "10.96.0.0/13";
const SERVICES: &str = "10.104.0.0/13";
/// Control planes live here, so no cluster may.
const RESERVED: [&str; 8] = [
    "10.243.128.0/17",
    "10.242.0.0/16",
    "10.243.0.0/17",
    "10.64.0.0/11",
    "10.254.0.0/16",
    "10.243.0.0/16",
    "192.168.123.0/24",
    "240.0.0.0/8",
];
/// The nodes share their network among zones, so a smaller one has no room for them.
const NODES_PREFIX_MAX: u8 = 23;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Networking {
    pub nodes: Option<String>,
    pub pods: Option<String>,
    pub services: Option<String>,
    /// IPv6 beside IPv4.
    pub dual_stack: Option<bool>,
}

/// Who may reach the API server; an empty list is everyone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessControlList {
    #[serde(rename = "allowedCIDRs")]
    pub allowed_cidrs: Vec<String>,
}

impl Networking {
    pub(super) fn check(&self) -> Result<(), String> {
        let place = |field: &str| format!("parameters.networking.{field}");
        let read = |field: &str, text: &str| {
            Cidr::read(text)
                .map_err(|rule| format!("{}: {rule}", place(field)))
                .map(|cidr| (place(field), cidr))
        };
        let nodes = self.nodes.as_deref().map(|text| read("nodes", text)).transpose()?;
        if nodes.as_ref().is_some_and(|(_, cidr)| cidr.prefix > NODES_PREFIX_MAX) {
            return Err(format!("{}: the prefix must be at most /{NODES_PREFIX_MAX}", place("nodes")));
        }
        let pods = read("pods", self.pods.as_deref().unwrap_or(PODS))?;
        let services = read("services", self.services.as_deref().unwrap_or(SERVICES))?;
        let all: Vec<(String, Cidr)> = nodes.into_iter().chain([pods, services]).collect();
        for (at, (place, cidr)) in all.iter().enumerate() {
            if let Some(reserved) =
                RESERVED.iter().find(|text| Cidr::read(text).is_ok_and(|it| it.meets(cidr)))
            {
                return Err(format!("{place}: must not overlap {reserved}, where control planes live"));
            }
            if let Some((other, _)) = all[..at].iter().find(|(_, other)| other.meets(cidr)) {
                return Err(format!("{place}: must not overlap {other}"));
            }
        }
        Ok(())
    }
}

impl AccessControlList {
    pub(super) fn check(&self) -> Result<(), String> {
        let bad = |(at, text): (usize, &String)| Cidr::read(text).err().map(|rule| (at, rule));
        match self.allowed_cidrs.iter().enumerate().find_map(bad) {
            Some((at, rule)) => Err(format!("parameters.accessControlList.allowedCIDRs.{at}: {rule}")),
            None => Ok(()),
        }
    }
}

/// A network, as its first address and the length of what is common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cidr {
    first: u128,
    prefix: u8,
    bits: u8,
}

impl Cidr {
    fn read(text: &str) -> Result<Cidr, &'static str> {
        const RULE: &str = "must be a network such as 10.250.0.0/20";
        let (address, prefix) = text.split_once('/').ok_or(RULE)?;
        let address: IpAddr = address.parse().map_err(|_| RULE)?;
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u8 = prefix.parse().ok().filter(|_| is_number).ok_or(RULE)?;
        let (first, bits) = match address {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
            IpAddr::V6(v6) => (v6.to_bits(), 128),
        };
        let cidr = Cidr { first, prefix, bits };
        match () {
            () if prefix > bits => Err(RULE),
            () if cidr.common(first) != first => Err("must begin with the first address of the network"),
            () => Ok(cidr),
        }
    }

    /// The address without what the hosts of this network differ in.
    fn common(self, address: u128) -> u128 {
        let host_bits = u32::from(self.bits - self.prefix);
        address.checked_shr(host_bits).and_then(|part| part.checked_shl(host_bits)).unwrap_or(0)
    }

    fn meets(self, other: &Cidr) -> bool {
        self.bits == other.bits
            && (self.common(other.first) == self.first || other.common(self.first) == other.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networking(nodes: &str, pods: Option<&str>, services: Option<&str>) -> Result<(), String> {
        let text = |value: &str| value.to_owned();
        Networking {
            nodes: Some(text(nodes)),
            pods: pods.map(text),
            services: services.map(text),
            dual_stack: None,
        }
        .check()
    }

    #[test]
    fn networks_are_networks_that_do_not_meet() {
        for (nodes, pods, services) in [
            ("192.168.48.0/20", None, None),
            ("192.168.48.0/20", Some("10.104.0.0/24"), Some("10.105.0.0/24")),
            ("10.250.0.0/16", Some("10.96.0.0/13"), Some("10.104.0.0/13")),
            ("10.250.0.0/23", None, None),
        ] {
            networking(nodes, pods, services).unwrap();
        }
        for (nodes, pods, services, expect) in [
            ("1abcd", None, None, "parameters.networking.nodes: must be a network"),
            ("", None, None, "parameters.networking.nodes: must be a network"),
            ("10.250.0.1/19", None, None, "parameters.networking.nodes: must begin with the first address"),
            ("10.250.0.0/24", None, None, "parameters.networking.nodes: the prefix must be at most /23"),
            ("10.250.0.0/33", None, None, "parameters.networking.nodes: must be a network"),
            ("10.250.0.0/+2", None, None, "parameters.networking.nodes: must be a network"),
            ("10.242.0.0/17", None, None, "parameters.networking.nodes: must not overlap 10.242.0.0/16"),
            ("10.64.0.0/11", None, None, "parameters.networking.nodes: must not overlap 10.64.0.0/11"),
            ("0.0.0.0/0", None, None, "parameters.networking.nodes: must not overlap 10.243.128.0/17"),
            (
                "10.96.0.0/16",
                None,
                None,
                "parameters.networking.pods: must not overlap parameters.networking.nodes",
            ),
            (
                "10.104.0.0/16",
                None,
                None,
                "parameters.networking.services: must not overlap parameters.networking.nodes",
            ),
            (
                "192.168.48.0/20",
                Some("10.243.0.0/16"),
                None,
                "parameters.networking.pods: must not overlap 10.243.",
            ),
            ("192.168.48.0/20", Some("10.0.0.1/16"), None, "parameters.networking.pods: must begin"),
            (
                "192.168.48.0/20",
                Some("10.104.0.0/16"),
                Some("10.104.1.0/24"),
                "parameters.networking.services: must not overlap parameters.networking.pods",
            ),
        ] {
            let error = networking(nodes, pods, services).unwrap_err();
            assert!(error.starts_with(expect), "{nodes} {pods:?} {services:?}: {error}");
        }
    }

    #[test]
    fn a_list_of_networks_names_the_one_that_is_wrong() {
        let check = |list: &[&str]| {
            AccessControlList { allowed_cidrs: list.iter().map(|&text| text.to_owned()).collect() }.check()
        };
        check(&[]).unwrap();
        check(&["5.6.0.0/16", "2001:db8::/32", "0.0.0.0/0", "::/0", "7.7.7.7/32"]).unwrap();
        for bad in ["5.6.7.8/16", "5.6.0.0", "5.6.0.0/x", "hush", "", "2001:db8::1/32", "1.2.3.4/"] {
            let error = check(&["7.8.0.0/16", bad]).unwrap_err();
            assert!(error.starts_with("parameters.accessControlList.allowedCIDRs.1: must"), "{bad}: {error}");
            assert!(!error.contains("hush"), "{error}");
        }
    }
}

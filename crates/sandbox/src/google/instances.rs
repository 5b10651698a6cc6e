//! One instance and its disk, from provisioning to the end.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::catalog::{GceMachineType, LINK, region_of};
use super::operations::moment;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GceStatus {
    Provisioning,
    Staging,
    Running,
    Stopping,
    /// Switched off, and still there.
    Terminated,
}

impl GceStatus {
    pub(super) fn name(self) -> &'static str {
        match self {
            GceStatus::Provisioning => "PROVISIONING",
            GceStatus::Staging => "STAGING",
            GceStatus::Running => "RUNNING",
            GceStatus::Stopping => "STOPPING",
            GceStatus::Terminated => "TERMINATED",
        }
    }
}

/// Where a thing is, and its name there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct GcePlace {
    pub(super) project: String,
    pub(super) zone: String,
    pub(super) name: String,
}

impl GcePlace {
    pub(super) fn path(&self, kind: &str) -> String {
        format!("projects/{}/zones/{}/{kind}/{}", self.project, self.zone, self.name)
    }

    /// How the ledger calls it.
    pub(super) fn token(&self) -> String {
        format!("{}/{}/{}", self.project, self.zone, self.name)
    }
}

#[derive(Debug)]
pub(super) struct GceInstance {
    pub(super) place: GcePlace,
    pub(super) id: u64,
    pub(super) status: GceStatus,
    pub(super) machine_type: &'static GceMachineType,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) auto_delete: bool,
    pub(super) has_nat: bool,
    pub(super) network: Value,
    pub(super) address: Option<Ipv4Addr>,
    pub(super) created_at: OffsetDateTime,
}

impl GceInstance {
    /// It takes room, and is paid for.
    pub(super) fn is_living(&self) -> bool {
        self.status != GceStatus::Terminated
    }

    /// How much of a quota it uses.
    pub(super) fn uses(&self, metric: &str) -> u64 {
        let cpus = u64::from(self.machine_type.cpus);
        match metric {
            "INSTANCES" => 1,
            "CPUS_ALL_REGIONS" => cpus,
            "IN_USE_ADDRESSES" => u64::from(self.has_nat),
            metric if metric == self.machine_type.metric() => cpus,
            _ => 0,
        }
    }

    fn private_address(&self) -> Ipv4Addr {
        let [.., c, d] = self.id.to_be_bytes();
        Ipv4Addr::new(10, 128, c, d)
    }

    pub(super) fn show(&self) -> Value {
        let GcePlace { project, zone, name } = &self.place;
        let site = format!("{LINK}/projects/{project}/zones/{zone}");
        let mut interface = self.network.clone();
        interface["kind"] = "compute#networkInterface".into();
        interface["name"] = "nic0".into();
        interface["networkIP"] = self.private_address().to_string().into();
        if self.has_nat {
            let mut nat =
                json!({"kind": "compute#accessConfig", "name": "External NAT", "type": "ONE_TO_ONE_NAT"});
            if let Some(address) = self.address {
                nat["natIP"] = address.to_string().into();
            }
            interface["accessConfigs"] = json!([nat]);
        }
        let items = self.metadata.iter().map(|(key, value)| json!({"key": key, "value": value}));
        json!({
            "kind": "compute#instance",
            "id": self.id.to_string(),
            "creationTimestamp": moment(self.created_at),
            "name": name,
            "status": self.status.name(),
            "zone": site,
            "machineType": format!("{site}/machineTypes/{}", self.machine_type.name),
            "labels": self.labels,
            "labelFingerprint": "42WmSpB8rSM=",
            "canIpForward": false,
            "scheduling": {"automaticRestart": true, "onHostMaintenance": "MIGRATE"},
            "tags": {"fingerprint": "42WmSpB8rSM="},
            "metadata": {"kind": "compute#metadata", "fingerprint": "42WmSpB8rSM=", "items": items.collect::<Vec<Value>>()},
            "networkInterfaces": [interface],
            "disks": [{
                "kind": "compute#attachedDisk", "index": 0, "boot": true, "autoDelete": self.auto_delete,
                "deviceName": "persistent-disk-0", "mode": "READ_WRITE", "type": "PERSISTENT",
                "source": format!("{site}/disks/{name}"),
            }],
            "selfLink": format!("{site}/instances/{name}"),
        })
    }
}

#[derive(Debug)]
pub(super) struct GceDisk {
    pub(super) place: GcePlace,
    pub(super) id: u64,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) source_image: String,
    pub(super) is_attached: bool,
    /// A deletion is under way.
    pub(super) is_leaving: bool,
    pub(super) created_at: OffsetDateTime,
}

impl GceDisk {
    pub(super) fn show(&self) -> Value {
        let GcePlace { project, zone, name } = &self.place;
        let site = format!("{LINK}/projects/{project}/zones/{zone}");
        let mut shown = json!({
            "kind": "compute#disk",
            "id": self.id.to_string(),
            "creationTimestamp": moment(self.created_at),
            "name": name,
            "sizeGb": "20",
            "status": "READY",
            "zone": site,
            "sourceImage": format!("{LINK}/{}", self.source_image),
            "labels": self.labels,
            "labelFingerprint": "42WmSpB8rSM=",
            "type": format!("{site}/diskTypes/pd-standard"),
            "selfLink": format!("{site}/disks/{name}"),
        });
        if self.is_attached {
            shown["users"] = json!([format!("{site}/instances/{name}")]);
        }
        shown
    }
}

pub(super) fn default_subnetwork(project: &str, zone: &str) -> Value {
    let region = region_of(zone);
    json!({
        "network": format!("{LINK}/projects/{project}/global/networks/default"),
        "subnetwork": format!("{LINK}/projects/{project}/regions/{region}/subnetworks/default"),
    })
}

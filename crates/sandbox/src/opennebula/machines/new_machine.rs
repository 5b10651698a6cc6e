//! How a machine comes to be: the VM template and the extra template become what it has and what it says.

use std::net::Ipv4Addr;

use time::OffsetDateTime;
use uuid::Uuid;

use super::admission::{Admission, IMAGE_ID, IMAGE_SIZE, Network, refuse};
use super::capacity::{HOST_CPU, HOST_MEMORY_KIB};
use super::life::{Agenda, StartOutcome};
use super::machine::SimulatedVm;
use super::state::State;
use super::{Machines, NebulaError};
use crate::loopback;
use crate::opennebula::delay_times::NebulaDelays;
use crate::opennebula::release::Release;
use crate::opennebula::template::{TemplateText, TemplateValue, Vector};
use crate::opennebula::users::{AuthenticatedUser, Permissions};

/// What oned keeps in TEMPLATE; all other attributes are the user's.
const OF_TEMPLATE: &[&str] = &[
    "CONTEXT",
    "CPU",
    "CPU_COST",
    "CPU_MODEL",
    "DISK",
    "DISK_COST",
    "EMULATOR",
    "FEATURES",
    "GRAPHICS",
    "INPUT",
    "MEMORY",
    "MEMORY_COST",
    "MEMORY_MAX",
    "MEMORY_RESIZE_MODE",
    "MEMORY_SLOTS",
    "NIC",
    "NIC_ALIAS",
    "NIC_DEFAULT",
    "NUMA_NODE",
    "OS",
    "PCI",
    "RAW",
    "SCHED_ACTION",
    "TEMPLATE_ID",
    "TOPOLOGY",
    "TPM",
    "VCPU",
    "VCPU_MAX",
    "VIDEO",
    "VMGROUP",
    "WATCHDOG",
];

/// All that a new machine is made of.
pub(crate) struct NewMachine {
    pub(crate) owner: AuthenticatedUser,
    pub(crate) name: String,
    pub(crate) template: TemplateText,
    pub(crate) template_id: i32,
    pub(crate) extra: TemplateText,
    pub(crate) never_runs: bool,
    pub(crate) boot_fails: bool,
    pub(crate) has_onegate: bool,
    pub(crate) release: Release,
}

impl Machines {
    pub(crate) fn bear(
        &mut self,
        new_machine: NewMachine,
        delay_times: &NebulaDelays,
        at: OffsetDateTime,
    ) -> Result<i32, NebulaError> {
        let NewMachine { owner, name, mut template, template_id, extra, release, .. } = new_machine;
        template.merge(extra);
        let mut user_template = template.split_off(|name| !OF_TEMPLATE.contains(&name));
        user_template.remove("NAME");
        let admission = Admission {
            release,
            caller: &owner,
            name: &name,
            template: &template,
            has_onegate: new_machine.has_onegate,
        };
        admission.check()?;
        let id = self.next_id;
        let nics = template.vectors("NIC").count();
        let addresses: Vec<Ipv4Addr> = (0..nics).map_while(|_| self.network.lease()).collect();
        if addresses.len() < nics {
            for address in addresses {
                self.network.release(address);
            }
            return refuse("Cannot get IP/MAC lease from virtual network 0.");
        }
        self.next_id += 1;
        let name = if name.is_empty() { format!("one-{id}") } else { name };
        fill_disks(&mut template);
        fill_nics(&mut template, id, &addresses);
        fill_context(&mut template, id, &name, release);
        fill_rest(&mut template, id, template_id, release);
        let outcome = match () {
            () if !fits(&template) => StartOutcome::Waits,
            () if new_machine.never_runs => StartOutcome::BootsForEver,
            () if new_machine.boot_fails => StartOutcome::FailsToBoot,
            () => StartOutcome::Runs,
        };
        let mut machine = SimulatedVm {
            id,
            owner,
            permissions: Permissions::PRIVATE,
            name,
            template,
            user_template,
            release,
            state: State::Pending,
            is_to_resched: false,
            born_at: at,
            ended_at: None,
            history: Vec::new(),
            agenda: Agenda::default(),
            explained_from: None,
        };
        machine.plan_new_machine(delay_times, at, outcome);
        self.by_id.insert(id, machine);
        self.living.insert(id);
        self.busy.insert(id);
        Ok(id)
    }
}

fn fits(template: &TemplateText) -> bool {
    let cpu = template.get("CPU").and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    let memory = template.get("MEMORY").and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    cpu * 100.0 <= HOST_CPU && memory.saturating_mul(1024) <= HOST_MEMORY_KIB
}

fn fill(vector: &mut Vector, values: &[(&str, &str)]) {
    for (name, value) in values {
        vector.insert((*name).to_owned(), (*value).to_owned());
    }
}

fn fill_disks(template: &mut TemplateText) {
    fill_images(template);
    for (position, disk) in template.vectors_mut("DISK").enumerate() {
        let letter = char::from(b'a' + u8::try_from(position % 26).unwrap_or_default());
        fill(disk, &[("DISK_SNAPSHOT_TOTAL_SIZE", "0"), ("SAVE", "NO"), ("TARGET", &format!("sd{letter}"))]);
    }
}

/// What a disk has of its image, and of the datastore that the image is in.
fn fill_images(template: &mut TemplateText) {
    for (position, disk) in template.vectors_mut("DISK").enumerate() {
        let asked = disk.get("SIZE").and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
        fill(
            disk,
            &[
                ("ALLOW_ORPHANS", "NO"),
                ("CLONE", "YES"),
                ("CLONE_TARGET", "SYSTEM"),
                ("CLUSTER_ID", "0"),
                ("DATASTORE", "default"),
                ("DATASTORE_ID", "1"),
                ("DEV_PREFIX", "sd"),
                ("DISK_ID", &position.to_string()),
                ("DISK_TYPE", "FILE"),
                ("DRIVER", "dummy_format"),
                ("FORMAT", "dummy_format"),
                ("IMAGE_ID", &IMAGE_ID.to_string()),
                ("IMAGE_STATE", "2"),
                ("LN_TARGET", "NONE"),
                ("ORIGINAL_SIZE", &IMAGE_SIZE.to_string()),
                ("READONLY", "NO"),
                ("SIZE", &asked.max(IMAGE_SIZE).to_string()),
                ("SOURCE", "dummy_path"),
                ("TM_MAD", "dummy"),
                ("TYPE", "FILE"),
            ],
        );
    }
}

/// A VM template as `one.template.info` answers it in full.
pub(crate) fn extended(template: &TemplateText) -> TemplateText {
    let mut template = template.clone();
    fill_images(&mut template);
    for nic in template.vectors_mut("NIC") {
        let network = Network::of(nic).id.to_string();
        fill(nic, &[("NETWORK_ID", &network)]);
    }
    template
}

fn mac(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

fn fill_nics(template: &mut TemplateText, id: i32, addresses: &[Ipv4Addr]) {
    for (position, (nic, address)) in template.vectors_mut("NIC").zip(addresses).enumerate() {
        let network = Network::of(nic);
        if network.is_routed {
            fill(nic, &[("GATEWAY", &loopback::Network::gateway(*address).to_string())]);
        }
        fill(
            nic,
            &[
                ("AR_ID", "0"),
                ("BRIDGE", "br0"),
                ("BRIDGE_TYPE", "linux"),
                ("CLUSTER_ID", "0"),
                ("IP", &address.to_string()),
                ("MAC", &mac(*address)),
                ("NAME", &format!("NIC{position}")),
                ("NETWORK_ID", &network.id.to_string()),
                ("NIC_ID", &position.to_string()),
                ("SECURITY_GROUPS", "0"),
                ("TARGET", &format!("one-{id}-{position}")),
                ("VN_MAD", "dummy"),
            ],
        );
    }
}

/// Of every NIC, what a guest reads to set up its network; most of it is empty here.
const OF_GUEST_NIC: &[&str] = &[
    "DNS",
    "EXTERNAL",
    "IP6",
    "IP6_GATEWAY",
    "IP6_METHOD",
    "IP6_METRIC",
    "IP6_PREFIX_LENGTH",
    "IP6_ULA",
    "METHOD",
    "METRIC",
    "MTU",
    "SEARCH_DOMAIN",
    "VLAN_ID",
    "VROUTER_IP",
    "VROUTER_IP6",
    "VROUTER_MANAGEMENT",
];

fn fill_context(template: &mut TemplateText, id: i32, name: &str, release: Release) {
    let nics: Vec<Vector> = template.vectors("NIC").cloned().collect();
    let disks = template.vectors("DISK").count();
    let known = template.clone();
    let value = |word: &str| match word {
        "VMID" => id.to_string(),
        "NAME" => name.to_owned(),
        _ => known.get(word).unwrap_or_default().to_owned(),
    };
    let Some(context) = template.vectors_mut("CONTEXT").next() else { return };
    for text in context.values_mut() {
        *text = expand(text, &value);
    }
    fill(context, &[("DISK_ID", &disks.to_string()), ("TARGET", "hda")]);
    if context.get("NETWORK").is_none_or(|value| value != "YES") {
        return;
    }
    for (position, nic) in nics.iter().enumerate() {
        let of_nic = |name: &str| nic.get(name).cloned().unwrap_or_default();
        let mut set = |name: &str, value: String| context.insert(format!("ETH{position}_{name}"), value);
        for name in OF_GUEST_NIC {
            set(name, String::new());
        }
        if release == Release::Seven {
            set("ROUTES", String::new());
        }
        let (ip, is_routed) = (of_nic("IP"), Network::of(nic).is_routed);
        let network = ip.rsplit_once('.').map(|(network, _)| format!("{network}.0"));
        set("GATEWAY", of_nic("GATEWAY"));
        set("MASK", if is_routed { "255.255.255.0".into() } else { String::new() });
        set("NETWORK", network.filter(|_| is_routed).unwrap_or_default());
        set("IP", ip);
        set("MAC", of_nic("MAC"));
    }
}

/// Puts values in place of `$WORD`; one with a bracket, such as `$USER[SSH_PUBLIC_KEY]`, is empty here.
fn expand(text: &str, value: &impl Fn(&str) -> String) -> String {
    let mut parts = text.split('$');
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(part.len());
        let (word, rest) = part.split_at(end);
        match rest.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
            Some((_, after)) => expanded.push_str(after),
            None if word.is_empty() => expanded.extend(["$", rest]),
            None => expanded.extend([value(word).as_str(), rest]),
        }
    }
    expanded
}

fn fill_rest(template: &mut TemplateText, id: i32, template_id: i32, release: Release) {
    let clusters = "(\"CLUSTERS/ID\" @> 0)";
    template.set("AUTOMATIC_DS_REQUIREMENTS", clusters);
    template.set("AUTOMATIC_NIC_REQUIREMENTS", clusters);
    let requirements = match release {
        Release::Six => "(CLUSTER_ID = 0) & !(PUBLIC_CLOUD = YES) & !(PIN_POLICY = PINNED)",
        Release::Seven => "(CLUSTER_ID = 0) & !(PIN_POLICY = PINNED)",
    };
    template.set("AUTOMATIC_REQUIREMENTS", requirements);
    if !template.has("OS") {
        template.add("OS", TemplateValue::Vector(Vector::new()));
    }
    if let Some(os) = template.vectors_mut("OS").next() {
        fill(os, &[("UUID", &Uuid::now_v7().to_string())]);
    }
    for rule in ["OUTBOUND", "INBOUND"] {
        let mut rule_of_group = Vector::new();
        fill(
            &mut rule_of_group,
            &[
                ("PROTOCOL", "ALL"),
                ("RULE_TYPE", rule),
                ("SECURITY_GROUP_ID", "0"),
                ("SECURITY_GROUP_NAME", "default"),
            ],
        );
        template.add("SECURITY_GROUP_RULE", TemplateValue::Vector(rule_of_group));
    }
    template.set("TEMPLATE_ID", template_id.to_string());
    template.set("VMID", id.to_string());
}

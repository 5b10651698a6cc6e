//! What changes about one function: what it has now, and what it should have.

use opennebula::{AttributeName, Capacity, NebulaTemplate, Text, Vector, VirtualMachine};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::model::contents::SCHEDULING;
use crate::model::fields::Amount;
use crate::model::function::{FunctionRole, ObservedFunction};

/// Something before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FromTo<T> {
    pub from: T,
    pub to: T,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FunctionChange {
    pub role: FunctionRole,
    pub machine: i32,
    /// Logical cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<FromTo<u32>>,
    /// Megabytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<FromTo<u32>>,
    /// Megabytes of the first disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<FromTo<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FromTo<DesiredPlacement>>,
    /// The VM is in an error state, and why: it is recovered, and nothing else is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recover: Option<String>,
}

/// The attributes of a VM that say where it should be. Nothing leaves an attribute as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DesiredPlacement {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_info: Option<Vec<(String, String)>>,
}

impl FunctionChange {
    pub(crate) fn recovery(role: FunctionRole, machine: i32, why: &str) -> FunctionChange {
        let recover = Some(why.to_owned());
        FunctionChange { role, machine, cpu: None, memory: None, disk: None, place: None, recover }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.resizes() && self.disk.is_none() && self.place.is_none() && self.recover.is_none()
    }

    /// Whether it is about capacity.
    pub(crate) fn resizes(&self) -> bool {
        self.cpu.is_some() || self.memory.is_some()
    }

    pub(crate) fn capacity(&self) -> Capacity {
        Capacity {
            cpu: self.cpu.as_ref().map(|cpu| cpu.to),
            memory: self.memory.as_ref().map(|memory| memory.to),
        }
    }

    pub(crate) fn old_capacity(&self) -> Capacity {
        Capacity {
            cpu: self.cpu.as_ref().map(|cpu| cpu.from),
            memory: self.memory.as_ref().map(|memory| memory.from),
        }
    }
}

/// Whether a VM has that capacity.
pub(crate) fn has(machine: &VirtualMachine, capacity: Capacity) -> bool {
    let seen = ObservedFunction::of(machine);
    let is =
        |amount, wanted: Option<u32>| wanted.is_none_or(|wanted| seen.amounts.get(&amount) == Some(&wanted));
    is(Amount::Cpu, capacity.cpu) && is(Amount::Memory, capacity.memory)
}

/// Capacity in words.
pub(crate) fn words(capacity: Capacity) -> String {
    let cpu = capacity.cpu.map(|cpu| format!("CPU {cpu}"));
    let memory = capacity.memory.map(|memory| format!("MEMORY {memory}"));
    cpu.into_iter().chain(memory).collect::<Vec<_>>().join(", ")
}

const DEVICE_INFO: AttributeName = AttributeName::of("DEVICE_INFO");

impl DesiredPlacement {
    /// What a VM has of those attributes that are about to change. What it does not have is empty.
    pub(crate) fn of(machine: &VirtualMachine, about: &DesiredPlacement) -> DesiredPlacement {
        let user = &machine.user_template;
        let attribute = |name| user.get(name).unwrap_or_default().to_owned();
        let pairs = |vector: &Vector| {
            let pair = |(name, value): &(AttributeName, Text)| (name.to_string(), value.as_str().to_owned());
            vector.pairs().iter().map(pair).collect()
        };
        DesiredPlacement {
            rank: about.rank.as_ref().map(|_| attribute(SCHEDULING[0].1)),
            requirements: about.requirements.as_ref().map(|_| attribute(SCHEDULING[1].1)),
            device_info: about
                .device_info
                .as_ref()
                .map(|_| user.vectors("DEVICE_INFO").next().map(pairs).unwrap_or_default()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == DesiredPlacement::default()
    }

    /// As it is written into a VM. All of it was checked when it came in, or was there before.
    pub(crate) fn template(&self) -> NebulaTemplate {
        let mut template = NebulaTemplate::new();
        let attributes = [(SCHEDULING[0].1, &self.rank), (SCHEDULING[1].1, &self.requirements)];
        for (name, value) in attributes {
            if let Some(value) = value {
                template.set(AttributeName::of(name), Text::ours(value.as_str()));
            }
        }
        if let Some(info) = &self.device_info {
            let pair = |(name, value): &(String, String)| {
                AttributeName::parse(name).ok().map(|name| (name, Text::ours(value.as_str())))
            };
            template.push_vector(DEVICE_INFO, info.iter().filter_map(pair).collect());
        }
        template
    }
}

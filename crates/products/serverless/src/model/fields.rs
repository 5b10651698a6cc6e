//! The members of a runtime that a caller decides, once: requests are checked, and forms, pages and tables are made, by
//! these lists.

use std::collections::BTreeMap;

use opennebula::NebulaTemplate;

/// How much of something the VM of a function has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Amount {
    Cpu,
    Memory,
    DiskSize,
}

pub type Amounts = BTreeMap<Amount, u32>;

pub(crate) struct AmountField {
    pub(crate) amount: Amount,
    /// As the API names it.
    pub(crate) member: &'static str,
    /// As forms and tables of the command line name it.
    pub(crate) word: &'static str,
    pub(crate) label: &'static str,
    pub(crate) hint: &'static str,
    pub(crate) max: u32,
    pub(crate) is_megabytes: bool,
    /// What the VM has.
    pub(crate) seen: fn(&NebulaTemplate) -> Option<u32>,
}

pub(crate) const AMOUNTS: [AmountField; 3] = [
    AmountField {
        amount: Amount::Cpu,
        member: "CPU",
        word: "cpu",
        label: "Cores",
        hint: "",
        max: 1024,
        is_megabytes: false,
        seen: |vm| number(vm.get("VCPU")),
    },
    AmountField {
        amount: Amount::Memory,
        member: "MEMORY",
        word: "memory",
        label: "Memory",
        hint: "",
        // 16 TiB.
        max: 16 * 1024 * 1024,
        is_megabytes: true,
        seen: |vm| number(vm.get("MEMORY")),
    },
    AmountField {
        amount: Amount::DiskSize,
        member: "DISK_SIZE",
        word: "disk",
        label: "Disk",
        hint: "It can only grow.",
        // 1 PiB.
        max: 1024 * 1024 * 1024,
        is_megabytes: true,
        seen: |vm| {
            let first = vm.vectors("DISK").find(|disk| disk.get("DISK_ID") == Some("0"))?;
            number(first.get("SIZE"))
        },
    },
];

impl Amount {
    pub(crate) fn member(self) -> &'static str {
        AMOUNTS[self as usize].member
    }

    pub(crate) fn seen(self, vm: &NebulaTemplate) -> Option<u32> {
        (AMOUNTS[self as usize].seen)(vm)
    }
}

/// All that a VM has.
pub(crate) fn seen(vm: &NebulaTemplate) -> Amounts {
    AMOUNTS.iter().filter_map(|field| Some((field.amount, (field.seen)(vm)?))).collect()
}

fn number(text: Option<&str>) -> Option<u32> {
    text?.trim().parse().ok()
}

/// A member of SCHEDULING or `DEVICE_INFO`, which is echoed as it was sent.
pub(crate) struct BlockField {
    pub(crate) block: &'static str,
    pub(crate) member: &'static str,
    /// In tables of the command line.
    pub(crate) word: &'static str,
    /// On pages.
    pub(crate) label: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) is_number: bool,
}

pub(crate) const BLOCKS: [&str; 2] = ["SCHEDULING", "DEVICE_INFO"];

pub(crate) const BLOCK_FIELDS: [BlockField; 4] = [
    text("SCHEDULING", "POLICY", "policy", "Placed by"),
    text("SCHEDULING", "REQUIREMENTS", "requirements", "Requirements"),
    BlockField {
        unit: " s",
        is_number: true,
        ..text("DEVICE_INFO", "LATENCY_TO_PE", "device latency", "Latency")
    },
    text("DEVICE_INFO", "GEOGRAPHIC_LOCATION", "device location", "Location of the device"),
];

const fn text(
    block: &'static str,
    member: &'static str,
    word: &'static str,
    label: &'static str,
) -> BlockField {
    BlockField { block, member, word, label, unit: "", is_number: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_amount_has_its_own_row() {
        for field in &AMOUNTS {
            assert_eq!(field.amount.member(), field.member);
        }
    }
}

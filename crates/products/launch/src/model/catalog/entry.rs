//! One instance type, and lists of them.

use std::sync::Arc;

use cloud::{Architecture, InstanceType};
use engine::Timestamp;
use sha2::{Digest, Sha256};

/// Our images do not start with less.
const MEMORY_MIB_MIN: u64 = 1536;

/// An instance type as the catalogue lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeEntry {
    pub name: String,
    pub vcpus: u32,
    pub cores: u32,
    pub memory_mib: u64,
    pub storage_gb: u64,
    pub architecture: Architecture,
    /// In Azure only.
    pub azure: Option<Generations>,
}

/// The generations of virtual machines in Azure that a type can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generations {
    pub gen_v1: bool,
    pub gen_v2: bool,
}

impl Generations {
    /// Nothing where the cloud names none.
    fn of(names: &[String]) -> Option<Generations> {
        let has = |name: &str| names.iter().any(|one| one.eq_ignore_ascii_case(name));
        (!names.is_empty()).then(|| Generations { gen_v1: has("V1"), gen_v2: has("V2") })
    }
}

impl TypeEntry {
    /// Whether an image of this generation starts on it, as far as that is known.
    pub fn starts(&self, generation: &str) -> bool {
        self.azure.is_none_or(|known| match generation.to_ascii_uppercase().as_str() {
            "V1" => known.gen_v1,
            "V2" => known.gen_v2,
            _ => true,
        })
    }

    /// Whether our images are known to run there. What is not supported may be launched nevertheless.
    pub fn is_supported(&self) -> bool {
        self.memory_mib >= MEMORY_MIB_MIN
    }
}

impl From<InstanceType> for TypeEntry {
    fn from(one: InstanceType) -> TypeEntry {
        TypeEntry {
            name: one.name,
            vcpus: one.vcpus,
            cores: one.cores,
            memory_mib: one.memory_mib,
            storage_gb: one.storage_gb,
            architecture: one.architecture,
            azure: Generations::of(&one.generations),
        }
    }
}

/// What one place offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeListing {
    pub entries: Vec<Arc<TypeEntry>>,
    /// When the cloud was asked. `None` for what is part of the program.
    pub refreshed_at: Option<Timestamp>,
}

impl TypeListing {
    pub fn find(&self, name: &str) -> Option<&TypeEntry> {
        self.entries.iter().find(|entry| entry.name == name).map(AsRef::as_ref)
    }

    /// An entity tag with its quotes: the same for the same list, in every process and release.
    pub fn etag(&self) -> String {
        let digest =
            self.entries.iter().fold(Sha256::new(), |digest, entry| digest.chain_update(line(entry)));
        format!("\"instance-types-{}\"", http_client::hex(&digest.finalize()[..ETAG_BYTES]))
    }
}

/// Enough to tell lists apart; it is no protection against forged ones.
const ETAG_BYTES: usize = 8;

/// All that is shown of an entry. No field can hold a tab or the end of a line.
fn line(entry: &TypeEntry) -> String {
    let generations = entry.azure.map_or((false, false), |azure| (azure.gen_v1, azure.gen_v2));
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{generations:?}\n",
        entry.name,
        entry.vcpus,
        entry.cores,
        entry.memory_mib,
        entry.storage_gb,
        entry.architecture.as_str(),
        entry.is_supported(),
    )
}

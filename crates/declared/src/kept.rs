//! What is saved of the answers of a declared step, under the name of the step.

use std::collections::BTreeMap;

use engine::secret::{Sealed, SecretString};
use engine::{Halt, Operation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::plan::DeclaredWorkflow;

/// The fact of one step. Whatever was secret is sealed.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepFact {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_done: bool,
    /// Why there was nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) facts: Map<String, Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) secrets: BTreeMap<String, Sealed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<String>,
    /// The signal that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<String>,
    /// Calls before the last wait that had something new to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calls: Option<u32>,
}

impl StepFact {
    pub(crate) fn open(
        &self,
        op: &Operation<DeclaredWorkflow>,
    ) -> Result<BTreeMap<String, SecretString>, Halt> {
        self.secrets.iter().map(|(key, sealed)| Ok((key.clone(), op.open(sealed)?))).collect()
    }
}

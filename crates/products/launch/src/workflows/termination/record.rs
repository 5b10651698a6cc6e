//! The record of a requested termination of an instance.

use engine::{Resource, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    pub launch: Uuid,
    pub instance_id: String,
    /// Nothing while it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why the instance may still be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Termination {
    pub(crate) fn new(launch: Uuid, instance_id: &str) -> Termination {
        Termination { launch, instance_id: instance_id.to_owned(), ended_at: None, error: None }
    }

    /// The name under which requests for one instance exclude each other.
    pub fn resource(launch: Uuid, instance_id: &str) -> String {
        format!("launch:{}:instance:{instance_id}", launch.simple())
    }
}

impl Resource for Termination {
    const KIND: &'static str = "termination";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The record of the launch says the rest.
    fn gone_at(&self) -> Option<Timestamp> {
        self.ended_at.filter(|_| self.error.is_none())
    }
}

//! What is known about the last look at a source, and whether others have been told.

use engine::{Resource, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Params;
use crate::model::params::LaunchOwner;
use crate::model::sources::Finding;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCheck {
    #[serde(rename = "requester")]
    pub owner: LaunchOwner,
    pub source_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The id under which others are told, until they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<Uuid>,
}

impl Resource for SourceCheck {
    const KIND: &'static str = "source_check";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn due_at(&self) -> Option<Timestamp> {
        self.notice.and(self.finding.as_ref()).map(|finding| finding.at)
    }
}

impl SourceCheck {
    /// The name under which looks at one source exclude each other.
    pub fn resource(who: &LaunchOwner, source_id: &str) -> String {
        format!("source-check:{}:{source_id}", who.org)
    }

    /// A source of our own is not reported to any service.
    pub(crate) fn new(
        params: &Params,
        finding: Finding,
        application: Option<String>,
        notice: Uuid,
    ) -> SourceCheck {
        SourceCheck {
            owner: params.owner.clone(),
            source_id: params.source_id.clone(),
            finding: Some(finding),
            notice: application.is_some().then_some(notice),
            application,
        }
    }
}

//! What requests of one global account for one plan with a limit write together with the new instance, so that they come
//! one after the other. It holds no count: the records of the instances are counted.

use engine::Resource;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanQuota {
    pub plan_id: String,
    pub account: String,
}

impl Resource for PlanQuota {
    const KIND: &'static str = "plan_quota";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl PlanQuota {
    pub fn new(plan_id: &str, account: &str) -> PlanQuota {
        PlanQuota { plan_id: plan_id.to_owned(), account: account.to_owned() }
    }

    pub fn resource(&self) -> String {
        format!("plan_quota:{}/{}", self.plan_id, self.account)
    }
}

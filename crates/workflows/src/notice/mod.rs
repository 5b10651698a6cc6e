//! `notice.deliver`: tells others what happened, until they have heard it.
//!
//! A notice has an id, and every delivery of it carries that: a receiver who gets it twice can tell. What cannot be
//! delivered stays behind as a failed operation, which an operator can start again.

mod message;
mod notices;
mod params;
mod post;
mod to_kafka;
mod to_webhook;

use engine::prelude::*;

pub use self::notices::{NOTIFICATIONS_TOPIC, Notices, SOURCES_STATUS_TOPIC};
pub use self::params::{About, Notice, Target};
pub use self::post::post;

pub struct Deliver;

impl Workflow for Deliver {
    const KIND: &'static str = "notice.deliver";
    const ABOUT: &'static str = "Tells other systems what became of a launch or a source.";
    /// A day for each of the two ways, and a little more: the budgets of the steps end a hopeless try, not this.
    const DEADLINE: Duration = Duration::from_hours(50);
    type Params = Notice;
    type State = ();
    type Input = ();

    fn admit(asked: serde_json::Value, _sealer: &engine::secret::Sealer) -> Result<Notice, String> {
        let notice: Notice = engine::parse(asked)?;
        notice.check()?;
        Ok(notice)
    }
}

/// The table of steps and weights. A way that is not configured has no step.
pub fn plan(notices: &Notices) -> Plan<Deliver> {
    let mut plan = Plan::new(OnFailure::Leave);
    if let Some(step) = to_kafka::ToKafka::of(notices) {
        plan = plan.step_when(|op| op.params.goes_to(Target::Kafka), 10, step);
    }
    if let Some(step) = to_webhook::ToWebhook::of(notices) {
        plan = plan.step_when(|op| op.params.goes_to(Target::Webhook), 20, step);
    }
    plan
}

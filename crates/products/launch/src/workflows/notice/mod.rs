//! `notice.deliver`: delivers a notice, with retries.
//!
//! A notice has an id, and every delivery of it carries that: a receiver who gets it twice can tell. What cannot be
//! delivered stays behind as a failed operation, which an operator can start again.

mod channel;
mod deliver_to;
mod message;
mod notices;
mod params;
mod post;

use engine::prelude::*;

pub use self::channel::{Channel, Kafka, NOTIFICATIONS_TOPIC, SOURCES_STATUS_TOPIC, Target};
pub use self::notices::Notices;
pub use self::params::{Notice, NoticeSubject};
pub use self::post::post;

pub struct Deliver;

impl Workflow for Deliver {
    const KIND: &'static str = "notice.deliver";
    const HOUSEKEEPING: bool = true;
    const ABOUT: &'static str = "Sends notifications about a launch or a source.";
    /// A day for each of the two ways, and a little more: the budgets of the steps end a hopeless try, not this.
    const DEADLINE: Duration = Duration::from_hours(50);
    type Params = Notice;
    type State = ();
    type Input = ();

    fn schema() -> serde_json::Value {
        api::json_schema::<Notice>()
    }

    fn operation_name(notice: &Notice) -> Option<String> {
        Some(match &notice.about {
            NoticeSubject::Launch { event, .. } => event.clone(),
            NoticeSubject::SourceStatus { application, .. } => format!("source-status {application}"),
        })
    }

    fn admit(asked: serde_json::Value, _sealer: &engine::secret::Sealer) -> Result<Notice, String> {
        let notice: Notice = engine::parse(asked)?;
        notice.check()?;
        Ok(notice)
    }
}

/// The table of steps and weights. A way that is not configured has no step.
pub fn plan(notices: &Notices) -> Plan<Deliver> {
    let mut plan = Plan::new(OnFailure::Leave);
    for (weight, target) in (10..).step_by(10).zip(Target::ALL) {
        if let Some(channel) = notices.channels.iter().find(|channel| channel.target() == target) {
            let step = deliver_to::DeliverTo { channel: Arc::clone(channel), retries: notices.retries };
            plan = plan.step_when(move |op| op.params.goes_to(target), weight, step);
        }
    }
    plan
}

//! Looking at a thing while an operation works on it.

use crate::answer::BrokerResponse;
use crate::call::BrokerCall;
use crate::checker::Checker;
use crate::report::CheckOutcome;

/// An operation that may still be under way.
pub(crate) struct PendingOperation<'a> {
    pub(crate) checker: &'a Checker,
    /// The state that the thing is in, as the first part of the ids of checks.
    pub(crate) state: &'static str,
    /// How to ask whether it is still under way.
    pub(crate) last: BrokerCall,
}

impl PendingOperation<'_> {
    /// Judges the answer only if the operation was still under way afterwards, because otherwise it may have
    /// been given to a thing in another state.
    pub(crate) async fn check(
        &self,
        id: &str,
        title: &str,
        call: BrokerCall,
        judge: impl FnOnce(&BrokerResponse) -> CheckOutcome,
    ) {
        let answer = self.checker.send(call).await;
        let outcome = match self.checker.send(self.last.clone()).await.state() {
            Some("in progress") => judge(&answer),
            _ => too_late(),
        };
        self.checker.check(format!("{}.{id}", self.state), "1.4", title, outcome);
    }

    /// A request that has to wait, and whether it was refused. One that is accepted without a hold may have
    /// come after the end, and then what is under way is its own operation.
    pub(crate) async fn refused(&self, id: &str, title: &str, call: BrokerCall) -> bool {
        let is_sure = self.checker.options.hold.is_some();
        let mut accepted = false;
        let judge = |answer: &BrokerResponse| {
            accepted = answer.has(&[200, 201, 202]);
            if accepted && !is_sure { too_late() } else { concurrency(answer) }
        };
        self.check(id, title, call, judge).await;
        !accepted
    }

    pub(crate) async fn conflict(&self, id: &str, title: &str, call: BrokerCall) {
        self.check(id, title, call, |answer| answer.is(&[409]).with_description().into()).await;
    }

    /// The same request again joins the operation that it began.
    pub(crate) async fn joined(&self, id: &str, title: &str, call: BrokerCall, began: &BrokerResponse) {
        let operation = &began.json["operation"];
        self.check(id, title, call, |answer| answer.is(&[202]).with("operation", operation).into()).await;
    }

    pub(crate) async fn polled(&self) {
        let title = "the operation says that it is under way";
        self.check("last_operation", title, self.last.clone(), |answer| {
            answer.is(&[200]).with("state", &"in progress".into()).with_description().into()
        })
        .await;
    }
}

fn too_late() -> CheckOutcome {
    CheckOutcome::Skipped("the operation ended before the check; give a hold in the options".to_owned())
}

fn concurrency(answer: &BrokerResponse) -> CheckOutcome {
    answer.is_error("ConcurrencyError").with_description().into()
}

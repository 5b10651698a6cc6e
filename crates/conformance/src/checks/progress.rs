//! Looking at a thing while an operation works on it.

use crate::answer::Answer;
use crate::call::Call;
use crate::exam::Exam;
use crate::report::Outcome;

/// An operation that may still be under way.
pub(crate) struct Progress<'a> {
    pub(crate) exam: &'a Exam,
    /// The state that the thing is in, as the first part of the ids of checks.
    pub(crate) state: &'static str,
    /// How to ask whether it is still under way.
    pub(crate) last: Call,
}

impl Progress<'_> {
    /// Judges the answer only if the operation was still under way afterwards, because otherwise it may have
    /// been given to a thing in another state.
    pub(crate) async fn check(
        &self,
        id: &str,
        title: &str,
        call: Call,
        judge: impl FnOnce(&Answer) -> Outcome,
    ) {
        let answer = self.exam.send(call).await;
        let outcome = match self.exam.send(self.last.clone()).await.state() {
            Some("in progress") => judge(&answer),
            _ => too_late(),
        };
        self.exam.check(format!("{}.{id}", self.state), "1.4", title, outcome);
    }

    /// A request that has to wait, and whether it was refused. One that is accepted without a hold may have
    /// come after the end, and then what is under way is its own operation.
    pub(crate) async fn refused(&self, id: &str, title: &str, call: Call) -> bool {
        let is_sure = self.exam.options.hold.is_some();
        let mut accepted = false;
        let judge = |answer: &Answer| {
            accepted = answer.has(&[200, 201, 202]);
            if accepted && !is_sure { too_late() } else { concurrency(answer) }
        };
        self.check(id, title, call, judge).await;
        !accepted
    }

    pub(crate) async fn conflict(&self, id: &str, title: &str, call: Call) {
        self.check(id, title, call, |answer| answer.is(&[409]).with_description().into()).await;
    }

    /// The same request again joins the operation that it began.
    pub(crate) async fn joined(&self, id: &str, title: &str, call: Call, began: &Answer) {
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

fn too_late() -> Outcome {
    Outcome::Skipped("the operation ended before the check; give a hold in the options".to_owned())
}

fn concurrency(answer: &Answer) -> Outcome {
    answer.is_error("ConcurrencyError").with_description().into()
}

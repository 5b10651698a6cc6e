//! The table of steps of a workflow.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::budget::RetryPolicy;
use crate::operation::Operation;
use crate::secret::Sealer;
use crate::step::{Effect, Step};
use crate::workflow::Workflow;

/// What happens to the work of earlier steps when a step fails or an operator cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Take it back, in reverse order.
    Unwind,
    /// Leave it: another operation removes it.
    Leave,
}

/// The steps of a workflow in the order in which they run.
///
/// The table is checked while it is built: weight 0, a name used twice or a line out of order stops the program
/// at start with the name of the step, so what is read in the code is what runs.
pub struct Plan<W: Workflow> {
    pub(crate) on_failure: OnFailure,
    pub(crate) steps: Vec<Planned<W>>,
    pub(crate) retrigger: Retrigger,
    declared: Option<Declared<W>>,
}

/// What a plan that arrives at run time says of its workflow, in place of the constants and functions of a compiled one.
pub struct Declared<W: Workflow> {
    pub workflow: Arc<str>,
    pub version: u32,
    pub about: String,
    pub deadline: Duration,
    /// JSON Schema of the params.
    pub schema: Arc<Value>,
    pub admit: Admit<W>,
    /// The resource of an operation with these params, where operations have one.
    pub resource: Option<NameResource>,
}

/// See [`Workflow::admit`].
pub type Admit<W> = Box<dyn Fn(Value, &Sealer) -> Result<<W as Workflow>::Params, String> + Send + Sync>;
/// From the tenant and the params as a client sent them.
pub type NameResource = Box<dyn Fn(&str, &Value) -> Result<String, String> + Send + Sync>;

/// Whether a step runs for an operation. It looks at what is saved, nothing else.
pub type Condition<W> = Box<dyn Fn(&Operation<W>) -> bool + Send + Sync>;

pub(crate) struct Planned<W: Workflow> {
    pub(crate) weight: u16,
    pub(crate) step: Box<dyn Step<W>>,
    when: Option<Condition<W>>,
    pub(crate) is_clean_up: bool,
}

/// How the engine starts an operation again in which steps were skipped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retrigger {
    pub(crate) every: Duration,
    pub(crate) times: u32,
}

/// One line of the table, for people.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StepInfo {
    pub weight: u16,
    pub name: String,
    pub title: String,
    pub effect: &'static str,
    pub driver: Option<String>,
    pub conditional: bool,
    pub clean_up: bool,
}

impl<W: Workflow> Plan<W> {
    pub fn new(on_failure: OnFailure) -> Plan<W> {
        let retrigger = Retrigger { every: Duration::from_mins(10), times: 144 };
        Plan { on_failure, steps: Vec::new(), retrigger, declared: None }
    }

    /// A plan that was not compiled. Its steps are checked by those who declare it; here a wrong one panics.
    pub fn declared(on_failure: OnFailure, declared: Declared<W>) -> Plan<W> {
        Plan { declared: Some(declared), ..Plan::new(on_failure) }
    }

    /// The name of the workflow.
    pub fn kind(&self) -> &str {
        self.declared.as_ref().map_or(W::KIND, |declared| &declared.workflow)
    }

    pub fn version(&self) -> Option<u32> {
        self.declared.as_ref().map(|declared| declared.version)
    }

    pub(crate) fn about(&self) -> &str {
        self.declared.as_ref().map_or(W::ABOUT, |declared| &declared.about)
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.declared.as_ref().map_or(W::DEADLINE, |declared| declared.deadline)
    }

    pub(crate) fn schema(&self) -> Arc<Value> {
        match &self.declared {
            Some(declared) => Arc::clone(&declared.schema),
            None => Arc::new(W::schema()),
        }
    }

    pub(crate) fn admit_params(&self, asked: Value, sealer: &Sealer) -> Result<W::Params, String> {
        match &self.declared {
            Some(declared) => (declared.admit)(asked, sealer),
            None => W::admit(asked, sealer),
        }
    }

    pub(crate) fn resource(&self, tenant: &str, asked: &Value) -> Result<Option<String>, String> {
        let name = self.declared.as_ref().and_then(|declared| declared.resource.as_ref());
        name.map(|name| name(tenant, asked)).transpose()
    }

    /// Adds a step. Lines come in the order of their weights; equal weights keep the order of the table.
    #[must_use]
    pub fn step(self, weight: u16, step: impl Step<W>) -> Plan<W> {
        self.push(Planned { weight, step: Box::new(step), when: None, is_clean_up: false })
    }

    /// Adds a step that configuration can leave out.
    #[must_use]
    pub fn step_if(self, enabled: bool, weight: u16, step: impl Step<W>) -> Plan<W> {
        if enabled { self.step(weight, step) } else { self }
    }

    /// Adds a step that runs only for some operations. The condition looks at what is saved, nothing else.
    #[must_use]
    pub fn step_when(
        self,
        when: impl Fn(&Operation<W>) -> bool + Send + Sync + 'static,
        weight: u16,
        step: impl Step<W>,
    ) -> Plan<W> {
        let when: Condition<W> = Box::new(when);
        self.push(Planned { weight, step: Box::new(step), when: Some(when), is_clean_up: false })
    }

    /// Adds a step that must not hold up the ones after it: where it would fail, it is skipped, listed, and
    /// tried again when the engine starts the operation anew.
    #[must_use]
    pub fn clean_up(self, weight: u16, step: impl Step<W>) -> Plan<W> {
        self.push(Planned { weight, step: Box::new(step), when: None, is_clean_up: true })
    }

    /// Adds a line of a table that was not compiled.
    #[must_use]
    pub fn line(
        self,
        weight: u16,
        step: Box<dyn Step<W>>,
        when: Option<Condition<W>>,
        is_clean_up: bool,
    ) -> Plan<W> {
        self.push(Planned { weight, step, when, is_clean_up })
    }

    /// Adds a step that comes from outside the table, such as one from configuration, after the steps of the
    /// same weight.
    #[must_use]
    pub fn insert(self, weight: u16, step: impl Step<W>) -> Plan<W> {
        self.join(Planned { weight, step: Box::new(step), when: None, is_clean_up: false })
    }

    /// The same for a step that must not hold up the ones after it.
    #[must_use]
    pub fn insert_clean_up(self, weight: u16, step: impl Step<W>) -> Plan<W> {
        self.join(Planned { weight, step: Box::new(step), when: None, is_clean_up: true })
    }

    fn join(mut self, planned: Planned<W>) -> Plan<W> {
        self.check(planned.weight, planned.step.name());
        let at = self.steps.partition_point(|other| other.weight <= planned.weight);
        self.steps.insert(at, planned);
        self
    }

    /// How often and how many times an operation with skipped steps starts again.
    #[must_use]
    pub fn retrigger(mut self, every: Duration, times: u32) -> Plan<W> {
        self.retrigger = Retrigger { every, times };
        self
    }

    /// The same table with every step wrapped, for policies and tests that concern all steps alike.
    #[must_use]
    pub fn wrapped(mut self, wrap: impl Fn(Box<dyn Step<W>>) -> Box<dyn Step<W>>) -> Plan<W> {
        self.steps = self.steps.into_iter().map(|p| Planned { step: wrap(p.step), ..p }).collect();
        self
    }

    fn push(mut self, planned: Planned<W>) -> Plan<W> {
        let name = planned.step.name().to_owned();
        self.check(planned.weight, &name);
        let last = self.steps.last().map_or(0, |planned| planned.weight);
        assert!(
            last <= planned.weight,
            "{}: step {name} has weight {} but comes after weight {last}; write the table in order",
            self.kind(),
            planned.weight
        );
        self.steps.push(planned);
        self
    }

    fn check(&self, weight: u16, name: &str) {
        assert!(weight > 0, "{}: step {name} has weight 0; the lowest weight is 1", self.kind());
        let twice = self.steps.iter().any(|planned| planned.step.name() == name);
        assert!(!twice, "{}: the name {name} is used twice", self.kind());
    }

    pub fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    pub fn describe(&self) -> Vec<StepInfo> {
        self.steps
            .iter()
            .map(|planned| StepInfo {
                weight: planned.weight,
                name: planned.step.name().to_owned(),
                title: planned.step.title().to_owned(),
                effect: planned.step.effect().as_str(),
                driver: planned.step.driver().map(str::to_owned),
                conditional: planned.when.is_some(),
                clean_up: planned.is_clean_up,
            })
            .collect()
    }

    /// The step that every operation of this kind begins with, if that can be told in advance and matters.
    pub(crate) fn opens_with(&self) -> Option<&str> {
        let first = self.steps.first()?;
        let counts = first.when.is_none() && first.step.effect() == Effect::Keyed;
        counts.then(|| first.step.name())
    }
}

impl<W: Workflow> Planned<W> {
    pub(crate) fn applies(&self, op: &Operation<W>) -> bool {
        self.when.as_ref().is_none_or(|when| when(op))
    }

    pub(crate) fn policy(&self, default: RetryPolicy) -> RetryPolicy {
        self.step.retries().unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::outcome::{Outcome, done};

    struct Nothing;
    impl Workflow for Nothing {
        const KIND: &'static str = "test.nothing";
        const ABOUT: &'static str = "Does nothing.";
        type Params = ();
        type State = ();
        type Input = ();
    }

    struct Named(&'static str);
    #[async_trait]
    impl Step<Nothing> for Named {
        fn name(&self) -> &'static str {
            self.0
        }
        fn title(&self) -> &'static str {
            "Doing nothing"
        }
        async fn run(&self, _op: &mut Operation<Nothing>) -> Outcome {
            done()
        }
    }

    fn plan() -> Plan<Nothing> {
        Plan::new(OnFailure::Leave)
    }

    #[test]
    fn steps_from_outside_join_by_weight_after_their_equals() {
        let plan =
            plan().step(10, Named("a")).step(20, Named("b")).step(20, Named("c")).insert(20, Named("x"));
        let plan = plan.insert(1, Named("y")).insert_clean_up(99, Named("z"));
        let names: Vec<_> = plan.describe().into_iter().map(|info| (info.name, info.clean_up)).collect();
        let others = ["y", "a", "b", "c", "x"].map(|name| (name.to_owned(), false));
        assert_eq!(names, [&others[..], &[("z".to_owned(), true)]].concat());
    }

    struct Quick(Effect);
    #[async_trait]
    impl Step<Nothing> for Quick {
        fn name(&self) -> &'static str {
            "quick"
        }
        fn title(&self) -> &'static str {
            "Being quick"
        }
        fn effect(&self) -> Effect {
            self.0
        }
        fn driver(&self) -> Option<&'static str> {
            Some("greeter")
        }
        fn retries(&self) -> Option<RetryPolicy> {
            let second = Duration::from_secs(1);
            Some(RetryPolicy { first: second, max: second, budget: second })
        }
        async fn run(&self, _op: &mut Operation<Nothing>) -> Outcome {
            done()
        }
    }

    #[test]
    fn a_plan_says_everything_about_its_steps() {
        let plan = plan().step_when(|_| false, 3, Quick(Effect::Once)).step_if(false, 4, Named("never"));
        let plan = plan.step_if(true, 5, Named("a")).retrigger(Duration::from_secs(7), 9);
        let quick = StepInfo {
            weight: 3,
            name: "quick".into(),
            title: "Being quick".into(),
            effect: "once",
            driver: Some("greeter".into()),
            conditional: true,
            clean_up: false,
        };
        let plain = StepInfo {
            weight: 5,
            name: "a".into(),
            title: "Doing nothing".into(),
            effect: "keyed",
            driver: None,
            conditional: false,
            clean_up: false,
        };
        assert_eq!(plan.describe(), [quick, plain]);
        assert_eq!((plan.on_failure(), plan.retrigger.times), (OnFailure::Leave, 9));
        assert_eq!(plan.retrigger.every, Duration::from_secs(7));
        let default = RetryPolicy::default();
        let policies: Vec<_> = plan.steps.iter().map(|planned| planned.policy(default).budget).collect();
        assert_eq!(policies, [Duration::from_secs(1), default.budget]);
        let names: Vec<_> =
            plan.wrapped(|_| Box::new(Named("b"))).describe().into_iter().map(|info| info.name).collect();
        assert_eq!(names, ["b", "b"]);
    }

    #[test]
    fn an_operation_opens_with_a_step_that_always_runs_and_leaves_something() {
        let table = [
            (plan(), None),
            (plan().step(1, Named("a")).step(2, Named("b")), Some("a")),
            (plan().step_when(|_| true, 1, Named("a")), None),
            (plan().step(1, Quick(Effect::Pure)), None),
            (plan().step(1, Quick(Effect::Once)), None),
            (plan().clean_up(1, Quick(Effect::Keyed)), Some("quick")),
        ];
        for (plan, expected) in table {
            assert_eq!(plan.opens_with(), expected);
        }
    }

    #[test]
    #[should_panic(expected = "step a has weight 0")]
    fn weight_0_is_refused_by_name() {
        let _ = plan().step(0, Named("a"));
    }

    #[test]
    #[should_panic(expected = "the name a is used twice")]
    fn a_name_used_twice_is_refused() {
        let _ = plan().step(1, Named("a")).insert(2, Named("a"));
    }

    #[test]
    #[should_panic(expected = "step b has weight 5 but comes after weight 7")]
    fn a_table_out_of_order_is_refused() {
        let _ = plan().step(7, Named("a")).step(5, Named("b"));
    }
}

//! Asks the service until it says that the step is done, and hands what it answered to the runtime.

use engine::prelude::*;
use external_step::{OwnerContext, StepContext, StepRequest, StepResponse, Verdict};

use super::kept::ExternalFact;
use super::{Extensible, External, Sees};
use crate::model::instance::InstanceRecord;
use crate::workflows::shared::opened;

pub(crate) struct ExternalStep {
    external: Arc<External>,
    /// Under which its answer is kept, for ever.
    key: String,
}

/// For a service that does not say when to ask again.
const WAIT_DEFAULT: Duration = Duration::from_secs(10);
/// No service is asked in a tight circle, and none is forgotten.
const WAIT_MIN: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_hours(24);
/// On top of the time limit of the call, so that its own error comes first.
const LIMIT_MARGIN: Duration = Duration::from_secs(5);

impl ExternalStep {
    pub(crate) fn new(external: Arc<External>) -> ExternalStep {
        let key = format!("{}.answer", external.name);
        ExternalStep { external, key }
    }

    async fn ask<W: Extensible>(&self, op: &Operation<W>, kept: &ExternalFact) -> Result<StepResponse, Halt> {
        let instance = op.input.instance()?;
        let (id, token) = (op.id.to_string(), op.idempotency_key(self.external.name));
        let about = StepContext { id: &id, workflow: W::KIND, token: &token };
        let mut call = StepRequest::new(self.external.name, about, whose(instance), &kept.facts);
        call.secret_facts = kept.open_facts(op)?;
        let (parameters, context) = W::wanted(op);
        if self.external.sees.contains(&Sees::Parameters) {
            call.parameters = Some(opened(op, parameters.unwrap_or(&instance.parameters))?);
        }
        if self.external.sees.contains(&Sees::Context) {
            call.context = Some(opened(op, context.unwrap_or(&instance.context))?);
        }
        Ok(self.external.service.call(&call, op.now()).await?)
    }

    /// Why overrides of this step cannot reach the runtime, if so.
    fn too_late<W: Extensible>(&self) -> Option<String> {
        match W::TAKES_OVERRIDES {
            None => Some(format!("{} takes no overrides", W::KIND)),
            Some(at) if self.external.weight >= at => {
                Some(format!("the overrides are taken at weight {at}; give the step a lower one"))
            }
            Some(_) => None,
        }
    }

    fn keep<W: Extensible>(
        &self,
        op: &Operation<W>,
        kept: &mut ExternalFact,
        mut answer: StepResponse,
    ) -> Outcome {
        kept.take_facts(op, &mut answer);
        let reason = answer.reason.take();
        let after = answer.after_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        let said =
            |default: &str| format!("{}: {}", self.external.driver, reason.as_deref().unwrap_or(default));
        match answer.outcome {
            Verdict::Wait => {
                wait(after.unwrap_or(WAIT_DEFAULT).clamp(WAIT_MIN, WAIT_MAX), said("it needs time"))
            }
            Verdict::Retry => {
                let after = after.map(|after| after.min(WAIT_MAX));
                Err(Halt::Retry { after, cause: said("it asks to try again").into() })
            }
            Verdict::Fail => fail(said("it failed and did not say why")),
            Verdict::Done => {
                kept.is_done = true;
                match self.too_late::<W>().filter(|_| !answer.overrides.is_empty()) {
                    Some(why) => kept.ignored = Some(format!("{} overrides: {why}", answer.overrides.len())),
                    None => kept.take_overrides(op, answer),
                }
                done()
            }
        }
    }
}

fn whose(instance: &InstanceRecord) -> OwnerContext<'_> {
    OwnerContext {
        instance_id: &instance.instance_id,
        plan: &instance.plan,
        plan_id: &instance.plan_id,
        provider: &instance.provider,
        region: &instance.region,
        account: &instance.account,
        subaccount: &instance.subaccount,
        shoot: &instance.shoot,
        runtime_id: instance.runtime_id.as_deref(),
    }
}

#[async_trait]
impl<W: Extensible> Step<W> for ExternalStep {
    fn name(&self) -> &'static str {
        self.external.name
    }

    fn title(&self) -> &'static str {
        self.external.title
    }

    fn driver(&self) -> Option<&'static str> {
        Some(self.external.driver)
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.external.timeout + LIMIT_MARGIN)
    }

    /// A short budget begins with short pauses, so that there is more than one try in it.
    fn retries(&self) -> Option<RetryPolicy> {
        let budget = self.external.budget;
        let first = (budget / 600).min(Duration::from_secs(1));
        Some(RetryPolicy { first, max: Duration::from_mins(1), budget })
    }

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        if W::is_forced(&op.params) {
            return done();
        }
        let mut kept = op.recall_as::<ExternalFact>(&self.key)?.unwrap_or_default();
        if !kept.is_done {
            let answer = self.ask(op, &kept).await?;
            let outcome = self.keep(op, &mut kept, answer);
            op.remember_as(&self.key, &kept)?;
            outcome?;
        }
        // Overrides live for one pass only, so they are set on every pass.
        let mut overrides = std::mem::take(&mut op.input.overrides);
        let replayed = kept.replay(op, &mut overrides);
        op.input.overrides = overrides;
        replayed?;
        done()
    }
}

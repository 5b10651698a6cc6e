//! One step of a declared workflow: a signed call, and what its answer means.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::secret::{Sealed, SecretString};
use engine::{Cause, Done, Effect, Halt, Operation, Outcome, RetryPolicy, Step, done, fail};
use external_step::{
    Action, CallOperation, CallParams, CallSignal, NoStepAnswer, Outgoing, Own, StepAnswer, StepCall, Until,
};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::declaration::StepDeclaration;
use crate::kept::StepFact;
use crate::plan::{CallTexts, DeclaredVersion, DeclaredWorkflow, Pass};

/// How long the engine waits for a signal until it asks the step again, where the step names no time.
const SIGNAL_WITHIN: Duration = Duration::from_hours(24);
/// What the engine allows beyond the time of the call itself.
const MARGIN: Duration = Duration::from_secs(10);
/// Room for a call with a few facts.
const BODY_BYTES: usize = 1024;

type Op = Operation<DeclaredWorkflow>;

pub(crate) struct HttpStep {
    declared: StepDeclaration,
    /// Its place among the steps.
    index: usize,
    version: Arc<DeclaredVersion>,
}

/// The name of a signal of one operation. Operations cannot hear those of others.
pub(crate) fn signal_key(operation: impl std::fmt::Display, key: &str) -> String {
    format!("{operation}/{key}")
}

/// What the token of an operation holds.
pub(crate) fn signal_right(operation: impl std::fmt::Display) -> String {
    format!("signal {operation}")
}

impl HttpStep {
    pub(crate) fn new(declared: StepDeclaration, index: usize, version: Arc<DeclaredVersion>) -> HttpStep {
        HttpStep { declared, index, version }
    }

    fn kept(&self, op: &Op) -> Result<StepFact, Halt> {
        Ok(op.recall_as(&self.declared.name)?.unwrap_or_default())
    }

    /// Later steps are told what this one said.
    fn share(&self, op: &mut Op, kept: &StepFact) {
        if !kept.facts.is_empty() {
            op.input.facts.insert(self.declared.name.clone(), kept.facts.clone());
        }
    }

    /// An undo has no pass before it that collected what the steps said.
    fn recall_earlier(&self, op: &mut Op) -> Result<(), Halt> {
        op.input = Pass::default();
        for name in &self.version.names[..self.index] {
            let kept = op.recall_as::<StepFact>(name)?.filter(|kept| !kept.facts.is_empty());
            op.input.facts.extend(kept.map(|kept| (name.clone(), kept.facts)));
        }
        Ok(())
    }

    fn texts(&self, op: &Op) -> CallTexts {
        let id = op.id.to_string();
        CallTexts {
            created_at: op.created_at.to_string(),
            deadline_at: op.deadline_at.to_string(),
            signal_url: self.version.front.signal_url(&id),
            signal_token: op.seal(&SecretString::from(signal_right(&id))),
            id,
        }
    }

    async fn call(
        &self,
        op: &mut Op,
        action: Action,
        kept: &StepFact,
        attempt: u32,
    ) -> Result<Result<StepAnswer, NoStepAnswer>, Halt> {
        let url = match action {
            Action::Run => &self.declared.url,
            Action::Undo => self.declared.undo.as_ref().unwrap_or(&self.declared.url),
        };
        let texts = op.input.texts.take().unwrap_or_else(|| self.texts(op));
        let key = op.idempotency_key(&self.declared.name);
        let body = self.body(op, &texts, action, kept, attempt, &key)?;
        op.input.texts = Some(texts);
        let call = Outgoing {
            url,
            secret: &self.version.shared.secret.get(),
            idempotency_key: &key,
            traceparent: traceparent(op, &self.declared.name, attempt),
            timeout: self.declared.timeout,
            body,
        };
        Ok(self.version.front.client.call(call, op.now()).await)
    }

    fn body(
        &self,
        op: &Op,
        texts: &CallTexts,
        action: Action,
        kept: &StepFact,
        attempt: u32,
        key: &str,
    ) -> Result<Vec<u8>, Halt> {
        let id = &texts.id;
        let earlier = op.input.facts.iter().filter(|(name, _)| **name != self.declared.name);
        let facts = earlier.map(|(name, facts)| (name.as_str(), facts)).collect();
        let payload = kept.signal.as_ref().and_then(|key| Some((key, op.signalled(&signal_key(id, key))?)));
        let opened = self.opened(op)?;
        let version = &self.version;
        let is_sealed = |name: &str| version.params.is_write_only(name);
        let call = StepCall {
            version: 2,
            action,
            step: &self.declared.name,
            attempt,
            operation: CallOperation {
                id,
                workflow: &version.workflow,
                workflow_version: version.version,
                tenant: &op.tenant,
                resource: op.resource.as_deref(),
                created_at: &texts.created_at,
                deadline_at: &texts.deadline_at,
            },
            idempotency_key: key,
            params: CallParams { plain: &op.params.0, sealed: &is_sealed, opened: &opened },
            facts,
            own: Own { facts: &kept.facts, secrets: kept.open(op)? },
            signal: payload.map(|(key, payload)| CallSignal { key, payload }),
            signal_url: texts.signal_url.as_deref(),
            signal_token: Some(texts.signal_token.as_str()),
        };
        let mut body = Vec::with_capacity(BODY_BYTES);
        serde_json::to_writer(&mut body, &call).map_err(|_| Halt::fail("the call cannot be written"))?;
        Ok(body)
    }

    /// The `writeOnly` params that this step may see.
    fn opened(&self, op: &Op) -> Result<BTreeMap<String, SecretString>, Halt> {
        let sealed = |name: &String| {
            let text = op.params.0.get(name)?.as_str()?;
            Some((name.clone(), text))
        };
        let open = |(name, text): (String, &str)| {
            let sealed = Sealed::parse(text).map_err(|error| Halt::fail(format!("{name}: {error}")))?;
            Ok((name, op.open(&sealed)?))
        };
        self.declared.sees.iter().filter_map(sealed).map(open).collect()
    }

    /// Without an answer that can be used.
    fn unanswered(&self, error: NoStepAnswer, action: Action) -> Halt {
        let retry = |after, cause: String| Halt::Retry { after, cause: cause.into() };
        // What may have happened must not happen again, unless the service honours the key. Undo is asked for with the key
        // of the run, so it can always be asked for again.
        let may_repeat = self.declared.effect != Effect::Once || action == Action::Undo;
        match error {
            NoStepAnswer::NotSent(cause) => retry(None, cause),
            NoStepAnswer::Busy { cause, after } => retry(after, cause),
            NoStepAnswer::Broken { cause, after } if may_repeat => retry(after, cause),
            NoStepAnswer::Lost(cause) if may_repeat => retry(None, cause),
            NoStepAnswer::Lost(cause) | NoStepAnswer::Broken { cause, .. } => Halt::Unknown {
                cause: Cause::from(format!(
                    "{cause}; it is unknown whether {} happened: look at the service, then retry to call it again, or cancel",
                    self.declared.name
                )),
            },
            NoStepAnswer::Refused(cause) => Halt::fail(cause),
        }
    }

    /// Remembers what a wait says, and waits.
    fn wait(&self, op: &mut Op, mut kept: StepFact, attempt: u32, answer: StepAnswer) -> Outcome {
        let StepAnswer::Wait { until, reason, facts, progress } = answer else { return done() };
        let before = kept.clone();
        if let Some(facts) = facts {
            kept.facts = facts;
        }
        let (after, key) = match until {
            Until::After(after) => (after, None),
            Until::Signal { key, within } => (within.unwrap_or(SIGNAL_WITHIN), Some(key)),
        };
        kept.progress.clone_from(&progress);
        kept.signal.clone_from(&key);
        // Only a wait with news is counted: a poll that found nothing costs no event.
        if kept != before {
            kept.calls = Some(attempt);
            op.remember_as(&self.declared.name, &kept)?;
        }
        let reason = match (progress, reason, &key) {
            (Some(progress), Some(reason), _) => format!("{progress}: {reason}"),
            (Some(only), None, _) | (None, Some(only), _) => only,
            (None, None, Some(key)) => format!("waiting for the signal {key}"),
            (None, None, None) => "the service asks to wait".to_owned(),
        };
        let key = key.map(|key| signal_key(op.id, &key));
        Err(Halt::Wait { after, reason, key })
    }
}

#[async_trait]
impl Step<DeclaredWorkflow> for HttpStep {
    fn name(&self) -> &str {
        &self.declared.name
    }

    fn title(&self) -> &str {
        &self.declared.title
    }

    fn effect(&self) -> Effect {
        self.declared.effect
    }

    fn gate(&self) -> Option<Arc<Semaphore>> {
        self.version.shared.gates.of(&self.declared.name)
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.declared.timeout + MARGIN)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        self.declared.retry
    }

    async fn run(&self, op: &mut Op) -> Outcome {
        let mut kept = self.kept(op)?;
        self.share(op, &kept);
        if kept.is_done {
            return match kept.skipped {
                Some(reason) => Ok(Done::Unneeded { reason: reason.into() }),
                None => done(),
            };
        }
        let attempt = kept.calls.unwrap_or(0) + op.tries(&self.declared.name, false) + 1;
        let answer = self.call(op, Action::Run, &kept, attempt).await?;
        match answer.map_err(|error| self.unanswered(error, Action::Run))? {
            StepAnswer::Done { facts, secrets } => {
                kept.is_done = true;
                if !facts.is_empty() {
                    kept.facts = facts;
                }
                kept.secrets.extend(secrets.0.iter().map(|(key, secret)| (key.clone(), op.seal(secret))));
                (kept.progress, kept.signal) = (None, None);
                op.remember_as(&self.declared.name, &kept)?;
                self.share(op, &kept);
                done()
            }
            StepAnswer::Skip { reason } => {
                let reason = reason.unwrap_or_else(|| "the service had nothing to do".to_owned());
                let kept = StepFact { is_done: true, skipped: Some(reason.clone()), ..kept };
                op.remember_as(&self.declared.name, &kept)?;
                Ok(Done::Unneeded { reason: reason.into() })
            }
            StepAnswer::Retry { reason, after } => Err(Halt::Retry { after, cause: reason.into() }),
            StepAnswer::Fail { reason } => fail(reason),
            answer @ StepAnswer::Wait { .. } => self.wait(op, kept, attempt, answer),
        }
    }

    async fn undo(&self, op: &mut Op) -> Outcome {
        if self.declared.undo.is_none() {
            return done();
        }
        let kept = self.kept(op)?;
        let attempt = op.tries(&self.declared.name, true) + 1;
        self.recall_earlier(op)?;
        let answer = self.call(op, Action::Undo, &kept, attempt).await?;
        match answer.map_err(|error| self.unanswered(error, Action::Undo))? {
            StepAnswer::Done { .. } | StepAnswer::Skip { .. } => done(),
            StepAnswer::Retry { reason, after } => Err(Halt::Retry { after, cause: reason.into() }),
            StepAnswer::Fail { reason } => fail(reason),
            answer @ StepAnswer::Wait { .. } => self.wait(op, kept, attempt, answer),
        }
    }

    /// A dry run calls nothing.
    async fn preview(&self, _op: &mut Op) -> Result<(), Halt> {
        Ok(())
    }
}

/// One trace for all calls of an operation, and a span for each call.
fn traceparent(op: &Op, step: &str, attempt: u32) -> String {
    let digest = Sha256::digest(format!("{step} {attempt} {}", op.now().0).as_bytes());
    let span = u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"));
    format!("00-{}-{span:016x}-01", op.id.0.simple())
}

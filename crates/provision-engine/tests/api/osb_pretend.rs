//! Workflows with the names of the real ones that do nothing outside: they write the records as the real ones do,
//! when the test lets them.

use std::sync::atomic::{AtomicBool, Ordering};

use ::runtimes::model::{BIND, Binding, DEPROVISION, InstanceRecord, PROVISION, UNBIND, UPDATE};
use ::runtimes::workflows::{bind, deprovision, provision, unbind, update};
use engine::prelude::*;
use engine::secret::Sealer;
use engine::{Engine, EngineBuilder};
use serde_json::Value;

/// What the test holds in its hands.
#[derive(Default)]
pub(crate) struct Levers {
    held: AtomicBool,
    failing: AtomicBool,
}

impl Levers {
    pub(crate) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::SeqCst);
    }

    pub(crate) fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }
}

/// What happens when a workflow may go on.
#[async_trait]
trait PretendAction: Workflow + Sized {
    async fn carry(op: &mut Operation<Self>) -> Result<(), Halt>;
}

struct Act(Arc<Levers>);

#[async_trait]
impl<W: PretendAction> Step<W> for Act {
    fn name(&self) -> &'static str {
        "act"
    }
    fn title(&self) -> &'static str {
        "Playing the part"
    }
    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        if self.0.held.load(Ordering::SeqCst) {
            return wait(Duration::from_millis(5), "the curtain is down");
        }
        if self.0.failing.load(Ordering::SeqCst) {
            return fail("the stage is on fire");
        }
        W::carry(op).await?;
        done()
    }
    async fn undo(&self, _op: &mut Operation<W>) -> Outcome {
        done()
    }
}

macro_rules! workflow {
    ($name:ident, $kind:expr, $params:ty, $real:ty) => {
        struct $name;
        impl Workflow for $name {
            const KIND: &'static str = $kind;
            const ABOUT: &'static str = "Pretends.";
            type Params = $params;
            type State = ();
            type Input = ();
            fn admit(asked: Value, sealer: &Sealer) -> Result<Self::Params, String> {
                <$real as Workflow>::admit(asked, sealer)
            }
        }
    };
}

workflow!(Provision, PROVISION, provision::Params, provision::Provision);
workflow!(Update, UPDATE, update::Params, update::Update);
workflow!(Deprovision, DEPROVISION, deprovision::Params, deprovision::Deprovision);
workflow!(Bind, BIND, bind::Params, bind::Bind);
workflow!(Unbind, UNBIND, unbind::Params, unbind::Unbind);

pub(crate) fn register(builder: EngineBuilder, levers: &Arc<Levers>) -> Engine {
    fn plan<W: PretendAction>(on_failure: OnFailure, levers: &Arc<Levers>) -> Plan<W> {
        Plan::new(on_failure).step(1, Act(Arc::clone(levers)))
    }
    builder
        .workflow(plan::<Provision>(OnFailure::Leave, levers))
        .workflow(plan::<Update>(OnFailure::Leave, levers))
        .workflow(plan::<Deprovision>(OnFailure::Leave, levers))
        .workflow(plan::<Bind>(OnFailure::Unwind, levers))
        .workflow(plan::<Unbind>(OnFailure::Leave, levers))
        .build()
}

async fn subject<R: Resource, W: Workflow>(op: &Operation<W>) -> Result<R, Halt> {
    op.subject().await?.ok_or(Halt::Fail { cause: "there is no record".into() })
}

#[async_trait]
impl PretendAction for Provision {
    async fn carry(op: &mut Operation<Self>) -> Result<(), Halt> {
        let mut instance: InstanceRecord = subject(op).await?;
        instance.ready = true;
        instance.runtime_id = Some(format!("runtime-{}", instance.former_runtimes.len() + 1));
        instance.dashboard_url = Some("https://console.example.com".into());
        op.set_record(&instance)
    }
}

#[async_trait]
impl PretendAction for Update {
    async fn carry(op: &mut Operation<Self>) -> Result<(), Halt> {
        let mut instance: InstanceRecord = subject(op).await?;
        let params = &op.params;
        instance.plan_id = params.plan_id.clone().unwrap_or(instance.plan_id);
        instance.parameters = params.parameters.clone().unwrap_or(instance.parameters);
        instance.context = params.context.clone().unwrap_or(instance.context);
        instance.maintenance_version = params.maintenance_version.clone().or(instance.maintenance_version);
        op.set_record(&instance)
    }
}

#[async_trait]
impl PretendAction for Deprovision {
    async fn carry(op: &mut Operation<Self>) -> Result<(), Halt> {
        let mut instance: InstanceRecord = subject(op).await?;
        instance.former_runtimes.extend(instance.runtime_id.take());
        instance.dashboard_url = None;
        instance.gone_at = (!op.params.temporary).then(|| op.now());
        op.set_record(&instance)
    }
}

#[async_trait]
impl PretendAction for Bind {
    async fn carry(op: &mut Operation<Self>) -> Result<(), Halt> {
        let mut binding: Binding = subject(op).await?;
        let lifetime = Duration::from_secs(op.params.expiration_seconds.into());
        binding.kubeconfig =
            Some(op.seal(&SecretString::from(format!("kubeconfig of {}", op.params.runtime_id))));
        binding.expires_at = Some(op.now().plus(lifetime));
        op.set_record(&binding)
    }
}

#[async_trait]
impl PretendAction for Unbind {
    async fn carry(op: &mut Operation<Self>) -> Result<(), Halt> {
        let mut binding: Binding = subject(op).await?;
        binding.kubeconfig = None;
        binding.gone_at = Some(op.now());
        op.set_record(&binding)
    }
}

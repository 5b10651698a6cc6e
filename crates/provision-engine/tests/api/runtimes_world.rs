//! Service instances in a world of their own: records with all their secrets, and workflows that do as they are
//! told.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

use ::runtimes::api::RuntimesApi;
use ::runtimes::api::osb::OsbSettings;
use ::runtimes::model::catalog::Catalog;
use ::runtimes::model::{BIND, Binding, DEPROVISION, InstanceRecord, PROVISION, UNBIND, UPDATE};
use engine::prelude::*;
use engine::secret::{KeyRing, SharedRing};
use engine::store::{Expect, ResourceRow};
use engine::{Command, Engine, OperationId, Phase, RecordWrites, Timestamp};
use serde_json::{Value, json};
use server::{Meter, Server};

use crate::world::{ApiFixture, settings, sleeping_world_with};

/// Made once, because that takes its time.
static CATALOG: LazyLock<Arc<Catalog>> = LazyLock::new(|| Arc::new(Catalog::built_in()));

/// What every workflow does next.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(u8)]
pub(crate) enum Then {
    Succeed,
    Fail,
    Hold,
}

#[derive(Default)]
struct WorkflowScript(AtomicU8);

pub(crate) struct RuntimesFixture {
    pub(crate) world: ApiFixture,
    script: Arc<WorkflowScript>,
}

macro_rules! workflow {
    ($name:ident $kind:ident) => {
        struct $name;
        impl Workflow for $name {
            const KIND: &'static str = $kind;
            const ABOUT: &'static str = "Does as it is told.";
            type Params = Value;
            type State = Value;
            type Input = ();
        }
    };
}

workflow!(Provision PROVISION);
workflow!(Update UPDATE);
workflow!(Deprovision DEPROVISION);
workflow!(Bind BIND);
workflow!(Unbind UNBIND);

struct Act(Arc<WorkflowScript>);

#[async_trait]
impl<W: Workflow<Params = Value>> Step<W> for Act {
    fn name(&self) -> &'static str {
        "act"
    }
    fn title(&self) -> &'static str {
        "Doing as told"
    }
    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let then = self.0.0.load(Ordering::SeqCst);
        if then == Then::Hold as u8 {
            return wait(Duration::from_secs(3600), "it is held");
        }
        if then == Then::Fail as u8 {
            return fail("the quota is used up");
        }
        let now = op.now();
        if W::KIND == UNBIND {
            let mut binding: Binding = op.subject().await?.unwrap();
            binding.gone_at = Some(now);
            op.set_record(&binding)?;
        }
        if W::KIND == DEPROVISION && op.params["temporary"] == false {
            let mut instance: InstanceRecord = op.subject().await?.unwrap();
            instance.gone_at = Some(now);
            op.set_record(&instance)?;
        }
        done()
    }
}

fn plan<W: Workflow<Params = Value>>(script: &Arc<WorkflowScript>) -> Plan<W> {
    Plan::new(OnFailure::Leave).step(1, Act(script.clone()))
}

pub(crate) async fn runtimes() -> RuntimesFixture {
    runtimes_with(OsbSettings::default()).await
}

pub(crate) async fn runtimes_with(osb: OsbSettings) -> RuntimesFixture {
    let base = sleeping_world_with(settings()).await;
    let (script, meter) = (Arc::<WorkflowScript>::default(), Arc::new(Meter::new()));
    let ring = SharedRing::new(KeyRing::generate());
    let engine = Engine::builder(base.store.clone(), base.clock.clone(), ring)
        .workflow(plan::<Provision>(&script))
        .workflow(plan::<Update>(&script))
        .workflow(plan::<Deprovision>(&script))
        .workflow(plan::<Bind>(&script))
        .workflow(plan::<Unbind>(&script))
        .build();
    engine.start(None).await.unwrap();
    let router = server::router(Server {
        engine: engine.clone(),
        access: base.store.clone(),
        people: base.store.clone(),
        meter,
        settings: settings(),
        bearers: None,
        endpoints: vec![Arc::new(RuntimesApi {
            catalog: CATALOG.clone(),
            osb,
            backends: None,
            runtimes: Arc::default(),
        })],
        workflows: None,
        diagnostics: server::Diagnostics::default(),
        closing: base.closing.clone(),
    });
    RuntimesFixture { world: ApiFixture { engine, router, ..base }, script }
}

impl RuntimesFixture {
    pub(crate) fn engine(&self) -> &Engine {
        &self.world.engine
    }

    pub(crate) fn all_will(&self, then: Then) {
        self.script.0.store(then as u8, Ordering::SeqCst);
    }

    /// An instance of a plan whose time is limited.
    pub(crate) fn workflow_test(&self, id: &str) -> InstanceRecord {
        let catalog = &*CATALOG;
        let plan = catalog.plan_named("trial").unwrap();
        let sealer = self.engine().sealer("acme", &InstanceRecord::resource(id));
        let seal = |text: &str| sealer.seal(&SecretString::from(text));
        InstanceRecord {
            plan: plan.name.clone(),
            provider: "azure".into(),
            region: "westeurope".into(),
            platform_region: Some("cf-eu10".into()),
            account: "acme".into(),
            subaccount: format!("sub-{id}"),
            user: "john".into(),
            shoot: format!("c-{id}"),
            runtime_id: Some(format!("rt-{id}")),
            kubeconfig: Some(seal("apiVersion: v1\nkind: Config\n")),
            ready: true,
            ..InstanceRecord::new(id, &catalog.service.id, &plan.id, seal("{}"), seal("{}"))
        }
    }

    pub(crate) fn binding(&self, instance_id: &str, id: &str, expires_at: Timestamp) -> Binding {
        let sealer = self.engine().sealer("acme", &Binding::resource(instance_id, id));
        Binding {
            instance_id: instance_id.to_owned(),
            binding_id: id.to_owned(),
            service_id: "s".into(),
            plan_id: "p".into(),
            runtime_id: None,
            platform: "cf".into(),
            digest: "d".into(),
            parameters: sealer.seal(&SecretString::from("{}")),
            kubeconfig: Some(sealer.seal(&SecretString::from("hush"))),
            expires_at: Some(expires_at),
            gone_at: None,
        }
    }

    /// A record that no operation has made.
    pub(crate) async fn write<R: Resource>(&self, name: &str, record: &R) {
        let record_update = Some(record.record_update().unwrap());
        assert!(self.engine().write_resource(name, "acme", Expect::Absent, record_update).await.unwrap());
    }

    /// A record that an operation made, or works on.
    pub(crate) async fn make(&self, instance: &InstanceRecord, workflow: &str, then: Then) -> OperationId {
        let name = InstanceRecord::resource(&instance.instance_id);
        let row = self.engine().resource(&name).await.unwrap();
        let seen = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
        self.all_will(then);
        let command = Command {
            name: None,
            workflow: workflow.to_owned(),
            tenant: "acme".into(),
            resource: Some(name.clone()),
            params: json!({"temporary": instance.suspended}),
            by: "platform".into(),
            idempotency_key: None,
            queue: false,
        };
        let along = RecordWrites {
            subject: Some((seen, Some(instance.record_update().unwrap()))),
            ..RecordWrites::default()
        };
        let id = self.engine().accept(command, along).await.unwrap().id;
        let phase = match then {
            Then::Succeed => Phase::Succeeded,
            Then::Fail => Phase::Failed,
            Then::Hold => Phase::Waiting,
        };
        self.world.until(&id.to_string(), phase.as_str()).await;
        self.all_will(Then::Succeed);
        id
    }

    pub(crate) async fn row(&self, id: &str) -> ResourceRow {
        self.engine().resource(&InstanceRecord::resource(id)).await.unwrap().unwrap()
    }

    pub(crate) async fn record(&self, id: &str) -> InstanceRecord {
        serde_json::from_str(&self.row(id).await.record).unwrap()
    }
}

//! `TestConsole`: the state of a console over an engine in memory that no node runs.

use std::sync::Arc;

use engine::prelude::*;
use engine::secret::{KeyRing, Sealer, SharedRing};
use engine::store::MemoryStore;
use engine::{Command, Engine, OnFailure, Plan, Proof, Role, WallClock};
use serde_json::Value;
use server::{Diagnostics, Meter, Principal, PrincipalSubject, Server, ServerSettings};

use crate::api::ApiClient;
use crate::pages::Pages;
use crate::shared::{Console, ConsoleSettings, ConsoleShared, ConsoleState};

pub(crate) struct TestConsole {
    pub(crate) shared: ConsoleState,
}

impl TestConsole {
    pub(crate) fn new() -> TestConsole {
        let store = Arc::new(MemoryStore::default());
        let ring = SharedRing::new(KeyRing::generate());
        let plan = Plan::new(OnFailure::Leave).step(1, Sleep);
        let engine = Engine::builder(store.clone(), Arc::new(WallClock), ring).workflow(plan).build();
        let (_, inside) = server::open(Server {
            engine,
            access: store.clone(),
            people: store.clone(),
            meter: Arc::new(Meter::new()),
            settings: ServerSettings::default(),
            bearers: None,
            endpoints: Vec::new(),
            workflows: None,
            diagnostics: Diagnostics::default(),
            closing: tokio_util::sync::CancellationToken::new(),
        });
        let settings = ConsoleSettings::default();
        let console = Console { inside, people: store, code_flow: None, settings, pages: Pages::default() };
        TestConsole { shared: ConsoleShared::new(console) }
    }

    pub(crate) fn api(&self) -> ApiClient {
        let subject = PrincipalSubject {
            name: "rita".to_owned(),
            roles: vec![Role::Reader],
            ..PrincipalSubject::default()
        };
        let who = Principal::of(Proof::Token { digest: String::new() }, subject);
        ApiClient::new(ConsoleState::clone(&self.shared), who)
    }

    /// Begins something that no node works on.
    pub(crate) async fn submit(&self) {
        let command = Command {
            name: None,
            workflow: Nap::KIND.to_owned(),
            tenant: "t".to_owned(),
            resource: None,
            params: Value::Null,
            by: "rita".to_owned(),
            idempotency_key: None,
            queue: false,
        };
        self.shared.inside.engine().submit_json(command).await.unwrap();
    }
}

struct Nap;
struct Sleep;

impl Workflow for Nap {
    const KIND: &'static str = "test.nap";
    const ABOUT: &'static str = "Sleeps.";
    type Params = ();
    type State = ();
    type Input = ();

    fn admit(_: Value, _: &Sealer) -> Result<(), String> {
        Ok(())
    }
}

#[async_trait]
impl Step<Nap> for Sleep {
    fn name(&self) -> &'static str {
        "sleep"
    }
    fn title(&self) -> &'static str {
        "Sleeping"
    }
    fn effect(&self) -> Effect {
        Effect::Pure
    }
    async fn run(&self, _: &mut Operation<Nap>) -> Outcome {
        done()
    }
}

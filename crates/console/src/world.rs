//! A desk with an engine in memory on which no node works, for tests that look at what pages ask.

use std::sync::Arc;

use engine::prelude::*;
use engine::secret::{KeyRing, Sealer, SharedRing};
use engine::store::MemoryStore;
use engine::{Command, Engine, OnFailure, Plan, Proof, Role, WallClock};
use serde_json::Value;
use server::{Meter, Principal, Server, ServerSettings, Subject, Upkeep};

use crate::api::Api;
use crate::desk::{Console, ConsoleSettings, Desk, Hub};
use crate::pages::Pages;

pub(crate) struct World {
    pub(crate) desk: Desk,
    meter: Arc<Meter>,
}

impl World {
    pub(crate) fn new() -> World {
        let store = Arc::new(MemoryStore::default());
        let meter = Arc::new(Meter::new());
        let ring = SharedRing::new(KeyRing::generate());
        let plan = Plan::new(OnFailure::Leave).step(1, Sleep);
        let engine = Engine::builder(store.clone(), Arc::new(WallClock), ring).workflow(plan).build();
        let (_, inside) = server::open(Server {
            engine,
            access: store.clone(),
            people: store.clone(),
            meter: Arc::clone(&meter),
            settings: ServerSettings::default(),
            bearers: None,
            endpoints: Vec::new(),
            workflows: None,
            upkeep: Upkeep::default(),
            closing: tokio_util::sync::CancellationToken::new(),
        });
        let settings = ConsoleSettings::default();
        let console = Console {
            inside,
            people: store,
            meter: Arc::clone(&meter),
            code_flow: None,
            settings,
            pages: Pages::default(),
        };
        World { desk: Hub::new(console), meter }
    }

    pub(crate) fn api(&self) -> Api {
        let subject = Subject { name: "rita".to_owned(), roles: vec![Role::Reader], ..Subject::default() };
        let who = Principal::of(Proof::Token { digest: String::new() }, subject);
        Api::new(Desk::clone(&self.desk), who)
    }

    /// Begins something that nobody works on; its one event is known to the desk afterwards.
    pub(crate) async fn submit(&self) {
        let known = self.desk.pulse.events().len();
        let command = Command {
            workflow: Nap::KIND.to_owned(),
            tenant: "t".to_owned(),
            resource: None,
            params: Value::Null,
            by: "rita".to_owned(),
            idempotency_key: None,
            queue: false,
        };
        self.desk.inside.engine().submit_json(command).await.unwrap();
        for _ in 0..1000 {
            if self.desk.pulse.events().len() > known {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("nobody heard of it");
    }

    /// How often the API was asked.
    pub(crate) fn asked(&self) -> u64 {
        let text = self.meter.encode();
        let requests = text.lines().filter(|line| line.starts_with("provision_engine_http_requests_total"));
        requests.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
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

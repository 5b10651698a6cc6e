//! Image Builder: an external system that builds images of operating systems, twice if it is asked twice.
//!
//! Every look at it first ends the builds whose time has come. A task looks now and then too, because others want to
//! be told of an end that was not requested.

mod admission;
mod build;
mod builds;
mod by_hand;
mod calls;
mod catalog;
mod controls;
mod delay_times;
mod faults;
mod notices;
mod signature;
mod traffic;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::admission::UploadTarget;
use self::build::{Build, Status};
use self::builds::Builds;
use self::notices::{BuildResult, Notices};
use self::traffic::Traffic;
use crate::SandboxShared;
use crate::aws::Images;
use crate::azure::Azure;
use crate::clock::Clock;
use crate::faults::{Gate, hit};
use crate::kafka::Kafka;
use crate::ledger::{Effect, Ledger, LedgerSystem};
use crate::script;
use crate::sources::Sources;

const BASE: &str = "/api/image-builder/v1";
const COMPOSE: Effect = Effect { system: LedgerSystem::ImageBuilder, kind: "compose" };
/// A long list of packages and files fits.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How often the task looks while something is under way.
const LOOK: Duration = Duration::from_millis(25);

#[derive(Debug)]
pub(crate) struct ImageBuilder {
    clock: Arc<Clock>,
    ledger: Arc<Ledger>,
    sources: Arc<Sources>,
    images: Arc<Images>,
    azure: Azure,
    kafka: Arc<Kafka>,
    builds: Mutex<Builds>,
    traffic: Traffic,
    notices: Notices,
    woken: Notify,
}

impl ImageBuilder {
    pub(crate) fn new(
        clock: Arc<Clock>,
        ledger: Arc<Ledger>,
        sources: Arc<Sources>,
        images: Arc<Images>,
        azure: Azure,
        kafka: Arc<Kafka>,
    ) -> Self {
        ImageBuilder {
            clock,
            ledger,
            sources,
            images,
            azure,
            kafka,
            builds: Mutex::default(),
            traffic: Traffic::default(),
            notices: Notices::default(),
            woken: Notify::new(),
        }
    }

    /// Ends the builds whose time has come, so that the rest of the world is as it should be by now.
    pub(crate) fn settle(&self) {
        drop(self.settled());
    }

    fn settled(&self) -> MutexGuard<'_, Builds> {
        let mut builds = self.builds.lock().unwrap_or_else(PoisonError::into_inner);
        for id in builds.end(self.clock.now()) {
            self.ended(&builds.by_id[&id]);
        }
        builds
    }

    /// What follows from the end of a build.
    fn ended(&self, build: &Build) {
        let at = build.ends_at().unwrap_or_else(|| self.clock.now());
        let status = build.status(at);
        if let (Status::Success, UploadTarget::Aws { accounts }) = (status, &build.admitted.target) {
            self.images.register(&build.ami(), &build.region, build.admitted.architecture, accounts);
        }
        if let (Status::Success, Some((id, generation))) = (status, build.azure_image()) {
            self.azure.add_image(&id, generation);
        }
        let failure = build.failure.as_ref().filter(|_| status == Status::Failure);
        self.notices.put(BuildResult {
            compose_id: build.id,
            org: build.org.clone(),
            status: json!(status),
            upload: build.upload(status),
            error: failure.map(|failure| failure.error.clone()).unwrap_or_default(),
            at,
        });
    }

    /// Tells others of builds that are over, until it is told to stop.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut telling = JoinSet::new();
        loop {
            let is_idle = self.settled().is_idle() && self.notices.is_idle();
            for ended in self.notices.due(self.clock.now()) {
                let builder = Arc::clone(&self);
                telling.spawn(async move { builder.notices.tell(&ended, &builder.kafka).await });
            }
            while telling.try_join_next().is_some() {}
            let rest = async {
                if is_idle {
                    self.woken.notified().await;
                } else {
                    tokio::time::sleep(LOOK).await;
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = rest => {}
            }
        }
    }
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let builder = &world.image_builder;
    let gate = Gate { system: LedgerSystem::ImageBuilder, faults: Arc::clone(&world.faults) };
    let calls = Router::new()
        .route("/compose", post(calls::submit))
        .route("/composes", get(calls::list))
        .route("/composes/{id}", get(calls::show).delete(calls::hide))
        .route("/distributions", get(calls::distributions))
        .route("/architectures/{distribution}", get(calls::architectures))
        .route("/ready", get(calls::ready))
        .route("/version", get(calls::version))
        .route_layer(middleware::from_fn_with_state(gate, hit))
        .route_layer(middleware::from_fn_with_state(Arc::clone(builder), traffic::pass))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    Router::new()
        .nest(BASE, calls.clone())
        .nest(&format!("{BASE}.0"), calls)
        .merge(controls::routes())
        .with_state(Arc::clone(builder))
        .merge(script::routes("/image-builder/faults", &builder.settled().faults))
}

//! Declared workflows: how many steps per second a local service carries out, beside the bare calls that the same client
//! makes to it in the same run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::routing::post;
use axum::serve::ListenerExt;
use declared::{Declaration, Front, Reach, StepClient, compile};
use engine::secret::{KeyRing, SecretString, SharedRing};
use engine::{Clock, Engine, Settings, WallClock};
use external_step::Outgoing;
use reqwest::Url;
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinHandle;

use super::cpu;
use super::load::{self, Gate, STEPS, as_float, micros};
use super::measure::{Effort, median};
use super::target::BenchDatabaseKind;
use provision_engine::output::note;

const IN_FLIGHT: usize = 64;
const WORKFLOW: &str = "bench.declared";
const SECRET: &str = "0123456789abcdef0123456789abcdef";
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// What was measured on one database. Medians over the rounds.
#[derive(Debug, Serialize)]
pub(super) struct DeclaredResult {
    pub(super) name: &'static str,
    pub(super) in_flight: usize,
    /// Calls that the client makes without an engine around it.
    pub(super) calls_per_second: f64,
    pub(super) steps_per_second: f64,
    /// Of each round.
    pub(super) ratio: f64,
    pub(super) commits_per_step: f64,
    /// Of the client and the service.
    pub(super) cpu_micros_per_call: f64,
    /// The same, with the engine and the database.
    pub(super) cpu_micros_per_step: f64,
    /// A kept connection carries many calls.
    pub(super) calls_per_connection: f64,
}

impl DeclaredResult {
    pub(super) fn figures(&self) -> Vec<(String, f64)> {
        let at = format!("at {} in flight", self.in_flight);
        vec![
            (format!("D1 bare calls/s {at}"), self.calls_per_second),
            (format!("D1 declared steps/s {at}"), self.steps_per_second),
            (format!("D1 commits per declared step {at}"), self.commits_per_step),
            ("D1 CPU µs per bare call".to_owned(), self.cpu_micros_per_call),
            ("D1 CPU µs per declared step".to_owned(), self.cpu_micros_per_step),
            ("D1 calls per connection".to_owned(), self.calls_per_connection),
        ]
    }
}

/// A service that has nothing to do.
struct Service {
    url: Url,
    calls: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    serving: JoinHandle<()>,
}

impl Service {
    async fn start() -> Result<Service> {
        let (calls, connections) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (called, connected) = (Arc::clone(&calls), Arc::clone(&connections));
        let answer = post(move |_: axum::body::Bytes| {
            called.fetch_add(1, Ordering::Relaxed);
            async { axum::Json(json!({"outcome": "done", "facts": {"id": "1"}})) }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = Url::parse(&format!("http://{}/", listener.local_addr()?))?;
        let listener = listener.tap_io(move |stream| {
            connected.fetch_add(1, Ordering::Relaxed);
            // An answer that waits for more of it is not what is measured.
            drop(stream.set_nodelay(true));
        });
        let router = Router::new().route("/{step}", answer);
        let serving = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Service { url, calls, connections, serving })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(super) async fn measure(target: &BenchDatabaseKind, effort: &Effort) -> Result<DeclaredResult> {
    let target = target.another("declared")?;
    let service = Service::start().await?;
    let client = StepClient::new(Reach::default())?;
    let (mut bare, mut loads, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=effort.rounds {
        note(format!("  declared steps, round {round} of {}", effort.rounds));
        let calls = call(&client, &service, effort.window / 2).await?;
        let load = run(&target, &client, &service, effort.window).await?;
        ratios.push(load.steps_per_second / calls.per_second);
        bare.push(calls);
        loads.push(load);
    }
    let calls = as_float(service.calls.load(Ordering::Relaxed));
    Ok(DeclaredResult {
        name: target.name(),
        in_flight: IN_FLIGHT,
        calls_per_second: median(bare.iter().map(|calls| calls.per_second)),
        steps_per_second: median(loads.iter().map(|load| load.steps_per_second)),
        ratio: median(ratios.into_iter()),
        commits_per_step: median(loads.iter().map(|load| load.commits_per_step)),
        cpu_micros_per_call: median(bare.iter().map(|calls| calls.cpu_micros)),
        cpu_micros_per_step: median(loads.iter().map(|load| load.cpu_micros_per_step)),
        calls_per_connection: calls / as_float(service.connections.load(Ordering::Relaxed).max(1)),
    })
}

struct BareCalls {
    per_second: f64,
    cpu_micros: f64,
}

/// Signed calls with a body such as the engine sends, one after the other in each place.
async fn call(client: &StepClient, service: &Service, window: Duration) -> Result<BareCalls> {
    let url = Arc::new(service.url.join("bare")?);
    let body = Arc::new(body().into_bytes());
    let warm_up = WallClock.now().plus(window / 5);
    let end = warm_up.plus(window);
    let callers: Vec<_> = (0..IN_FLIGHT)
        .map(|place| {
            let (client, url, body) = (client.clone(), Arc::clone(&url), Arc::clone(&body));
            tokio::spawn(async move {
                let (mut count, secret) = (0_u64, SecretString::from(SECRET));
                loop {
                    let now = WallClock.now();
                    if now >= end {
                        return anyhow::Ok(count);
                    }
                    let call = Outgoing {
                        url: &url,
                        secret: &secret,
                        idempotency_key: &format!("{place}-{count}"),
                        traceparent: "00-00000000000000000000000000000001-0000000000000001-01".to_owned(),
                        timeout: CALL_LIMIT,
                        body: body.to_vec(),
                    };
                    let answer = client.call(call, now).await;
                    answer.map_err(|error| anyhow::anyhow!("a bare call failed: {error:?}"))?;
                    count += u64::from(now >= warm_up);
                }
            })
        })
        .collect();
    WallClock.sleep(window / 5).await;
    let cpu = cpu::used(None)?;
    let mut calls = 0;
    for caller in callers {
        calls += caller.await??;
    }
    let (cpu, calls) = (cpu::used(None)?.saturating_sub(cpu), as_float(calls).max(1.0));
    Ok(BareCalls { per_second: calls / window.as_secs_f64(), cpu_micros: micros(cpu) / calls })
}

fn body() -> String {
    let text = |length: usize| "x".repeat(length);
    json!({
        "version": 2, "action": "run", "step": "four", "attempt": 1, "idempotency_key": text(36),
        "operation": {"id": text(36), "workflow": WORKFLOW, "workflow_version": 1, "tenant": "bench",
                      "created_at": text(24), "deadline_at": text(24)},
        "params": {}, "facts": {"zero": {"id": "1"}, "one": {"id": "1"}, "two": {"id": "1"}},
        "own": {"facts": {}, "secrets": {}}, "signal_token": text(120),
    })
    .to_string()
}

async fn run(
    target: &BenchDatabaseKind,
    client: &StepClient,
    service: &Service,
    window: Duration,
) -> Result<load::Load> {
    let steps: Vec<String> = (1..=STEPS)
        .map(|number| format!("{{name: step-{number}, weight: {number}, title: A step, url: step-{number}}}"))
        .collect();
    let text = format!(
        "{{workflow: {WORKFLOW}, title: Ten calls, base_url: '{}', steps: [{}]}}",
        service.url,
        steps.join(", ")
    );
    let declaration =
        Declaration::parse(&text, Reach::default()).map_err(|wrong| anyhow::anyhow!("{wrong}"))?;
    let plan = compile(declaration, 1, &Front::new(client.clone()), SECRET.into());
    let gate = Gate::new(IN_FLIGHT);
    let store = target.open().await.context("cannot open the database of declared steps")?;
    let engine = Engine::builder(store, Arc::new(WallClock), SharedRing::new(KeyRing::generate()))
        .settings(Settings { max_running: 20_000, ..Settings::default() })
        .observer(Arc::clone(&gate) as Arc<_>)
        .workflow(plan)
        .build();
    load::measure_on(target, &engine, &gate, WORKFLOW, window).await
}

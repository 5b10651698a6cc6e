//! The engine under load: so many operations in flight, for so long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use engine::secret::{KeyRing, SharedRing};
use engine::store::Store;
use engine::{Clock, Command, Engine, Observer, Phase, Settings, StepResult, WallClock};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::target::BenchDatabaseKind;
use super::workflow;

pub(super) const STEPS: u64 = 10;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Load {
    pub(super) in_flight: usize,
    pub(super) steps_per_second: f64,
    pub(super) operation_p50_ms: f64,
    pub(super) operation_p99_ms: f64,
    pub(super) commits_per_step: f64,
    pub(super) bytes_per_step: f64,
    /// Of everything in this process, and of the server of the database where that is ours.
    pub(super) cpu_micros_per_step: f64,
}

/// Hands a place back when an operation ends, and notes how long it took.
pub(super) struct Gate {
    places: Semaphore,
    finished: AtomicU64,
    millis: Mutex<Vec<f64>>,
}

impl Gate {
    pub(super) fn new(places: usize) -> Arc<Gate> {
        let places = Semaphore::new(places);
        Arc::new(Gate { places, finished: AtomicU64::new(0), millis: Mutex::default() })
    }

    fn take_millis(&self) -> Vec<f64> {
        std::mem::take(&mut self.millis.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Gate {
    fn step_ran(&self, _: &str, _: &str, _: StepResult, _: Duration) {}

    fn finished(&self, _: &str, _: Phase, took: Duration) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.millis.lock().unwrap_or_else(PoisonError::into_inner).push(took.as_secs_f64() * 1000.0);
        self.places.add_permits(1);
    }
}

pub(super) fn engine(store: Arc<dyn Store>, gate: Arc<Gate>) -> Engine {
    let ring = SharedRing::new(KeyRing::generate());
    let settings = Settings { max_running: 20_000, ..Settings::default() };
    Engine::builder(store, Arc::new(WallClock), ring)
        .settings(settings)
        .observer(gate)
        .workflow(workflow::ten())
        .workflow(workflow::idle())
        .build()
}

pub(super) fn command(workflow: &str) -> Command {
    Command {
        name: None,
        workflow: workflow.into(),
        tenant: "bench".into(),
        resource: None,
        params: Value::Null,
        by: "bench".into(),
        idempotency_key: None,
        queue: false,
    }
}

pub(super) async fn measure(target: &BenchDatabaseKind, in_flight: usize, window: Duration) -> Result<Load> {
    let gate = Gate::new(in_flight);
    let engine = engine(target.open().await?, Arc::clone(&gate));
    measure_on(target, &engine, &gate, "bench.ten", window).await
}

/// Keeps as many operations of ten steps in flight as the gate has places.
pub(super) async fn measure_on(
    target: &BenchDatabaseKind,
    engine: &Engine,
    gate: &Arc<Gate>,
    workflow: &'static str,
    window: Duration,
) -> Result<Load> {
    let in_flight = gate.places.available_permits();
    engine.start(None).await?;
    let submitters: Vec<_> = (0..in_flight)
        .map(|_| {
            let (engine, gate) = (engine.clone(), Arc::clone(gate));
            tokio::spawn(async move {
                while let Ok(place) = gate.places.acquire().await {
                    place.forget();
                    if let Err(error) = engine.submit_json(command(workflow)).await {
                        provision_engine::output::note(format!("a submit failed: {error}"));
                        break;
                    }
                }
            })
        })
        .collect();
    WallClock.sleep(window / 5).await;
    let _warm_up = gate.take_millis();
    let before =
        (gate.finished.load(Ordering::Relaxed), engine.stats().await?, target.bytes_written().await?);
    let (began, cpu) = (WallClock.now(), target.cpu_used()?);
    WallClock.sleep(window).await;
    let cpu = target.cpu_used()?.saturating_sub(cpu);
    let finished = gate.finished.load(Ordering::Relaxed) - before.0;
    let elapsed = WallClock.now().since(began);
    let (stats, bytes) = (engine.stats().await?, target.bytes_written().await?);
    let mut millis = gate.take_millis();
    gate.places.close();
    for submitter in submitters {
        submitter.await?;
    }
    while engine.running() > 0 {
        WallClock.sleep(Duration::from_millis(5)).await;
    }
    engine.stop(Duration::from_secs(5)).await;
    let steps = as_float(finished * STEPS).max(1.0);
    Ok(Load {
        in_flight,
        steps_per_second: steps / elapsed.as_secs_f64(),
        operation_p50_ms: percentile(&mut millis, 50),
        operation_p99_ms: percentile(&mut millis, 99),
        commits_per_step: as_float(stats.commits - before.1.commits) / steps,
        bytes_per_step: as_float(bytes.saturating_sub(before.2)) / steps,
        cpu_micros_per_step: micros(cpu) / steps,
    })
}

#[expect(clippy::cast_precision_loss, reason = "these counts are far below 2^52")]
pub(super) fn as_float(count: u64) -> f64 {
    count as f64
}

pub(super) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub(super) fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() * percent / 100).min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

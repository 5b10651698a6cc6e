//! Metrics. Labels come from code, from declarations and from the routes, never from callers, so that they
//! are few.

mod tally;

use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use engine::store::{Stats, StoreError};
use engine::{Engine, Observer, Phase, StepResult, Timestamp};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;
use tracing::warn;

use crate::app_state::Shared;
pub(crate) use tally::Tally;

/// However often a client scrapes, the database counts only this often.
const COUNTED: Duration = Duration::from_secs(2);
const RESULTS: [StepResult; 5] =
    [StepResult::Done, StepResult::Skipped, StepResult::Waited, StepResult::Retried, StepResult::Failed];
/// No more series than this for steps, and for workflows.
const SERIES_MAX: usize = 5000;
const OTHERS: &str = "(others)";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    workflow: String,
    step: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FinishedLabels {
    workflow: String,
    phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorkflowLabel {
    workflow: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

type Histograms<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// Counts what the engine and the APIs do. One for each process; the engine gets it as its observer.
pub struct Meter {
    registry: Registry,
    operations: Family<StateLabel, Gauge>,
    oldest_due_seconds: Gauge<f64, AtomicU64>,
    running: Gauge,
    store_up: Gauge,
    store_commits: Counter,
    store_writes: Counter,
    step_duration: Histograms<StepLabels>,
    /// The same, which a histogram does not tell.
    calls: std::sync::Mutex<HashMap<StepLabels, Tally>>,
    /// The workflows that have series of their own.
    workflows: std::sync::Mutex<HashSet<String>>,
    operations_finished: Family<FinishedLabels, Counter>,
    operation_duration: Histograms<WorkflowLabel>,
    http_requests: Family<RequestLabels, Counter>,
    http_request_duration: Histograms<RouteLabel>,
    counted_at: Mutex<Option<Timestamp>>,
}

impl Default for Meter {
    fn default() -> Self {
        Meter::new()
    }
}

impl Meter {
    pub fn new() -> Meter {
        let mut meter = Meter {
            registry: Registry::with_prefix("provision_engine"),
            operations: Family::default(),
            oldest_due_seconds: Gauge::default(),
            running: Gauge::default(),
            store_up: Gauge::default(),
            store_commits: Counter::default(),
            store_writes: Counter::default(),
            // 1 ms to a minute.
            step_duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 4.0, 9))
            }),
            calls: std::sync::Mutex::default(),
            workflows: std::sync::Mutex::default(),
            operations_finished: Family::default(),
            // 0.1 s to a day.
            operation_duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.1, 4.0, 11))
            }),
            http_requests: Family::default(),
            // 1 ms to 16 s.
            http_request_duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 4.0, 8))
            }),
            counted_at: Mutex::new(None),
        };
        meter.register_engine();
        meter.register_apis();
        meter
    }

    fn register_engine(&mut self) {
        let registry = &mut self.registry;
        registry.register("operations", "Unfinished operations by state", self.operations.clone());
        registry.register(
            "oldest_due_seconds",
            "How long the oldest due operation has waited for a node",
            self.oldest_due_seconds.clone(),
        );
        registry.register("running", "Operations that this process works on", self.running.clone());
        registry.register(
            "store_up",
            "1 when the database answers and the last commit worked",
            self.store_up.clone(),
        );
        registry.register("store_commits", "Transactions of this process", self.store_commits.clone());
        registry.register("store_writes", "Writes in those transactions", self.store_writes.clone());
        registry.register(
            "step_duration_seconds",
            "How long calls of steps took, by how they ended",
            self.step_duration.clone(),
        );
        registry.register(
            "operations_finished",
            "Operations that this process brought to an end",
            self.operations_finished.clone(),
        );
        registry.register(
            "operation_duration_seconds",
            "How long operations took from their creation to their end",
            self.operation_duration.clone(),
        );
    }

    fn register_apis(&mut self) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests by route and status", self.http_requests.clone());
        registry.register(
            "http_request_duration_seconds",
            "How long requests took until the answer began",
            self.http_request_duration.clone(),
        );
    }

    /// The calls of a step by this process: how they ended, how many ended like that, and how long those took.
    pub(crate) fn calls(&self, workflow: &str, step: &str) -> Vec<(StepResult, Tally)> {
        let kept = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |result: StepResult| {
            let (workflow, step) = (workflow.to_owned(), step.to_owned());
            let labels = StepLabels { workflow, step, result: result.as_str() };
            kept.get(&labels).map(|tally| (result, tally.clone()))
        };
        RESULTS.into_iter().filter_map(of).collect()
    }

    /// Declarations can bring any number of names over time. Those beyond the limit are counted together.
    fn counted_as(&self, workflow: &str) -> String {
        let mut known = self.workflows.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(workflow) {
            return workflow.to_owned();
        }
        if known.len() >= SERIES_MAX {
            return OTHERS.to_owned();
        }
        known.insert(workflow.to_owned());
        workflow.to_owned()
    }

    /// Everything counted so far, in the `OpenMetrics` text format.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.registry) {
            warn!(%error, "rendering the metrics failed");
        }
        text
    }

    /// Brings what only the database can count up to date.
    pub(crate) async fn refresh(&self, engine: &Engine) {
        self.running.set(i64::try_from(engine.running()).unwrap_or(i64::MAX));
        // Held over the query, so that many scrapers at once ask once.
        let mut counted_at = self.counted_at.lock().await;
        let now = engine.now();
        if counted_at.is_some_and(|at| at <= now && now.since(at) < COUNTED) {
            return;
        }
        let counting = async { Ok::<_, StoreError>((engine.stats().await?, engine.is_saving().await)) };
        match tokio::time::timeout(COUNTED, counting).await {
            Ok(Ok((stats, is_saving))) => {
                self.take_over(stats, now);
                self.store_up.set(i64::from(is_saving));
            }
            Ok(Err(error)) => {
                self.store_up.set(0);
                warn!(%error, "counting operations for the metrics failed");
            }
            Err(_) => {
                self.store_up.set(0);
                warn!("counting operations for the metrics timed out");
            }
        }
        *counted_at = Some(now);
    }

    fn take_over(&self, stats: Stats, now: Timestamp) {
        let states =
            [("owned", stats.owned), ("waiting", stats.waiting), ("due", stats.due), ("stuck", stats.stuck)];
        for (state, count) in states {
            let gauge = self.operations.get_or_create(&StateLabel { state });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let age = stats.oldest_due.map_or(Duration::ZERO, |due_at| now.since(due_at));
        self.oldest_due_seconds.set(age.as_secs_f64());
        self.store_commits.inner().store(stats.commits, Ordering::Relaxed);
        self.store_writes.inner().store(stats.writes, Ordering::Relaxed);
    }

    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let route = route.to_owned();
        self.http_request_duration
            .get_or_create(&RouteLabel { route: route.clone() })
            .observe(took.as_secs_f64());
        self.http_requests.get_or_create(&RequestLabels { method, route, status }).inc();
    }
}

impl Observer for Meter {
    fn step_ran(&self, workflow: &str, step: &str, result: StepResult, took: Duration) {
        let result = result.as_str();
        let mut labels = StepLabels { workflow: workflow.to_owned(), step: step.to_owned(), result };
        {
            let mut kept = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= SERIES_MAX && !kept.contains_key(&labels) {
                labels = StepLabels { workflow: OTHERS.to_owned(), step: OTHERS.to_owned(), result };
            }
            kept.entry(labels.clone()).or_default().add(took);
        }
        self.step_duration.get_or_create(&labels).observe(took.as_secs_f64());
    }

    fn finished(&self, workflow: &str, phase: Phase, took: Duration) {
        let workflow = self.counted_as(workflow);
        let (label, phase) = (WorkflowLabel { workflow: workflow.clone() }, phase.as_str());
        self.operation_duration.get_or_create(&label).observe(took.as_secs_f64());
        self.operations_finished.get_or_create(&FinishedLabels { workflow, phase }).inc();
    }
}

/// Metrics in the OpenMetrics format.
#[utoipa::path(
    get, path = "/metrics", tag = "service", operation_id = "metrics",
    responses((status = OK, body = String, content_type = "application/openmetrics-text",
               description = "OpenMetrics text."))
)]
pub(crate) async fn metrics(State(app): State<Shared>) -> impl IntoResponse {
    app.meter.refresh(&app.engine).await;
    ([(CONTENT_TYPE, OPEN_METRICS)], app.meter.encode())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_every_series_with_its_labels_and_ends_as_it_must() {
        let meter = Meter::new();
        meter.step_ran("demo.hello", "greet", StepResult::Done, Duration::from_millis(3));
        meter.finished("demo.hello", Phase::Succeeded, Duration::from_secs(2));
        meter.answered("GET", "/audit", 200, Duration::from_millis(2));
        let stats =
            Stats { owned: 1, waiting: 2, due: 3, stuck: 4, commits: 9, writes: 12, ..Stats::default() };
        meter.take_over(Stats { oldest_due: Some(Timestamp(0)), ..stats }, Timestamp(1_500_000));
        let text = meter.encode();
        for line in [
            "provision_engine_operations{state=\"stuck\"} 4",
            "provision_engine_oldest_due_seconds 1.5",
            "provision_engine_running 0",
            "provision_engine_store_commits_total 9",
            "provision_engine_store_writes_total 12",
            "provision_engine_operations_finished_total{workflow=\"demo.hello\",phase=\"succeeded\"} 1",
            "provision_engine_operation_duration_seconds_count{workflow=\"demo.hello\"} 1",
            "provision_engine_http_requests_total{method=\"GET\",route=\"/audit\",status=\"200\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        let labels = "{workflow=\"demo.hello\",step=\"greet\",result=\"done\"}";
        assert!(text.contains(&format!("provision_engine_step_duration_seconds_count{labels} 1")), "{text}");
        assert!(text.ends_with("# EOF\n"));
    }
}

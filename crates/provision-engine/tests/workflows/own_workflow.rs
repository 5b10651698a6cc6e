//! A declared workflow whose steps are in Python stands every trial of a built-in one, and the loss of every answer.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use declared::{Declaration, DeclaredWorkflow, Front, Reach, StepClient, compile};
use engine::store::MemoryStore;
use engine::{Phase, Plan, WallClock};
use serde_json::{Value, json};
use tempfile::TempDir;
use testing::TestEngine;
use testing::workflow_test::{self, WorkflowTest};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk")
}

/// `sdk/python/example.py` in a process of its own.
struct Service {
    data: TempDir,
    child: Child,
    url: String,
}

impl Service {
    fn start() -> Service {
        let data = TempDir::new().unwrap();
        let secret = data.path().join("acme.secret");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        let mut child = Command::new("python3")
            .arg(sdk().join("python/example.py"))
            .args(["--port", "0", "--secret-file"])
            .arg(&secret)
            .arg("--data")
            .arg(data.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("this test needs python3 in the PATH: {error}"));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, url) =
            line.trim().split_once(": ").unwrap_or_else(|| panic!("the service did not start: {line:?}"));
        Service { url: url.to_owned(), data, child }
    }

    /// The effects that it had, in their order: what, and the key.
    fn effects(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(self.data.path().join("ledger.jsonl")).unwrap();
        let entry = |line: &str| {
            let entry: Value = serde_json::from_str(line).unwrap();
            (entry["effect"].as_str().unwrap().to_owned(), entry["key"].as_str().unwrap().to_owned())
        };
        text.lines().map(entry).collect()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `sdk/example.yaml`, with its steps at this address and short pauses.
fn plan(front: &Arc<Front>, url: &str) -> Plan<DeclaredWorkflow> {
    let text = std::fs::read_to_string(sdk().join("example.yaml")).unwrap();
    let (address, retry) = ("http://127.0.0.1:8780/", "retry: {within: 1h, first: 1s, at_most: 5m}");
    assert!(text.contains(address) && text.contains(retry));
    let brief = "retry: {within: 1h, first: 5ms, at_most: 20ms}";
    let text = text.replace(address, url).replace(retry, brief);
    let text = ["reserve,", "check,"]
        .iter()
        .fold(text, |text, step| text.replace(&format!("url: {step}"), &format!("url: {step} {brief},")));
    let declaration = Declaration::parse(&text, Reach::default()).unwrap_or_else(|wrong| panic!("{wrong}"));
    compile(declaration, 1, front, SECRET.into())
}

fn front() -> Arc<Front> {
    Front::new(StepClient::new(Reach::default()).unwrap())
}

struct OwnWorkflow {
    service: Service,
    front: Arc<Front>,
    /// How many effects belong to the runs before this one.
    cleared: AtomicUsize,
}

#[async_trait]
impl WorkflowTest for OwnWorkflow {
    type Workflow = DeclaredWorkflow;

    fn plan(&self) -> Plan<DeclaredWorkflow> {
        plan(&self.front, &self.service.url)
    }

    fn params(&self) -> Value {
        json!({"team": "red"})
    }

    async fn standing(&self) -> Vec<String> {
        let effects = self.service.effects();
        let mut standing: Vec<String> = Vec::new();
        for (effect, key) in effects.into_iter().skip(self.cleared.load(Ordering::SeqCst)) {
            if effect == "made" {
                standing.push(key);
            } else {
                standing.retain(|made| *made != key);
            }
        }
        standing
    }

    async fn clear(&self) {
        self.cleared.store(self.service.effects().len(), Ordering::SeqCst);
    }
}

#[tokio::test]
async fn it_stands_death_at_every_save_every_step_twice_and_every_undo_twice() {
    let workflow_test =
        OwnWorkflow { service: Service::start(), front: front(), cleared: AtomicUsize::new(0) };
    workflow_test::check_all(&workflow_test).await;
}

/// Which call is lost, and on which way.
#[derive(Debug, Clone, Copy)]
enum Lost {
    Request(usize),
    Answer(usize),
}

/// Hands calls on to the service, and loses one of them. Answers its address and how many calls there were.
async fn lossy(service: String, lost: Lost) -> (String, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, http) = (Arc::clone(&calls), reqwest::Client::new());
    let router = Router::new().fallback(move |method: Method, headers: HeaderMap, body: Bytes| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        let request = ["provision-engine-timestamp", "provision-engine-signature"]
            .iter()
            .fold(http.request(method, &service).body(body), |request, name| {
                request.header(*name, &headers[*name])
            });
        async move {
            if matches!(lost, Lost::Request(one) if one == number) {
                return cut();
            }
            let answer = request.send().await.unwrap();
            let (status, body) = (answer.status(), answer.bytes().await.unwrap());
            let is_lost = matches!(lost, Lost::Answer(one) if one == number);
            if is_lost { cut() } else { (status, body).into_response() }
        }
    });
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, calls)
}

/// An answer whose connection is cut in its middle.
fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut")) });
    Body::from_stream(broken).into_response()
}

#[tokio::test]
async fn the_loss_of_any_call_changes_nothing_in_the_end() {
    let (service, front) = (Service::start(), front());
    for (broken, phase, expect) in [
        (false, Phase::Succeeded, vec!["made", "made"]),
        (true, Phase::Undone, vec!["made", "made", "removed", "removed"]),
    ] {
        let mut is_over = false;
        for number in 0.. {
            for lost in [Lost::Request(number), Lost::Answer(number)] {
                let before = service.effects().len();
                let (url, calls) = lossy(service.url.clone(), lost).await;
                let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
                let test_engine = TestEngine::open(builder.workflow(plan(&front, &url)), None).await;
                let id =
                    test_engine.submit("acme.database", None, json!({"team": "red", "broken": broken})).await;
                let ended = test_engine.finished(id).await;
                assert_eq!(ended.shown.summary.phase, phase, "{lost:?}: {:?}", ended.memory.last_error);
                let effects = service.effects();
                let made: Vec<&str> = effects[before..].iter().map(|(effect, _)| effect.as_str()).collect();
                assert_eq!(made, expect, "{lost:?}");
                is_over |= calls.load(Ordering::SeqCst) <= number;
                test_engine.close().await;
            }
            if is_over {
                assert!(number >= 3, "only {number} calls were lost: too few to prove anything");
                break;
            }
        }
    }
}

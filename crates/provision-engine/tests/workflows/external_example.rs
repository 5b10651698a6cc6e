//! The example of an external step, as it stands in `examples/external-step`, against the sandbox.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::world::Drivers;
use ::runtimes::model::InstanceRecord;
use ::runtimes::workflows::external::ExternalSteps;
use aws_lc_rs::hmac;
use engine::{Clock, Phase, WallClock};
use serde_json::{Value, json};
use tempfile::TempDir;
use testing::workflow_test::WorkflowTest;

use crate::runtime_greeting::provision_with_greeting;
use crate::runtime_test::{Before, RuntimeTest, read};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// The script in a process of its own.
struct Example {
    dir: TempDir,
    child: Child,
    url: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/external-step")
}

impl Example {
    fn start() -> Example {
        let dir = TempDir::new().unwrap();
        let secret = dir.path().join("secret.txt");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        let mut child = Command::new("python3")
            .arg(folder().join("step.py"))
            .args(["--port", "0", "--secret-file"])
            .arg(&secret)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("this test needs python3 in the PATH: {error}"));
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "the example did not start: {url:?}");
        Example { dir, child, url: url.trim().to_owned() }
    }

    /// The list of the example, with the address of this process.
    fn steps(&self, drivers: &Drivers) -> ExternalSteps {
        let list = std::fs::read_to_string(folder().join("steps.yaml")).unwrap();
        let address = "http://127.0.0.1:8770/";
        assert!(list.contains(address));
        let path = self.dir.path().join("steps.yaml");
        std::fs::write(&path, list.replace(address, &self.url)).unwrap();
        ExternalSteps::load(&path, drivers).unwrap()
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn its_motto_and_its_secret_arrive_at_the_provisioner() {
    let example = Example::start();
    let params = |instance: &str, _: &str| json!({"instance_id": instance});
    let mut workflow_test = RuntimeTest::of(provision_with_greeting, Before::Asked, params).await;
    workflow_test.drivers.external = Arc::new(example.steps(&workflow_test.drivers));
    let test_engine = workflow_test.test_engine().await;
    workflow_test.prepare(&test_engine.engine).await;
    let id = test_engine
        .submit("runtime.provision", workflow_test.resource().as_deref(), workflow_test.params())
        .await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let shoot = read::<InstanceRecord>(&test_engine.engine, &workflow_test.resource().unwrap()).await.shoot;
    assert_eq!(ended.memory.facts["motto.answer"]["facts"], json!({"motto_of": shoot}));

    let masked = workflow_test.world.get("/provisioner/runtimes").await;
    let components = masked["runtimes"][0]["input"]["kymaConfig"]["components"].as_array().unwrap().clone();
    let hello = components.iter().find(|one| one["component"] == "hello").unwrap();
    let entries = hello["configuration"].as_array().unwrap();
    let entry = |key: &str| entries.iter().find(|entry| entry["key"] == key).unwrap();
    assert_eq!(entry("motto")["value"], format!("{shoot} will do"));
    assert!(entry("greeting.text")["value"].is_string(), "another step for the same component is beside it");
    assert_eq!(
        (&entry("motto.key")["secret"], &entry("motto.key")["value"]),
        (&json!(true), &json!("<secret>"))
    );
}

/// The header that the contract asks for, made without the driver.
fn sign(timestamp: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, format!("{timestamp}.{body}").as_bytes());
    tag.as_ref().iter().fold(String::from("v1="), |text, byte| text + &format!("{byte:02x}"))
}

async fn post(url: &str, timestamp: &str, signature: &str, body: &str) -> (u16, Value) {
    let request = reqwest::Client::new()
        .post(url)
        .header("Provision-Engine-Timestamp", timestamp)
        .header("Provision-Engine-Signature", signature)
        .body(body.to_owned());
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn what_was_changed_recorded_or_not_signed_is_refused() {
    let example = Example::start();
    let call = json!({"version": 1, "operation": {"token": "t-1"}, "instance": {"shoot": "c-1"}}).to_string();
    let changed = call.replace("c-1", "c-2");
    let seconds = WallClock.now().millis() / 1000;
    let (now, later, old) = (seconds.to_string(), (seconds + 1).to_string(), (seconds - 600).to_string());
    let good = sign(&now, &call);

    let (status, first) = post(&example.url, &now, &good, &call).await;
    assert_eq!((status, &first["outcome"]), (200, &json!("done")));
    let (_, second) = post(&example.url, &now, &good, &call).await;
    assert_eq!(first, second, "the same token gets the same answer");

    for (why, timestamp, signature, body) in [
        ("another body", &now, good.clone(), &changed),
        ("another time", &later, good.clone(), &call),
        ("recorded long ago", &old, sign(&old, &call), &call),
        ("another secret", &now, good.replace(&good[3..9], "000000"), &call),
        ("no signature", &now, String::new(), &call),
    ] {
        let (status, answer) = post(&example.url, timestamp, &signature, body).await;
        assert_eq!((status, &answer["reason"]), (401, &json!("the signature is wrong or too old")), "{why}");
    }
}

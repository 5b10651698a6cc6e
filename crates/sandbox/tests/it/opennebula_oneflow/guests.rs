//! The guests of machines: they answer while their machine runs, and at no other time.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::caller::{OneFlowClient, nodes};

/// How often a listener is tried before it counts as not opening, or not closing.
const TRIES_MAX: usize = 500;

impl OneFlowClient {
    async fn endpoint(&self, vm: i32) -> String {
        format!("http://{}:8000", self.machine(vm).await.get("IP").unwrap())
    }

    async fn answers(&self, endpoint: &str) -> bool {
        self.client.get(format!("{endpoint}/")).send().await.is_ok()
    }

    /// Waits for the background task of the sandbox, which works by the wall clock.
    async fn until_answers(&self, endpoint: &str, expected: bool) {
        for _ in 0..TRIES_MAX {
            if self.answers(endpoint).await == expected {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{endpoint} answers: {}", !expected);
    }
}

#[tokio::test]
async fn a_function_runtime_answers_with_what_it_was_given_and_who_it_is() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function", json!({})).await;
    let vm = nodes(&caller.until(id, 2).await, 0)[0];
    let endpoint = caller.endpoint(vm).await;
    caller.until_answers(&endpoint, true).await;
    let status: Value = caller.client.get(&endpoint).send().await.unwrap().json().await.unwrap();
    assert_eq!((&status["status"], &status["guest"]["vm"]), (&json!("ok"), &json!(vm)));
    let execute = |body: Value| {
        let request = caller.client.post(format!("{endpoint}/v1/faas/execute-sync")).json(&body);
        async move { request.send().await.unwrap() }
    };
    let guest = json!({"vm": vm, "name": format!("FAAS_0_(service_{id})"), "role": "FAAS"});
    let answer: Value =
        execute(json!({"lang": "PY", "fc": "Zg==", "params": ["Mg=="]})).await.json().await.unwrap();
    assert_eq!(answer, json!({"ret_code": 0, "res": "Mg==", "err": null, "guest": guest}));
    let answer: Value =
        execute(json!({"lang": "PY", "fc": "Zg==", "params": [1, 2]})).await.json().await.unwrap();
    assert_eq!(answer["res"], json!([1, 2]));
    assert_eq!(execute(json!({"lang": "PY"})).await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(execute(json!({"lang": "", "fc": "f"})).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_store_of_data_keeps_what_it_is_given_as_long_as_its_machine_lives() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function-Data", json!({})).await;
    let body = caller.until(id, 2).await;
    let endpoint = caller.endpoint(nodes(&body, 1)[0]).await;
    caller.until_answers(&endpoint, true).await;
    let url = format!("{endpoint}/v1/daas/key");
    assert_eq!(caller.client.get(&url).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let written = caller.client.put(&url).json(&json!({"a": 1})).send().await.unwrap();
    assert_eq!(written.status(), StatusCode::NO_CONTENT);
    let read: Value = caller.client.get(&url).send().await.unwrap().json().await.unwrap();
    assert_eq!(read, json!({"a": 1}));
    assert_eq!(caller.client.delete(&url).send().await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(caller.client.get(&url).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let too_long = caller.client.put(&url).body(vec![b' '; 100_000]).send().await.unwrap();
    assert_eq!(too_long.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let other = caller.client.post(format!("{endpoint}/v1/faas/execute-sync")).send().await.unwrap();
    assert_eq!(other.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_guest_answers_only_while_its_machine_runs() {
    let caller = OneFlowClient::new().await;
    let first = caller.start("Function", json!({})).await;
    let runs = nodes(&caller.until(first, 2).await, 0)[0];
    let endpoint = caller.endpoint(runs).await;
    caller.until_answers(&endpoint, true).await;

    caller.delay_times(json!({"boot_ms": 3_600_000})).await;
    let second = caller.start("Function", json!({})).await;
    let boots = nodes(&caller.until(second, 1).await, 0)[0];
    caller.advance(1_000).await;
    assert_eq!(caller.machine(boots).await.codes(), ("3", "2"));
    // Closing one listener and opening it again takes two looks of the background task, which sees them all.
    caller.vm_action("poweroff", runs).await;
    caller.until_answers(&endpoint, false).await;
    caller.advance(60_000).await;
    caller.vm_action("resume", runs).await;
    caller.until_answers(&endpoint, true).await;
    let silent = caller.endpoint(boots).await;
    assert!(!caller.answers(&silent).await);

    caller.advance(3_600_000).await;
    caller.until_answers(&silent, true).await;
    caller.until(second, 2).await;
    assert_eq!(caller.delete(second).await.status, 204);
    caller.until_answers(&silent, false).await;
    caller.until_gone(second).await;
}

#[tokio::test]
async fn no_guest_answers_after_the_sandbox_has_stopped() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function", json!({})).await;
    let vm = nodes(&caller.until(id, 2).await, 0)[0];
    let endpoint = caller.endpoint(vm).await;
    caller.until_answers(&endpoint, true).await;
    let OneFlowClient { client, sandbox } = caller;
    sandbox.stop().await;
    for _ in 0..TRIES_MAX {
        if client.get(&endpoint).send().await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{endpoint} still answers");
}

//! What must be true when all is over, asked over HTTP like any user would.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};

/// A server and the right to ask it.
#[derive(Clone)]
pub(crate) struct ServerUnderTest {
    pub(crate) http: Client,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl ServerUnderTest {
    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer =
            self.http.get(format!("{}{path}", self.url)).bearer_auth(&self.token).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    }

    /// One try to submit; nothing when the server was not there to answer.
    pub(crate) async fn submit(&self, key: &str, params: &Value) -> Option<String> {
        let request = self
            .http
            .post(format!("{}/operations", self.url))
            .bearer_auth(&self.token)
            .header("Idempotency-Key", key)
            .json(&json!({"workflow": "demo.hello", "params": params}));
        let answer = request.send().await.ok()?;
        let status = answer.status();
        let body: Value = answer.json().await.ok()?;
        assert!(status.is_success() || status.is_server_error(), "{status} {body}");
        body["id"].as_str().map(str::to_owned)
    }

    pub(crate) async fn all(&self) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("/operations?limit=200{cursor}")).await;
            all.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }
}

/// What one key was used for and what came of it.
pub(crate) struct KeyUse {
    pub(crate) id: String,
    pub(crate) fails: bool,
}

/// Until no operation is left that has something to do.
pub(crate) async fn until_over(api: &ServerUnderTest) {
    for _ in 0..3000 {
        let open = api.get("/operations?phase=pending,running,waiting,undoing,paused,stuck&limit=5").await;
        let open: &Vec<Value> = open["items"].as_array().unwrap();
        if open.is_empty() {
            return;
        }
        assert!(open.iter().all(|op| op["phase"] != "stuck"), "{open:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let open = api.get("/operations?phase=pending,running,waiting,undoing,paused,stuck&limit=5").await;
    panic!("these never ended: {open}");
}

/// I1 to I7: every acknowledged operation is there once and over as it should be, the world holds exactly what
/// the successful ones made, made once each, and every journal counts without a gap.
pub(crate) async fn everything(api: &ServerUnderTest, sandbox: &str, asked: &BTreeMap<String, KeyUse>) {
    let all = api.all().await;
    assert_eq!(all.len(), asked.len(), "one operation for each key");
    let phases: BTreeMap<&str, &str> =
        all.iter().map(|op| (op["id"].as_str().unwrap(), op["phase"].as_str().unwrap())).collect();
    for (key, asked) in asked {
        let expected = if asked.fails { "undone" } else { "succeeded" };
        assert_eq!(phases.get(asked.id.as_str()), Some(&expected), "{key} {}", asked.id);
    }
    let ledger: Value =
        api.http.get(format!("{sandbox}/ledger?all=true")).send().await.unwrap().json().await.unwrap();
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    let mut standing = 0;
    for effect in ledger["effects"].as_array().unwrap() {
        *made.entry(effect["token"].as_str().unwrap()).or_default() += 1;
        standing += usize::from(effect["taken_back_at"].is_null());
    }
    let twice: Vec<_> = made.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "made more than once: {twice:?}");
    assert_eq!(standing, asked.values().filter(|asked| !asked.fails).count(), "what stands in the world");
    for asked in asked.values() {
        let journal = api.get(&format!("/operations/{}/journal?limit=200", asked.id)).await;
        let seqs: Vec<u64> =
            journal["items"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{}: {seqs:?}", asked.id);
    }
}

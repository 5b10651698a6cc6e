//! The protocol of `WebDriver`, as far as it is needed here: questions and answers in JSON.

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// Under this key an answer names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub(crate) struct Wire {
    client: Client,
    runtime: Runtime,
    /// Of the driver, and with a session of that.
    at: String,
}

/// Why the browser did not do it.
#[derive(Debug)]
pub(crate) struct DriverErrorBody {
    pub(crate) error: String,
    pub(crate) message: String,
}

impl DriverErrorBody {
    /// The page is not there yet, or is just being changed.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self.error.as_str(),
            "no such element"
                | "stale element reference"
                | "element click intercepted"
                | "element not interactable"
        )
    }
}

/// A thing on a page.
#[derive(Debug, Clone)]
pub(crate) struct Element(String);

impl Element {
    pub(crate) fn read(value: &Value) -> Option<Element> {
        value[ELEMENT].as_str().map(|id| Element(id.to_owned()))
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/element/{}/{rest}", self.0)
    }
}

impl Wire {
    pub(crate) fn new(port: u16) -> Wire {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let client = Client::builder().no_proxy().build().unwrap();
        Wire { client, runtime, at: format!("http://127.0.0.1:{port}") }
    }

    /// From now on everything is about one session. Answers the browser's process.
    pub(crate) fn begin(&mut self, wanted: &Value) -> Result<u64, DriverErrorBody> {
        let capabilities = json!({ "capabilities": { "alwaysMatch": wanted } });
        let begun = self.post("/session", &capabilities)?;
        self.at = format!("{}/session/{}", self.at, begun["sessionId"].as_str().unwrap());
        Ok(begun["capabilities"]["goog:processID"].as_u64().unwrap())
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, DriverErrorBody> {
        self.send(Method::GET, path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value, DriverErrorBody> {
        self.send(Method::POST, path, Some(body))
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Value, DriverErrorBody> {
        self.send(Method::DELETE, path, None)
    }

    /// What only Chromium can do.
    pub(crate) fn chromium(&self, command: &str, params: &Value) -> Value {
        let asked = json!({ "cmd": command, "params": params });
        self.post("/goog/cdp/execute", &asked)
            .unwrap_or_else(|error_response| panic!("{command}: {error_response:?}"))
    }

    fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, DriverErrorBody> {
        let answer = self.runtime.block_on(async {
            let request = self.client.request(method, format!("{}{path}", self.at));
            let request = match body {
                Some(body) => request.json(body),
                None => request,
            };
            let response = request.send().await?;
            let is_good = response.status().is_success();
            Ok::<_, reqwest::Error>((is_good, response.json::<Value>().await?))
        });
        let (is_good, mut answer) = answer.unwrap_or_else(|error| panic!("the driver is gone: {error}"));
        let value = answer["value"].take();
        if is_good {
            return Ok(value);
        }
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Err(DriverErrorBody { error: text("error"), message: text("message") })
    }
}

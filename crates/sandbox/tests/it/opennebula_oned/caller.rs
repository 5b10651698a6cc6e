//! A user who calls oned with bodies of their own, and turns the clock of the sandbox.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};

use reqwest::{Client, Method, Response, StatusCode};
use sandbox::Sandbox;
use serde_json::{Value, json};

use super::outline::{first_text, values};

pub(crate) const COGNIT: &str = "cognit:cognitpass";
pub(crate) const OTHER: &str = "other:otherpass";
pub(crate) const EMPTY: &str = "empty:emptypass";
pub(crate) const ONEADMIN: &str = "oneadmin:opennebula";

/// What an engine sends for a machine of 1 CPU.
pub(crate) const EXTRA: &str = "HOT_RESIZE=[CPU_HOT_ADD_ENABLED=YES,\nMEMORY_HOT_ADD_ENABLED=YES]\n\
    MEMORY_RESIZE_MODE=BALLOONING\nDISK=[IMAGE=\"function-image\",\nIMAGE_UNAME=\"oneadmin\",\nSIZE=\"1024\"]\n\
    CPU=1\nVCPU=1\nMEMORY=128\nVCPU_MAX=2\nMEMORY_MAX=256\nCONTEXT=[NETWORK=\"YES\",\n\
    SSH_PUBLIC_KEY=\"$USER[SSH_PUBLIC_KEY]\",\nSR_AUTH=\"Y29nbml0OmNvZ25pdHBhc3M=\n\"]\nFLAVOURS=\"0\"\n\
    SERVICE_ID = 44\nROLE_NAME = \"FAAS\"";

#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    Int(i32),
    Bool(bool),
    Text(&'a str),
}

pub(crate) use Arg::{Bool, Int, Text};

pub(crate) struct OnedClient {
    pub(crate) client: Client,
    pub(crate) sandbox: Sandbox,
}

/// A refusal: the text and the number.
pub(crate) type OnedError = (String, i64);

impl OnedClient {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        OnedClient { client: Client::builder().no_proxy().build().unwrap(), sandbox }
    }

    /// With every stage so long that only the clock can end it.
    pub(crate) async fn slow() -> Self {
        let caller = OnedClient::new().await;
        let names = ["pending", "prolog", "boot", "ready", "resize", "disk_resize", "poweroff", "terminate"];
        let delay_times: serde_json::Map<_, _> =
            names.iter().map(|name| (format!("{name}_ms"), json!(60_000))).collect();
        assert_eq!(
            caller.send(Method::PUT, "/opennebula/pace", Value::Object(delay_times)).await,
            StatusCode::OK
        );
        caller
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Value) -> StatusCode {
        let url = format!("{}{path}", self.sandbox.url());
        self.client.request(method, url).json(&body).send().await.unwrap().status()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let response = self.client.get(format!("{}{path}", self.sandbox.url())).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    pub(crate) async fn release(&self, release: &str) {
        let body = json!({"release": release});
        assert_eq!(self.send(Method::PUT, "/opennebula/release", body).await, StatusCode::OK);
    }

    pub(crate) async fn faults(&self, faults: Value) {
        let sent = self.send(Method::POST, "/opennebula/faults", faults).await;
        assert_eq!(sent, StatusCode::CREATED);
    }

    pub(crate) async fn advance(&self, ms: u64) {
        let body = json!({"advance_ms": ms});
        assert_eq!(self.send(Method::POST, "/clock", body).await, StatusCode::OK);
    }

    /// `standing` of each line of the ledger that has any.
    pub(crate) async fn standing(&self, effect: &str) -> u64 {
        self.get("/ledger/summary").await[effect]["standing"].as_u64().unwrap_or_default()
    }

    pub(crate) async fn post(&self, body: impl Into<String>) -> reqwest::Result<Response> {
        let request = self.client.post(self.sandbox.oned_url()).header("Content-Type", "text/xml");
        request.body(body.into()).send().await
    }

    /// The answer to a body as it is.
    pub(crate) async fn raw(&self, body: &str) -> String {
        let response = self.post(body).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.text().await.unwrap()
    }

    pub(crate) async fn call(
        &self,
        session: &str,
        method: &str,
        args: &[Arg<'_>],
    ) -> Result<String, OnedError> {
        let answer = self.raw(&body(session, method, args)).await;
        let (_, after) = answer.split_once("<boolean>").unwrap_or_else(|| panic!("{method}: {answer}"));
        if after.starts_with('0') {
            let number = integers(&answer)[0];
            return Err((first_text(&answer), number));
        }
        let text = first_text(&answer);
        Ok(if text.is_empty() { integers(&answer)[0].to_string() } else { text })
    }

    /// A call of cognit that answers a number.
    pub(crate) async fn number(&self, method: &str, args: &[Arg<'_>]) -> i32 {
        self.call(COGNIT, method, args).await.unwrap_or_else(|why| panic!("{why:?}")).parse().unwrap()
    }

    pub(crate) async fn instantiate(&self, template: i32, name: &str, extra: &str) -> i32 {
        let args = [Int(template), Text(name), Bool(false), Text(extra), Bool(false)];
        self.number("one.template.instantiate", &args).await
    }

    /// A machine of cognit that runs.
    pub(crate) async fn running(&self) -> i32 {
        let id = self.instantiate(0, "vm", EXTRA).await;
        self.advance(200_000).await;
        assert_eq!(self.state(id).await, (3, 3));
        id
    }

    pub(crate) async fn vm(&self, id: i32) -> Vm {
        Vm(values(&self.call(COGNIT, "one.vm.info", &[Int(id), Bool(false)]).await.unwrap()))
    }

    pub(crate) async fn state(&self, id: i32) -> (i32, i32) {
        self.vm(id).await.state()
    }

    pub(crate) async fn allocate(&self, session: &str, template: &str, kind: i32) -> Result<i32, OnedError> {
        let id = self.call(session, "one.document.allocate", &[Text(template), Int(kind)]).await?;
        Ok(id.parse().unwrap())
    }
}

/// A machine as it was answered.
pub(crate) struct Vm(pub(crate) Vec<(String, String)>);

impl Vm {
    /// The texts at a path below `VM/`, such as `TEMPLATE/CPU`.
    pub(crate) fn all(&self, path: &str) -> Vec<&str> {
        let is_there = |(at, _): &&(String, String)| at.strip_prefix("VM/") == Some(path);
        self.0.iter().filter(is_there).map(|(_, text)| text.as_str()).collect()
    }

    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.all(path).first().copied()
    }

    pub(crate) fn state(&self) -> (i32, i32) {
        let number = |path| self.get(path).unwrap().parse().unwrap();
        (number("STATE"), number("LCM_STATE"))
    }
}

/// All `<i4>` of an answer.
fn integers(answer: &str) -> Vec<i64> {
    answer.split("<i4>").skip(1).map(|rest| rest.split_once('<').unwrap().0.parse().unwrap()).collect()
}

pub(crate) fn body(session: &str, method: &str, args: &[Arg<'_>]) -> String {
    let mut params = String::new();
    for arg in [Text(session)].iter().chain(args) {
        let value = match arg {
            Int(number) => format!("<i4>{number}</i4>"),
            Bool(value) => format!("<boolean>{}</boolean>", u8::from(*value)),
            Text(text) => format!("<string>{}</string>", quick_xml::escape::escape(*text)),
        };
        write!(params, "<param><value>{value}</value></param>").unwrap();
    }
    format!("<methodCall><methodName>{method}</methodName><params>{params}</params></methodCall>")
}

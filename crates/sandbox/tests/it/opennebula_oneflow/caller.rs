//! A user who calls OneFlow, asks oned about machines, and turns the clock.

use std::net::Ipv4Addr;

use reqwest::header::{CONNECTION, HeaderMap, HeaderValue};
use reqwest::{Client, Method, StatusCode};
use sandbox::Sandbox;
use serde_json::{Value, json};

/// So many looks, each a moment later, and what should come has come.
const LOOKS_MAX: usize = 400;
const MOMENT_MS: u64 = 50;

pub(crate) struct OneFlowClient {
    pub(crate) client: Client,
    pub(crate) sandbox: Sandbox,
}

pub(crate) struct OneFlowResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl OneFlowResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    pub(crate) fn is(&self, status: u16, text: &str) -> bool {
        self.status == status && self.text == text
    }
}

/// A machine as oned sees it.
pub(crate) struct OnedMachine {
    xml: String,
}

impl OnedMachine {
    /// The text of the first element of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.xml.split_once(&format!("<{name}>"))?;
        let (text, _) = rest.split_once(&format!("</{name}>"))?;
        Some(text.strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>")).unwrap_or(text))
    }

    pub(crate) fn codes(&self) -> (&str, &str) {
        (self.get("STATE").unwrap(), self.get("LCM_STATE").unwrap())
    }

    pub(crate) fn is_running(&self) -> bool {
        self.codes() == ("3", "3")
    }
}

impl OneFlowClient {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::start((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        // OneFlow 6.8 is not always ready for a second request on a connection.
        let close = HeaderMap::from_iter([(CONNECTION, HeaderValue::from_static("close"))]);
        let client = Client::builder().no_proxy().default_headers(close).build().unwrap();
        OneFlowClient { client, sandbox }
    }

    pub(crate) async fn flow_as(
        &self,
        who: (&str, &str),
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> OneFlowResponse {
        let url = format!("{}{path}", self.sandbox.oneflow_url());
        let mut request = self.client.request(method, url).basic_auth(who.0, Some(who.1));
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        OneFlowResponse { status, headers, text: response.text().await.unwrap() }
    }

    pub(crate) async fn flow(&self, method: Method, path: &str, body: Option<&Value>) -> OneFlowResponse {
        self.flow_as(("cognit", "cognitpass"), method, path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> OneFlowResponse {
        self.flow(Method::GET, path, None).await
    }

    pub(crate) async fn delete(&self, service: i32) -> OneFlowResponse {
        self.flow(Method::DELETE, &format!("/service/{service}"), None).await
    }

    pub(crate) async fn act(&self, service: i32, action: Value) -> OneFlowResponse {
        let body = json!({"action": action});
        self.flow(Method::POST, &format!("/service/{service}/action"), Some(&body)).await
    }

    pub(crate) async fn recover_delete(&self, service: i32) -> OneFlowResponse {
        self.act(service, json!({"perform": "recover", "params": {"delete": true}})).await
    }

    pub(crate) async fn template(&self, name: &str) -> Value {
        let pool = self.get("/service_template").await.json();
        let mut all = pool["DOCUMENT_POOL"]["DOCUMENT"].as_array().unwrap().iter();
        all.find(|template| template["NAME"] == name).unwrap().clone()
    }

    pub(crate) async fn instantiate(&self, template: &str, merge: Value) -> OneFlowResponse {
        let id = self.template(template).await["ID"].as_str().unwrap().to_owned();
        let params = json!({"merge_template": merge});
        let body = json!({"action": {"perform": "instantiate", "params": params}});
        self.flow(Method::POST, &format!("/service_template/{id}/action"), Some(&body)).await
    }

    /// The id of a new service, and nothing else about it.
    pub(crate) async fn start(&self, template: &str, merge: Value) -> i32 {
        let answer = self.instantiate(template, merge).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        answer.json()["DOCUMENT"]["ID"].as_str().unwrap().parse().unwrap()
    }

    /// The body of a service.
    pub(crate) async fn service(&self, id: i32) -> Value {
        let answer = self.get(&format!("/service/{id}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()["DOCUMENT"]["TEMPLATE"]["BODY"].clone()
    }

    /// Turns the clock until the service is in this state.
    pub(crate) async fn until(&self, id: i32, state: i32) -> Value {
        for _ in 0..LOOKS_MAX {
            let body = self.service(id).await;
            if body["state"] == state {
                return body;
            }
            self.advance(MOMENT_MS).await;
        }
        panic!("service {id} did not get to {state}: {}", self.service(id).await);
    }

    /// Turns the clock until the service is no more.
    pub(crate) async fn until_gone(&self, id: i32) {
        for _ in 0..LOOKS_MAX {
            if self.get(&format!("/service/{id}")).await.status == StatusCode::NOT_FOUND {
                return;
            }
            self.advance(MOMENT_MS).await;
        }
        panic!("service {id} is still there: {}", self.service(id).await);
    }

    pub(crate) async fn oned(&self, method: &str, params: &[Value]) -> String {
        let value = |value: &Value| match value {
            Value::Number(number) => format!("<param><value><i4>{number}</i4></value></param>"),
            Value::Bool(flag) => {
                format!("<param><value><boolean>{}</boolean></value></param>", i32::from(*flag))
            }
            text => format!("<param><value><string>{}</string></value></param>", text.as_str().unwrap()),
        };
        let all = [&[json!("oneadmin:opennebula")], params].concat();
        let params: String = all.iter().map(value).collect();
        let body = format!(
            "<?xml version=\"1.0\"?><methodCall><methodName>{method}</methodName><params>{params}</params></methodCall>"
        );
        let response = self.client.post(self.sandbox.oned_url()).body(body).send().await.unwrap();
        let text = response.text().await.unwrap();
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    }

    pub(crate) async fn machine(&self, id: i32) -> OnedMachine {
        OnedMachine { xml: self.oned("one.vm.info", &[json!(id), json!(false)]).await }
    }

    pub(crate) async fn vm_action(&self, action: &str, id: i32) {
        let answer = self.oned("one.vm.action", &[json!(action), json!(id)]).await;
        assert!(answer.contains("<boolean>1</boolean>"), "{answer}");
    }

    pub(crate) async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        let url = format!("{}{path}", self.sandbox.url());
        let response = self.client.request(method, url).json(&body).send().await.unwrap();
        assert!(response.status().is_success(), "{path} {}", response.status());
        serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default()
    }

    pub(crate) async fn advance(&self, by_ms: u64) {
        self.control(Method::POST, "/clock", json!({"advance_ms": by_ms})).await;
    }

    pub(crate) async fn delay_times(&self, delay_times: Value) {
        self.control(Method::PUT, "/opennebula/pace", delay_times).await;
    }

    pub(crate) async fn release(&self, release: &str) {
        self.control(Method::PUT, "/opennebula/release", json!({"release": release})).await;
    }

    pub(crate) async fn faults(&self, kind: &str) {
        self.control(Method::POST, "/opennebula/faults", json!({"kind": kind})).await;
    }

    /// What stands in the world, such as `oned/vm 3`.
    pub(crate) async fn standing(&self) -> Vec<String> {
        let list = self.client.get(format!("{}/ledger", self.sandbox.url())).send().await.unwrap();
        let list: Value = list.json().await.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let line = |effect: &Value| {
            format!("{}/{} {}", text(&effect["system"]), text(&effect["kind"]), text(&effect["token"]))
        };
        let mut lines: Vec<String> = list["effects"].as_array().unwrap().iter().map(line).collect();
        lines.sort();
        lines
    }
}

/// The machines of a role, by its position.
pub(crate) fn nodes(body: &Value, role: usize) -> Vec<i32> {
    let nodes = body["roles"][role]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| i32::try_from(node["deploy_id"].as_i64().unwrap()).unwrap()).collect()
}

/// What a service wrote down about itself, without the times.
pub(crate) fn log(body: &Value) -> Vec<String> {
    let line = |line: &Value| {
        format!("{} {}", line["severity"].as_str().unwrap(), line["message"].as_str().unwrap())
    };
    body["log"].as_array().unwrap().iter().map(line).collect()
}

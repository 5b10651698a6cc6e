//! A user who calls EC2 and STS, and turns the knobs and the clock of the sandbox.

use std::net::{Ipv4Addr, SocketAddr};

use reqwest::{Client, Method, StatusCode};
use sandbox::Sandbox;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::signer::{TestKeys, Unsigned, form};

pub(crate) const ACCOUNT: &str = "123456789012";
pub(crate) const OTHER: &str = "210987654321";
pub(crate) const REGION: &str = "eu-west-1";
pub(crate) const AMI: &str = "ami-0abcdef0123456789";

pub(crate) struct AwsClient {
    pub(crate) client: Client,
    pub(crate) sandbox: Sandbox,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct AwsResponse {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl AwsResponse {
    /// The texts of all elements with this name that have only text.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let inside = |rest: &str| Some(rest.split_once(&close)?.0.to_owned());
        self.body.split(&open).skip(1).filter_map(inside).collect()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.texts(name).into_iter().next().unwrap_or_else(|| panic!("no {name} in {}", self.body))
    }

    /// What it was refused with.
    pub(crate) fn code(&self) -> (u16, String) {
        (self.status, self.text("Code"))
    }

    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.status, 200, "{}", self.body);
        self
    }
}

impl AwsClient {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        AwsClient { client: Client::builder().no_proxy().build().unwrap(), sandbox }
    }

    /// With every stage so long that only the clock can end it.
    pub(crate) async fn slow() -> Self {
        let caller = AwsClient::new().await;
        let delay_times = json!({"running_ms": 60_000, "address_ms": 60_000, "terminate_ms": 60_000});
        caller.control(Method::PUT, "pace", delay_times).await;
        caller
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Value) -> StatusCode {
        let url = format!("{}{path}", self.sandbox.url());
        self.client.request(method, url).json(&body).send().await.unwrap().status()
    }

    #[track_caller]
    pub(crate) fn control(&self, method: Method, name: &str, body: Value) -> impl Future<Output = ()> {
        let path = format!("/aws/{name}");
        let place = std::panic::Location::caller();
        async move {
            let status = self.send(method, &path, body).await;
            assert!(status.is_success(), "{path} answers {status} at {place}");
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let response = self.client.get(format!("{}{path}", self.sandbox.url())).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    pub(crate) async fn advance(&self, ms: u64) {
        assert_eq!(self.send(Method::POST, "/clock", json!({"advance_ms": ms})).await, StatusCode::OK);
    }

    pub(crate) async fn standing(&self, kind: &str) -> u64 {
        self.get("/ledger/summary").await[format!("ec2/{kind}")]["standing"].as_u64().unwrap_or_default()
    }

    /// A call to EC2 that only has to be signed.
    pub(crate) fn unsigned(&self, region: &str, action: &str, fields: &[(&str, &str)]) -> Unsigned {
        let path = format!("/aws/ec2/{region}");
        self.unsigned_at(&path, ("ec2", region), ("2016-11-15", action), fields)
    }

    fn unsigned_at(
        &self,
        path: &str,
        (service, region): (&str, &str),
        (version, action): (&str, &str),
        fields: &[(&str, &str)],
    ) -> Unsigned {
        let fields = [&[("Action", action), ("Version", version)], fields].concat();
        Unsigned {
            host: self.sandbox.addr().to_string(),
            path: path.into(),
            region: region.into(),
            service: service.into(),
            body: form(&fields),
            at: OffsetDateTime::now_utc(),
        }
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        headers: Vec<(&'static str, String)>,
        body: String,
    ) -> reqwest::Result<AwsResponse> {
        let mut request = self.client.post(format!("{}{path}", self.sandbox.url())).body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.send().await?;
        Ok(AwsResponse { status: response.status().as_u16(), body: response.text().await? })
    }

    pub(crate) async fn try_call(&self, keys: &TestKeys, unsigned: Unsigned) -> reqwest::Result<AwsResponse> {
        self.post(&unsigned.path, unsigned.sign(keys), unsigned.body.clone()).await
    }

    pub(crate) async fn sts(&self, keys: &TestKeys, action: &str, fields: &[(&str, &str)]) -> AwsResponse {
        let scope = ("sts", "us-east-1");
        let unsigned = self.unsigned_at("/aws/sts", scope, ("2011-06-15", action), fields);
        self.try_call(keys, unsigned).await.unwrap()
    }

    pub(crate) async fn assume(&self, role: &str, fields: &[(&str, &str)]) -> AwsResponse {
        let all = [&[("RoleArn", role), ("RoleSessionName", "a-launch")], fields].concat();
        self.sts(&own_keys(), "AssumeRole", &all).await
    }

    /// A user who took a role of an account.
    pub(crate) async fn role(&self, account: &str, name: &str) -> SignedClient<'_> {
        let answer = self.assume(&format!("arn:aws:iam::{account}:role/{name}"), &[]).await.done();
        let keys = TestKeys {
            id: answer.text("AccessKeyId"),
            secret: answer.text("SecretAccessKey"),
            token: Some(answer.text("SessionToken")),
        };
        SignedClient { caller: self, keys, region: REGION }
    }

    pub(crate) async fn signed_client(&self) -> SignedClient<'_> {
        self.role(ACCOUNT, "launcher").await
    }
}

pub(crate) fn own_keys() -> TestKeys {
    TestKeys::new("AKIASANDBOX", "sandbox-secret")
}

/// Keys of an account, in a region.
#[derive(Clone)]
pub(crate) struct SignedClient<'a> {
    pub(crate) caller: &'a AwsClient,
    pub(crate) keys: TestKeys,
    pub(crate) region: &'a str,
}

impl SignedClient<'_> {
    pub(crate) async fn call(&self, action: &str, fields: &[(&str, &str)]) -> AwsResponse {
        let unsigned = self.caller.unsigned(self.region, action, fields);
        self.caller.try_call(&self.keys, unsigned).await.unwrap()
    }

    /// Launches with these fields, and what every launch needs.
    pub(crate) async fn run(&self, fields: &[(&str, &str)]) -> AwsResponse {
        let mut all = fields.to_vec();
        let needed = [("ImageId", AMI), ("InstanceType", "t3.micro"), ("MinCount", "1"), ("MaxCount", "1")];
        let is_missing = |name: &str| !fields.iter().any(|(other, _)| *other == name);
        all.extend(needed.into_iter().filter(|(name, _)| is_missing(name)));
        self.call("RunInstances", &all).await
    }

    /// The ids of new instances.
    pub(crate) async fn launched(&self, fields: &[(&str, &str)]) -> Vec<String> {
        self.run(fields).await.done().texts("instanceId")
    }

    pub(crate) async fn describe(&self, id: &str) -> AwsResponse {
        self.call("DescribeInstances", &[("InstanceId.1", id)]).await
    }

    pub(crate) async fn state(&self, id: &str) -> String {
        let answer = self.describe(id).await.done();
        answer.text("instanceState").split_once("<name>").unwrap().1.replace("</name>", "")
    }

    pub(crate) async fn terminate(&self, ids: &[&str]) -> AwsResponse {
        let names: Vec<String> = (1..=ids.len()).map(|number| format!("InstanceId.{number}")).collect();
        let fields: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(ids.iter().copied()).collect();
        self.call("TerminateInstances", &fields).await
    }
}

//! A client of all external systems, and a request that they accept.

use std::net::{Ipv4Addr, SocketAddr};

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use sandbox::Sandbox;
use serde_json::{Value, json};

pub(crate) struct HttpClient {
    client: Client,
    pub(crate) sandbox: Sandbox,
}

impl HttpClient {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        HttpClient { client: Client::builder().no_proxy().build().unwrap(), sandbox }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.sandbox.url()))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let response = self.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Value) -> StatusCode {
        self.request(method, path).json(&body).send().await.unwrap().status()
    }

    pub(crate) async fn arm(&self, fault: Value) {
        assert_eq!(self.send(Method::POST, "/faults", fault).await, StatusCode::CREATED);
    }

    pub(crate) async fn script(&self, script: Value) {
        assert_eq!(self.send(Method::PUT, "/provisioner/script", script).await, StatusCode::NO_CONTENT);
    }

    pub(crate) async fn fail(&self, failure: Value) {
        assert_eq!(self.send(Method::POST, "/provisioner/faults", failure).await, StatusCode::CREATED);
    }

    /// Turns the clock of the external systems.
    pub(crate) async fn advance(&self, seconds: u64) {
        let body = json!({"advance_ms": seconds * 1000});
        assert_eq!(self.send(Method::POST, "/clock", body).await, StatusCode::OK);
    }

    /// One GraphQL call of tenant `ga-1` to the provisioner, as it is answered.
    pub(crate) async fn try_call(&self, query: &str, variables: Value) -> reqwest::Result<Response> {
        self.request(Method::POST, "/provisioner/graphql")
            .header("tenant", "ga-1")
            .header("sub-account", "sa-1")
            .json(&json!({"query": query, "variables": variables}))
            .send()
            .await
    }

    pub(crate) async fn call(&self, query: &str, variables: Value) -> Value {
        let response = self.try_call(query, variables).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.json().await.unwrap()
    }

    /// The `result` of a call that must not fail.
    pub(crate) async fn result(&self, query: &str, variables: Value) -> Value {
        let mut body = self.call(query, variables).await;
        assert!(body.get("errors").is_none(), "{body}");
        body["data"]["result"].take()
    }

    pub(crate) async fn provision(&self, config: &Value) -> Value {
        self.result(PROVISION, json!({"config": config})).await
    }

    /// The id of a runtime that is provisioned.
    pub(crate) async fn runtime(&self, instance_id: &str) -> String {
        let answer = self.provision(&config(instance_id)).await;
        assert_eq!(self.status(&answer["id"]).await["state"], "Succeeded");
        answer["runtimeID"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn deprovision(&self, runtime_id: &str) -> Value {
        self.result(
            "mutation($id: String!) { result: deprovisionRuntime(id: $id) }",
            json!({"id": runtime_id}),
        )
        .await
    }

    pub(crate) async fn status(&self, operation_id: &Value) -> Value {
        let query = "query($id: String!) { result: runtimeOperationStatus(id: $id) {
            id operation state message runtimeID lastError { errMessage reason component } } }";
        self.result(query, json!({"id": operation_id})).await
    }

    /// The message and the code of the only error of a call.
    pub(crate) async fn error(&self, query: &str, variables: Value) -> (String, Value) {
        only_error(&self.call(query, variables).await)
    }

    /// System, kind and token of what stands.
    pub(crate) async fn ledger(&self) -> Vec<(String, String, String)> {
        let list = self.get("/ledger").await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let entry = |effect: &Value| (text(&effect["system"]), text(&effect["kind"]), text(&effect["token"]));
        list["effects"].as_array().unwrap().iter().map(entry).collect()
    }
}

pub(crate) fn only_error(body: &Value) -> (String, Value) {
    let errors = body["errors"].as_array().unwrap();
    assert_eq!((errors.len(), &errors[0]["path"]), (1, &json!(["result"])), "{body}");
    (errors[0]["message"].as_str().unwrap().to_owned(), errors[0]["extensions"]["error_code"].clone())
}

pub(crate) const PROVISION: &str = "mutation Provision($config: ProvisionRuntimeInput!) {
    result: provisionRuntime(config: $config) { id operation state message runtimeID } }";

pub(crate) fn config(instance_id: &str) -> Value {
    json!({
        "runtimeInput": {
            "name": format!("name of {instance_id}"),
            "labels": {"broker_instance_id": instance_id, "global_subaccount_id": "sa-1"},
        },
        "clusterConfig": {"gardenerConfig": {
            "name": "", "kubernetesVersion": "1.16.9", "volumeSizeGB": 50, "machineType": "Standard_D8_v3",
            "region": "westeurope", "provider": "azure", "purpose": "development",
            "diskType": "Standard_LRS", "targetSecret": "s", "workerCidr": "10.250.0.0/19",
            "autoScalerMin": 3, "autoScalerMax": 10, "maxSurge": 4, "maxUnavailable": 1,
            "providerSpecificConfig": {"azureConfig": {"vnetCidr": "10.250.0.0/19", "zones": ["1", "2"]}},
        }},
        "kymaConfig": {
            "version": "1.13.0",
            "components": [
                {"component": "compass-runtime-agent", "namespace": "compass-system"},
                {"component": "core", "namespace": "kyma-system", "configuration": [
                    {"key": "a.b", "value": "open"},
                    {"key": "password", "value": "hidden", "secret": true},
                ]},
            ],
            "configuration": [{"key": "global", "value": "also hidden", "secret": true}],
        },
    })
}

//! The Kubernetes API of the clusters: objects, tokens, and how it says no.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::HttpClient;

const SERVICE_ACCOUNTS: &str = "/api/v1/namespaces/kyma-system/serviceaccounts";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const NAMESPACES: &str = "/api/v1/namespaces";

/// One cluster in the hands of a user with a token.
struct ClusterClient<'a> {
    caller: &'a HttpClient,
    id: &'a str,
    token: String,
}

impl<'a> ClusterClient<'a> {
    /// As its administrator, who has the kubeconfig.
    async fn of(caller: &'a HttpClient, id: &'a str) -> Self {
        let path = format!("/clusters/{id}/kubeconfig");
        let response = caller.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let token = token_of(&response.text().await.unwrap());
        ClusterClient { caller, id, token }
    }

    fn with(&self, token: &str) -> ClusterClient<'a> {
        ClusterClient { caller: self.caller, id: self.id, token: token.to_owned() }
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let request = self.caller.request(method, &format!("/clusters/{}{path}", self.id));
        let response = request.bearer_auth(&self.token).json(&body).send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, json!(null)).await
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, path, body).await
    }

    async fn delete(&self, path: &str) -> (u16, Value) {
        self.send(Method::DELETE, path, json!(null)).await
    }

    async fn probe(&self) -> u16 {
        self.get(NAMESPACES).await.0
    }

    async fn bind(&self, name: &str) -> (u16, Value) {
        let subject = json!({"kind": "ServiceAccount", "namespace": "kyma-system", "name": name});
        let role =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"});
        self.post(BINDINGS, json!({"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})).await
    }

    async fn request_token(&self, name: &str, seconds: Value) -> (u16, Value) {
        let body = json!({"spec": {"expirationSeconds": seconds}});
        self.post(&format!("{SERVICE_ACCOUNTS}/{name}/token"), body).await
    }

    /// The names in a list.
    async fn names(&self, path: &str) -> Vec<String> {
        let (status, list) = self.get(path).await;
        assert_eq!(status, 200, "{list}");
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(name).collect()
    }
}

fn token_of(kubeconfig: &str) -> String {
    kubeconfig.split("token: \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[tokio::test]
async fn the_kubeconfig_of_a_runtime_opens_its_cluster_and_no_other() {
    let caller = HttpClient::new().await;
    let (one, two) = (caller.runtime("i-1").await, caller.runtime("i-2").await);
    let query =
        "query($id: String!) { result: runtimeStatus(id: $id) { runtimeConfiguration { kubeconfig } } }";
    let status = caller.result(query, json!({"id": one})).await;
    let kubeconfig = status["runtimeConfiguration"]["kubeconfig"].as_str().unwrap();
    let server = format!("server: \"{}/clusters/{one}\"", caller.sandbox.url());
    assert!(kubeconfig.contains(&server), "{kubeconfig}");
    let token = token_of(kubeconfig);
    assert_eq!(ClusterClient::of(&caller, &one).await.with(&token).probe().await, 200);
    assert_eq!(ClusterClient::of(&caller, &two).await.with(&token).probe().await, 401);
    let (status, body) = ClusterClient::of(&caller, &one).await.with("nonsense").get(NAMESPACES).await;
    assert_eq!((status, &body["kind"], &body["reason"]), (401, &json!("Status"), &json!("Unauthorized")));
    assert_eq!(body["code"], 401);
    let bare = caller.request(Method::GET, &format!("/clusters/{one}{NAMESPACES}")).send().await.unwrap();
    assert_eq!(bare.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_cluster_is_there_from_the_end_of_provisioning_to_the_end_of_deprovisioning() {
    let caller = HttpClient::new().await;
    caller.script(json!({"provision_ms": 60_000, "deprovision_ms": 60_000})).await;
    let id = caller.provision(&super::caller::config("i-1")).await["runtimeID"].as_str().unwrap().to_owned();
    let path = format!("/clusters/{id}/kubeconfig");
    let early = caller.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(early.status(), StatusCode::NOT_FOUND);
    caller.advance(60).await;
    let cluster = ClusterClient::of(&caller, &id).await;
    assert_eq!(cluster.post(SERVICE_ACCOUNTS, named("a")).await.0, 201);
    caller.deprovision(&id).await;
    assert_eq!(cluster.probe().await, 200);
    assert_eq!(caller.ledger().await.len(), 2);
    caller.advance(60).await;
    // What was in the cluster is gone with it.
    assert_eq!(caller.ledger().await, []);
    let request = caller.request(Method::GET, &format!("/clusters/{id}{NAMESPACES}"));
    let error = request.bearer_auth(&cluster.token).send().await.unwrap_err();
    assert!(error.is_request(), "nothing listens there: {error:?}");
}

#[tokio::test]
async fn service_accounts_are_made_once_and_the_ledger_follows() {
    let caller = HttpClient::new().await;
    let id = caller.runtime("i-1").await;
    let cluster = ClusterClient::of(&caller, &id).await;
    let (status, made) = cluster.post(SERVICE_ACCOUNTS, named("sa")).await;
    assert_eq!(
        (status, &made["kind"], &made["metadata"]["namespace"]),
        (201, &json!("ServiceAccount"), &json!("kyma-system"))
    );
    let (status, body) = cluster.post(SERVICE_ACCOUNTS, named("sa")).await;
    assert_eq!((status, &body["kind"], &body["reason"]), (409, &json!("Status"), &json!("AlreadyExists")));
    let path = format!("{SERVICE_ACCOUNTS}/sa");
    assert_eq!(cluster.get(&path).await, (200, made));
    let effect = ("cluster".to_owned(), "service_account".to_owned(), format!("{id}/kyma-system/sa"));
    assert_eq!(caller.ledger().await[1], effect);
    assert_eq!(cluster.delete(&path).await.0, 200);
    let (status, body) = cluster.delete(&path).await;
    assert_eq!((status, &body["reason"]), (404, &json!("NotFound")));
    assert_eq!(cluster.get(&path).await.0, 404);
    assert_eq!(caller.ledger().await.len(), 1);
}

#[tokio::test]
async fn a_token_is_good_while_its_account_exists_is_bound_and_time_is_left() {
    let caller = HttpClient::new().await;
    let id = caller.runtime("i-1").await;
    let cluster = ClusterClient::of(&caller, &id).await;
    cluster.post(SERVICE_ACCOUNTS, named("sa")).await;
    let (status, body) = cluster.request_token("sa", json!(600)).await;
    assert_eq!((status, &body["kind"]), (201, &json!("TokenRequest")));
    assert!(body["status"]["expirationTimestamp"].as_str().unwrap().ends_with('Z'));
    let user = cluster.with(body["status"]["token"].as_str().unwrap());

    assert_eq!(user.probe().await, 403);
    assert_eq!(cluster.bind("sa").await.0, 201);
    assert_eq!(cluster.bind("sa").await.0, 409);
    assert_eq!(user.probe().await, 200);
    assert_eq!(cluster.get(&format!("{BINDINGS}/sa")).await.1["roleRef"]["name"], "cluster-admin");
    assert_eq!(cluster.names(BINDINGS).await, ["sa"]);
    let (status, deleted) = cluster.delete(&format!("{BINDINGS}/sa")).await;
    assert_eq!((status, &deleted["kind"], &deleted["status"]), (200, &json!("Status"), &json!("Success")));
    let details = &deleted["details"];
    assert_eq!((&details["name"], &details["kind"]), (&json!("sa"), &json!("clusterrolebindings")));
    assert_eq!(cluster.delete(&format!("{BINDINGS}/sa")).await.0, 404);
    let (status, body) = user.get(NAMESPACES).await;
    assert_eq!((status, &body["reason"]), (403, &json!("Forbidden")), "refused at once");

    cluster.bind("sa").await;
    assert_eq!(user.probe().await, 200);
    let (status, deleted) = cluster.delete(&format!("{SERVICE_ACCOUNTS}/sa")).await;
    assert_eq!((status, &deleted["kind"]), (200, &json!("ServiceAccount")));
    caller.advance(9).await;
    assert_eq!(user.probe().await, 200, "the server remembers for 10 s that the token was good");
    cluster.post(SERVICE_ACCOUNTS, named("sa")).await;
    caller.advance(1).await;
    // The same name, but another service account.
    assert_eq!(user.probe().await, 401);
    let (_, body) = cluster.request_token("sa", json!(null)).await;
    assert_eq!(body["spec"]["expirationSeconds"], 3600);
    let user = cluster.with(body["status"]["token"].as_str().unwrap());
    caller.advance(3500).await;
    assert_eq!(user.probe().await, 200);
    caller.advance(101).await;
    assert_eq!(user.probe().await, 401);
    assert_eq!(cluster.probe().await, 200);
}

#[tokio::test]
async fn tokens_are_only_for_accounts_that_exist_and_for_times_that_make_sense() {
    let caller = HttpClient::new().await;
    let id = caller.runtime("i-1").await;
    let cluster = ClusterClient::of(&caller, &id).await;
    assert_eq!(cluster.request_token("unknown", json!(600)).await.0, 404);
    cluster.post(SERVICE_ACCOUNTS, named("sa")).await;
    for seconds in [json!(599), json!(-1), json!("600"), json!(1_u64 << 40)] {
        let (status, body) = cluster.request_token("sa", seconds.clone()).await;
        assert_eq!((status, &body["reason"]), (422, &json!("Invalid")), "{seconds}");
    }
}

#[tokio::test]
async fn config_maps_and_secrets_of_the_control_plane_are_found_by_their_labels() {
    let caller = HttpClient::new().await;
    let cluster = ClusterClient::of(&caller, "control-plane").await;
    let maps = "/api/v1/namespaces/kcp-system/configmaps";
    let secrets = "/api/v1/namespaces/kcp-system/secrets";
    for (name, labels) in
        [("a", json!({"x": "1"})), ("b", json!({"x": "1", "y": "2"})), ("c", json!({"y": "2"}))]
    {
        let object = json!({"metadata": {"name": name, "labels": labels}, "data": {"key": name}});
        assert_eq!(cluster.post(maps, object).await.0, 201);
    }
    let elsewhere = "/api/v1/namespaces/default/configmaps";
    cluster.post(elsewhere, json!({"metadata": {"name": "d", "labels": {"x": "1"}}})).await;
    for (selector, expected) in [("", vec!["a", "b", "c"]), ("x=1", vec!["a", "b"]), ("x=1,y==2", vec!["b"])]
    {
        let path = format!("{maps}?labelSelector={}", selector.replace('=', "%3D").replace(',', "%2C"));
        assert_eq!(cluster.names(&path).await, expected, "{selector}");
    }
    assert_eq!(cluster.get(&format!("{maps}?labelSelector=x%20in%20(1)")).await.0, 400);
    let (_, page) = cluster.get(&format!("{maps}?limit=2")).await;
    assert_eq!(page["metadata"]["continue"], "b");
    assert_eq!(cluster.names(&format!("{maps}?limit=2&continue=b")).await, ["c"]);
    let (_, all) = cluster.get(&format!("{maps}?limit=3")).await;
    assert_eq!(all["metadata"].get("continue"), None);

    let secret = json!({"metadata": {"name": "s", "labels": {"x": "1"}},
        "data": {"plain": "b3Blbg=="}, "stringData": {"more": "hidden"}});
    assert_eq!(cluster.post(secrets, secret).await.0, 201);
    let (_, list) = cluster.get(&format!("{secrets}?labelSelector=x%3D1")).await;
    assert_eq!(list["kind"], "SecretList");
    assert_eq!(list["items"][0]["data"], json!({"plain": "b3Blbg==", "more": "aGlkZGVu"}));
    assert_eq!(list["items"][0].get("stringData"), None);
    assert_eq!(cluster.delete(&format!("{maps}/a")).await.0, 200);
    assert_eq!(cluster.names(maps).await, ["b", "c"]);
    // Only service accounts are effects that a client has to take back.
    assert_eq!(caller.ledger().await, []);
}

#[tokio::test]
async fn malformed_objects_are_refused() {
    let caller = HttpClient::new().await;
    let cluster = ClusterClient::of(&caller, "control-plane").await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let cases = [
        (SERVICE_ACCOUNTS, json!({}), 422),
        (SERVICE_ACCOUNTS, json!([]), 400),
        (SERVICE_ACCOUNTS, json!({"metadata": "x"}), 400),
        (SERVICE_ACCOUNTS, named("Upper"), 422),
        (SERVICE_ACCOUNTS, named("a/b"), 422),
        (SERVICE_ACCOUNTS, json!({"metadata": {"name": "a", "labels": {"x": 1}}}), 400),
        (secrets, json!({"metadata": {"name": "a"}, "data": {"x": "not base64!"}}), 400),
        (secrets, json!({"metadata": {"name": "a"}, "data": "x", "stringData": {"a": "b"}}), 400),
        (BINDINGS, named("a"), 422),
        (BINDINGS, json!({"metadata": {"name": "a"}, "roleRef": "x"}), 422),
    ];
    for path in ["/api/v1/namespaces/default/pods", "/apis/absent.example.com/v1/things"] {
        assert_eq!(cluster.post(path, named("a")).await, (404, json!("404 page not found\n")), "{path}");
    }
    for (path, object, expected) in cases {
        let (status, body) = cluster.post(path, object.clone()).await;
        assert_eq!((status, &body["kind"]), (expected, &json!("Status")), "{path} {object} {body}");
    }
    assert_eq!(caller.ledger().await, []);
}

#[tokio::test]
async fn a_lost_answer_leaves_a_service_account() {
    let caller = HttpClient::new().await;
    let id = caller.runtime("i-1").await;
    let cluster = ClusterClient::of(&caller, &id).await;
    caller.arm(json!({"system": "cluster", "kind": "drop_after", "about": "serviceaccounts"})).await;
    assert_eq!(cluster.probe().await, 200);
    let request = caller.request(Method::POST, &format!("/clusters/{id}{SERVICE_ACCOUNTS}"));
    let error = request.bearer_auth(&cluster.token).json(&named("sa")).send().await.unwrap_err();
    assert!(error.is_request(), "{error:?}");
    assert_eq!(cluster.post(SERVICE_ACCOUNTS, named("sa")).await.0, 409);
    assert_eq!(caller.ledger().await.len(), 2);
}

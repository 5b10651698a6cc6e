//! Clusters: what is read from them, and who is let in.

mod tls;

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client_tests::{Arrival, TIMEOUT, TestSandbox, TestServer};
use engine::secret::{ExposeSecret, SecretString};
use http_client::DriverError;
use kubernetes::{Cluster, Clusters, HttpClusters, Kubeconfig, ObjectKind, user_kubeconfig};
use serde_json::{Value, json};
use time::OffsetDateTime;

async fn control_plane(fixture: &TestSandbox) -> SecretString {
    let url = format!("{}/clusters/control-plane/kubeconfig", fixture.sandbox.url());
    fixture.client.get(url).send().await.unwrap().text().await.unwrap().into()
}

fn kubeconfig(server: &str) -> SecretString {
    let file = json!({
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "users": [{"name": "c", "user": {"token": "t-1"}}],
    });
    file.to_string().into()
}

/// A cluster whose every answer is this one.
async fn answering(
    answer: impl Fn(&Arrival) -> Response + Clone + Send + Sync + 'static,
) -> (TestServer, Arc<dyn Cluster>) {
    let fake = TestServer::start(answer).await;
    let cluster = HttpClusters::new(TIMEOUT).open(&kubeconfig(&format!("{}/base/", fake.url))).unwrap();
    (fake, cluster)
}

async fn put_object(fixture: &TestSandbox, plural: &str, admin: &SecretString, object: Value) {
    let base =
        format!("{}/clusters/control-plane/api/v1/namespaces/kcp-system/{plural}", fixture.sandbox.url());
    let token = admin.expose_secret().split("token: \"").nth(1).unwrap().trim().trim_end_matches('"');
    let request = fixture.client.post(base).bearer_auth(token).json(&object);
    assert_eq!(request.send().await.unwrap().status(), 201);
}

#[tokio::test]
async fn labelled_objects_are_read_page_by_page_and_decoded() {
    let fixture = TestSandbox::new().await;
    let admin = control_plane(&fixture).await;
    for number in 0..120 {
        let labels = json!({"runtime-override": "true", "component": "core"});
        let object =
            json!({"metadata": {"name": format!("m-{number:03}"), "labels": labels}, "data": {"a.b": "x"}});
        put_object(&fixture, "configmaps", &admin, object).await;
    }
    let labels = json!({"runtime-override": "true"});
    let secret = json!({"metadata": {"name": "s-1", "labels": labels}, "stringData": {"key": "hunter2\n"}});
    put_object(&fixture, "secrets", &admin, secret).await;
    put_object(&fixture, "secrets", &admin, json!({"metadata": {"name": "s-2"}})).await;

    let cluster = HttpClusters::new(TIMEOUT).open(&admin).unwrap();
    let selector = "runtime-override=true,component=core";
    let found = cluster.labelled(ObjectKind::ConfigMap, "kcp-system", selector).await.unwrap();
    assert_eq!(found.len(), 120);
    assert_eq!((found[119].name.as_str(), found[119].labels["component"].as_str()), ("m-119", "core"));
    assert_eq!(found[7].data["a.b"].expose_secret(), "x");
    let found = cluster.labelled(ObjectKind::Secret, "kcp-system", "runtime-override=true").await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].data["key"].expose_secret(), "hunter2\n");
    assert!(!format!("{found:?}").contains("hunter2"));
    let everything = cluster.labelled(ObjectKind::Secret, "kcp-system", "").await.unwrap();
    assert_eq!(everything.len(), 2);
    assert!(cluster.labelled(ObjectKind::Secret, "elsewhere", "").await.unwrap().is_empty());
    let error = cluster.labelled(ObjectKind::Secret, "kcp-system", "a in (b)").await.unwrap_err();
    assert!(error.is_final(), "{error:?}");
}

#[tokio::test]
async fn a_service_account_lets_its_owner_in_until_it_is_deleted() {
    let fixture = TestSandbox::new().await;
    let admin = control_plane(&fixture).await;
    let cluster = HttpClusters::new(TIMEOUT).open(&admin).unwrap();
    assert!(!cluster.delete_service_account("kube-system", "binding-1").await.unwrap());
    assert!(!cluster.delete_cluster_role_binding("binding-1").await.unwrap());
    for _ in 0..2 {
        cluster.ensure_service_account("kube-system", "binding-1").await.unwrap();
        cluster
            .ensure_cluster_role_binding("binding-1", "cluster-admin", "kube-system", "binding-1")
            .await
            .unwrap();
    }
    let issued = cluster.request_token("kube-system", "binding-1", 900).await.unwrap();
    assert!(issued.expires_at > OffsetDateTime::UNIX_EPOCH + time::Duration::days(365 * 50));
    assert!(!format!("{issued:?}").contains(issued.token.expose_secret()));

    let yaml = user_kubeconfig(&Kubeconfig::parse(&admin).unwrap(), &issued.token, "binding-1");
    let as_user = HttpClusters::new(TIMEOUT).open(&yaml).unwrap();
    as_user.labelled(ObjectKind::ConfigMap, "kcp-system", "").await.unwrap();
    let summary = fixture.get("/ledger/summary").await;
    assert_eq!(summary["cluster/service_account"]["standing"], 1, "{summary}");

    assert!(cluster.delete_cluster_role_binding("binding-1").await.unwrap());
    assert!(cluster.delete_service_account("kube-system", "binding-1").await.unwrap());
    assert!(!cluster.delete_service_account("kube-system", "binding-1").await.unwrap());
    let error = as_user.labelled(ObjectKind::ConfigMap, "kcp-system", "").await.unwrap_err();
    assert!(error.to_string().starts_with("cluster refused: 403 Forbidden: forbidden: User"), "{error}");
    let error = cluster.request_token("kube-system", "binding-1", 900).await.unwrap_err();
    assert!(error.is_final(), "{error:?}");
}

#[tokio::test]
async fn the_wire_is_that_of_the_kubernetes_api() {
    let (fake, cluster) = answering(|_| Json(json!({"items": null})).into_response()).await;
    cluster.labelled(ObjectKind::Secret, "ns", "a=b c&d").await.unwrap();
    cluster.ensure_cluster_role_binding("b.1", "system:admin", "ns", "sa").await.unwrap();
    cluster.delete_service_account("ns", "sa").await.unwrap();
    let arrivals = fake.arrivals();
    let paths: Vec<_> = arrivals.iter().map(|arrival| arrival.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/base/api/v1/namespaces/ns/secrets?labelSelector=a%3Db+c%26d&limit=50",
            "/base/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            "/base/api/v1/namespaces/ns/serviceaccounts/sa",
        ]
    );
    assert!(arrivals.iter().all(|arrival| arrival.headers["authorization"] == "Bearer t-1"));
    let body: Value = serde_json::from_slice(&arrivals[1].body).unwrap();
    assert_eq!(body["roleRef"]["name"], "system:admin");
    assert_eq!(body["subjects"], json!([{"kind": "ServiceAccount", "name": "sa", "namespace": "ns"}]));
}

#[tokio::test]
async fn names_that_mean_something_in_a_path_do_not_get_out() {
    let (fake, cluster) = answering(|_| Json(json!({})).into_response()).await;
    let long = "a".repeat(64);
    for name in
        ["", ".", "..", "a/b", "a%2fb", "../x", "A", "-a", "a-", "a..b", "a b", "a?b", "ä", long.as_str()]
    {
        for error in [
            cluster.labelled(ObjectKind::Secret, name, "").await.unwrap_err(),
            cluster.ensure_service_account(name, "sa").await.unwrap_err(),
            cluster.ensure_service_account("ns", name).await.unwrap_err(),
            cluster.ensure_cluster_role_binding(name, "r", "ns", "sa").await.unwrap_err(),
            cluster.request_token("ns", name, 900).await.unwrap_err(),
            cluster.delete_service_account("ns", name).await.unwrap_err(),
            cluster.delete_cluster_role_binding(name).await.unwrap_err(),
        ] {
            assert!(error.is_final() && error.to_string().contains("cannot be called"), "{name:?}: {error}");
        }
    }
    assert_eq!(fake.arrivals().len(), 0);
}

#[tokio::test]
async fn answers_are_sorted_by_what_can_be_done() {
    let status = |code: u16, reason: &str| {
        let body = json!({"kind": "Status", "reason": reason, "message": "no\nluck"});
        let code = StatusCode::from_u16(code).unwrap();
        move |_: &Arrival| (code, Json(body.clone())).into_response()
    };
    for (code, reason, expect) in [
        (409, "Conflict", "cluster is broken: 409 Conflict: no luck"),
        (410, "Expired", "cluster is broken: 410 Gone: no luck"),
        (500, "InternalError", "cluster is broken: 500 Internal Server Error: no luck"),
        (302, "", "cluster is broken: 302 Found: no luck"),
        (429, "TooManyRequests", "cluster asks to wait for 5 s"),
        (403, "Forbidden", "cluster refused: 403 Forbidden: no luck"),
    ] {
        let (_fake, cluster) = answering(status(code, reason)).await;
        for error in [
            cluster.labelled(ObjectKind::ConfigMap, "ns", "").await.unwrap_err(),
            cluster.ensure_service_account("ns", "sa").await.unwrap_err(),
            cluster.request_token("ns", "sa", 900).await.unwrap_err(),
            cluster.delete_service_account("ns", "sa").await.unwrap_err(),
        ] {
            assert_eq!(error.to_string(), expect);
        }
    }
    let fixture = TestSandbox::new().await;
    let cluster = HttpClusters::new(TIMEOUT).open(&control_plane(&fixture).await).unwrap();
    fixture.arm("cluster", json!({"kind": "drop_after"})).await;
    let error = cluster.ensure_service_account("ns", "sa").await.unwrap_err();
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error:?}");
    cluster.ensure_service_account("ns", "sa").await.unwrap();
    assert!(cluster.delete_service_account("ns", "sa").await.unwrap());
}

/// An answer of a kube-apiserver of 1.33.
fn recorded(code: u16, kind: &'static str, body: impl Into<String>) -> (StatusCode, &'static str, String) {
    (StatusCode::from_u16(code).unwrap(), kind, body.into())
}

async fn answering_as_recorded(
    (code, kind, body): (StatusCode, &'static str, String),
) -> (TestServer, Arc<dyn Cluster>) {
    answering(move |_| (code, [("content-type", kind)], body.clone()).into_response()).await
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

#[tokio::test]
async fn an_api_that_is_not_installed_is_not_an_object_that_is_gone() {
    let (_fake, cluster) = answering_as_recorded(recorded(404, TEXT, "404 page not found\n")).await;
    let expect = "cluster is broken: 404 Not Found: this server does not have the API; check the server of the \
                  kubeconfig";
    for error in [
        cluster.delete_service_account("ns", "sa").await.unwrap_err(),
        cluster.delete_cluster_role_binding("b").await.unwrap_err(),
        cluster.ensure_service_account("ns", "sa").await.unwrap_err(),
        cluster.labelled(ObjectKind::ConfigMap, "ns", "").await.unwrap_err(),
    ] {
        assert_eq!(error.to_string(), expect);
    }
    for (kind, name) in [("serviceaccounts", "sa"), ("namespaces", "ns")] {
        let message = format!("{kind} \"{name}\" not found");
        let status = json!({"kind": "Status", "status": "Failure", "message": message, "reason": "NotFound",
            "details": {"name": name, "kind": kind}, "code": 404});
        let (_fake, cluster) = answering_as_recorded(recorded(404, JSON, status.to_string())).await;
        assert!(!cluster.delete_service_account("ns", "sa").await.unwrap(), "{kind}");
        let error = cluster.ensure_service_account("ns", "sa").await.unwrap_err();
        assert_eq!(error.to_string(), format!("cluster refused: 404 Not Found: {message}"));
    }
}

#[tokio::test]
async fn an_object_that_waits_for_its_finalizers_neither_stands_nor_is_gone() {
    let message = "object is being deleted: serviceaccounts \"sa\" already exists";
    let status = json!({"kind": "Status", "message": message, "reason": "AlreadyExists", "code": 409});
    let (_fake, cluster) = answering_as_recorded(recorded(409, JSON, status.to_string())).await;
    let error = cluster.ensure_service_account("ns", "sa").await.unwrap_err();
    assert_eq!(error.to_string(), format!("cluster is broken: 409 Conflict: {message}"));

    let object = json!({"kind": "ServiceAccount", "metadata": {
        "name": "sa", "deletionTimestamp": "2026-11-17T03:52:18Z", "finalizers": ["example.com/hook"]}});
    let (_fake, cluster) = answering_as_recorded(recorded(200, JSON, object.to_string())).await;
    let error = cluster.delete_service_account("ns", "sa").await.unwrap_err();
    assert!(matches!(error, DriverError::Broken { .. }), "{error:?}");
    assert!(error.to_string().contains("finalizers"), "{error}");

    let object = json!({"kind": "ServiceAccount", "metadata": {"name": "sa", "uid": "u-1"}});
    let (_fake, cluster) = answering_as_recorded(recorded(200, JSON, object.to_string())).await;
    assert!(cluster.delete_service_account("ns", "sa").await.unwrap());
}

#[tokio::test]
async fn a_server_that_starts_throttles_or_runs_out_of_time_is_asked_again() {
    let fixture = TestSandbox::new().await;
    let cluster = HttpClusters::new(TIMEOUT).open(&control_plane(&fixture).await).unwrap();
    fixture.arm("cluster", json!({"kind": "error", "status": 403, "times": 4})).await;
    cluster.ensure_service_account("ns", "sa").await.unwrap();
    fixture.arm("cluster", json!({"kind": "error", "status": 503, "retry_after_s": 5})).await;
    let error = cluster.ensure_service_account("ns", "sa").await.unwrap_err();
    assert_eq!(error.to_string(), "cluster asks to wait for 5 s");
    fixture.arm("cluster", json!({"kind": "error", "status": 429, "retry_after_s": 1})).await;
    let error = cluster.ensure_service_account("ns", "sa").await.unwrap_err();
    assert_eq!(error.to_string(), "cluster asks to wait for 1 s");
    fixture.arm("cluster", json!({"kind": "error", "status": 504})).await;
    let error = cluster.ensure_service_account("ns", "sa-2").await.unwrap_err();
    let expect = "cluster is broken: 504 Gateway Timeout: Timeout: request did not complete within the allotted \
                  timeout";
    assert_eq!(error.to_string(), expect);
    // The outcome of a creation without an answer is not known: the same name again is right in both cases.
    cluster.ensure_service_account("ns", "sa-2").await.unwrap();
    cluster.ensure_service_account("ns", "sa-2").await.unwrap();
}

#[tokio::test]
async fn odd_answers_are_broken_and_never_quoted() {
    let lists = [
        json!({"items": [{"metadata": {"name": "s"}, "data": {"k": "hunter2"}}]}),
        json!({"items": [{"metadata": {"name": "s"}, "data": {"k": STANDARD.encode(b"hunter2\xff")}}]}),
        json!({"items": [{"data": {"k": "hunter2"}}]}),
        json!({"items": [], "metadata": {"continue": "hunter2"}}),
        json!("hunter2"),
    ];
    for list in lists {
        let (fake, cluster) = answering(move |_| Json(list.clone()).into_response()).await;
        let error = cluster.labelled(ObjectKind::Secret, "ns", "").await.unwrap_err();
        assert!(matches!(error, DriverError::Broken { .. }), "{error:?}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        assert!(fake.arrivals().len() <= 100);
    }
    for status in [
        json!({"token": "", "expirationTimestamp": "2030-01-01T00:00:00Z"}),
        json!({"token": "hunter2", "expirationTimestamp": "soon"}),
        json!({"token": "hunter2"}),
    ] {
        let (_fake, cluster) = answering(move |_| Json(json!({"status": status})).into_response()).await;
        let error = cluster.request_token("ns", "sa", 900).await.unwrap_err();
        assert!(matches!(error, DriverError::Broken { .. }), "{error:?}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_refused_at_once() {
    let clusters = HttpClusters::new(TIMEOUT);
    for yaml in [kubeconfig("http://cluster.example"), "hunter2: [".into(), "".into()] {
        let error = clusters.open(&yaml).err().unwrap();
        assert!(error.is_final() && !error.to_string().contains("hunter2"), "{error:?}");
    }
}

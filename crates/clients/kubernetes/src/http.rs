//! Clusters over HTTP, in the way of the Kubernetes API.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::secret::{ExposeSecret, SecretString};
use http_client::{Answer, DriverError, client_builder, shorten};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Certificate, Client, Identity, Method, StatusCode, Url};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::kubeconfig::{ClusterCredentials, Kubeconfig};
use super::types::{ListBody, StatusBody, TokenBody};
use super::{Cluster, Clusters, LabelledObject, ObjectKind, SYSTEM, ServiceAccountToken};

/// An object has at most 1 MiB and most have a few kB: pages of this size stay below the limit of an answer.
const PAGE_SIZE: &str = "50";
const PAGES_MAX: usize = 100;
const LIST_BYTES_MAX: usize = 32 * 1024 * 1024;
const SELECTOR_CHARS_MAX: usize = 1000;
const NAME_CHARS_MAX: usize = 253;
const RBAC: &str = "rbac.authorization.k8s.io";
/// A server that starts answers 403 to callers that have the right, for about 0.1 s, until it has read the roles.
const FORBIDDEN_TRIES: u32 = 5;
const FORBIDDEN_PAUSE: Duration = Duration::from_millis(200);
/// The reason of a `Status` that is about an object, or about its namespace.
const NOT_FOUND: &str = "NotFound";
/// How the message of a 409 `AlreadyExists` begins while finalizers hold the object: it does not stay.
const BEING_DELETED: &str = "object is being deleted";

#[derive(Debug, Clone)]
pub struct HttpClusters {
    timeout: Duration,
}

impl HttpClusters {
    /// `timeout` limits connecting and every silence; a whole call ends after twice that time.
    pub fn new(timeout: Duration) -> HttpClusters {
        HttpClusters { timeout }
    }
}

impl Clusters for HttpClusters {
    fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn Cluster>, DriverError> {
        let kubeconfig = Kubeconfig::parse(kubeconfig).map_err(|error| SYSTEM.refused(error))?;
        Ok(Arc::new(HttpCluster::new(&kubeconfig, self.timeout)?))
    }
}

#[derive(Debug)]
struct HttpCluster {
    client: Client,
    server: Url,
}

impl HttpCluster {
    fn new(kubeconfig: &Kubeconfig, timeout: Duration) -> Result<HttpCluster, DriverError> {
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let mut builder = client_builder(timeout);
        if let Some(authority) = kubeconfig.authority() {
            let certificates = Certificate::from_pem_bundle(authority).unwrap_or_default();
            if certificates.is_empty() {
                return Err(SYSTEM.refused("certificate-authority-data of the kubeconfig has no certificate"));
            }
            builder = builder.tls_certs_only(certificates);
        }
        match kubeconfig.credentials() {
            ClusterCredentials::Token(token) => {
                let mut bearer = SYSTEM.header("token", &format!("Bearer {}", token.expose_secret()))?;
                bearer.set_sensitive(true);
                headers.insert(AUTHORIZATION, bearer);
            }
            ClusterCredentials::Certificate { pem } => {
                let identity = Identity::from_pem(pem.expose_secret().as_bytes()).map_err(|_| {
                    SYSTEM.refused("client-certificate-data and client-key-data of the kubeconfig do not fit")
                })?;
                builder = builder.identity(identity);
            }
        }
        let client = SYSTEM.client(builder.default_headers(headers))?;
        Ok(HttpCluster { client, server: kubeconfig.url().clone() })
    }

    fn url(&self, segments: &[&str]) -> Result<Url, DriverError> {
        let mut url = self.server.clone();
        let mut path = url.path_segments_mut().map_err(|()| SYSTEM.refused("its url cannot have a path"))?;
        path.pop_if_empty().extend(segments);
        drop(path);
        Ok(url)
    }

    async fn call(&self, method: Method, url: Url, body: Option<&Value>) -> Result<Answer, DriverError> {
        let mut tries = FORBIDDEN_TRIES;
        loop {
            let mut request = self.client.request(method.clone(), url.clone());
            if let Some(body) = body {
                request = request.json(body);
            }
            let answer = Answer::to(SYSTEM, request).await?;
            tries -= 1;
            if answer.status != StatusCode::FORBIDDEN || tries == 0 {
                return Ok(answer);
            }
            sleep(FORBIDDEN_PAUSE).await;
        }
    }

    async fn create(&self, url: Url, body: &Value) -> Result<(), DriverError> {
        let answer = self.call(Method::POST, url, Some(body)).await?;
        match answer.status {
            status if status.is_success() => Ok(()),
            StatusCode::CONFLICT if said(&answer).says_that_it_stands() => Ok(()),
            _ => Err(error(&answer)),
        }
    }

    async fn delete(&self, url: Url) -> Result<bool, DriverError> {
        let answer = self.call(Method::DELETE, url, None).await?;
        match answer.status {
            status if status.is_success() => match said(&answer).metadata.deletion_timestamp {
                None => Ok(true),
                Some(_) => Err(SYSTEM.broken("the object waits for its finalizers and still counts")),
            },
            StatusCode::NOT_FOUND if said(&answer).reason == NOT_FOUND => Ok(false),
            _ => Err(error(&answer)),
        }
    }
}

#[async_trait]
impl Cluster for HttpCluster {
    async fn labelled(
        &self,
        kind: ObjectKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<LabelledObject>, DriverError> {
        if selector.chars().count() > SELECTOR_CHARS_MAX {
            return Err(SYSTEM.refused(format!("a selector has at most {SELECTOR_CHARS_MAX} characters")));
        }
        let plural = match kind {
            ObjectKind::ConfigMap => "configmaps",
            ObjectKind::Secret => "secrets",
        };
        let all = self.url(&["api", "v1", "namespaces", name("namespace", namespace)?, plural])?;
        let (mut objects, mut bytes, mut next) = (Vec::new(), 0, None::<String>);
        for _ in 0..PAGES_MAX {
            let mut url = all.clone();
            url.query_pairs_mut().append_pair("labelSelector", selector).append_pair("limit", PAGE_SIZE);
            if let Some(next) = &next {
                url.query_pairs_mut().append_pair("continue", next);
            }
            let answer = self.call(Method::GET, url, None).await?;
            if !answer.status.is_success() {
                return Err(error(&answer));
            }
            bytes += answer.body.len();
            if bytes > LIST_BYTES_MAX {
                return Err(SYSTEM.broken(format!("its {plural} have more than {LIST_BYTES_MAX} bytes")));
            }
            let list = answer.json::<ListBody>("a list")?;
            for object in list.items.unwrap_or_default() {
                objects.push(object.read(kind)?);
            }
            next = list.metadata.next.filter(|next| !next.is_empty());
            if next.is_none() {
                return Ok(objects);
            }
        }
        Err(SYSTEM.broken(format!("it answered more than {PAGES_MAX} pages of {plural}")))
    }

    async fn ensure_service_account(&self, namespace: &str, name: &str) -> Result<(), DriverError> {
        let url = self.service_accounts(namespace, &[])?;
        // Checked as part of a path too, because what cannot be deleted must not be made.
        self.service_accounts(namespace, &[name])?;
        let body = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": name, "namespace": namespace },
        });
        self.create(url, &body).await
    }

    async fn ensure_cluster_role_binding(
        &self,
        name: &str,
        cluster_role: &str,
        namespace: &str,
        service_account: &str,
    ) -> Result<(), DriverError> {
        let url = self.cluster_role_bindings(&[])?;
        self.cluster_role_bindings(&[name])?;
        let body = json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": { "name": name },
            "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": cluster_role },
            "subjects": [{ "kind": "ServiceAccount", "name": service_account, "namespace": namespace }],
        });
        self.create(url, &body).await
    }

    async fn request_token(
        &self,
        namespace: &str,
        service_account: &str,
        seconds: u32,
    ) -> Result<ServiceAccountToken, DriverError> {
        let url = self.service_accounts(namespace, &[service_account, "token"])?;
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": { "expirationSeconds": seconds },
        });
        let answer = self.call(Method::POST, url, Some(&body)).await?;
        if !answer.status.is_success() {
            return Err(error(&answer));
        }
        answer.json::<TokenBody>("a token")?.try_into()
    }

    async fn delete_service_account(&self, namespace: &str, name: &str) -> Result<bool, DriverError> {
        self.delete(self.service_accounts(namespace, &[name])?).await
    }

    async fn delete_cluster_role_binding(&self, name: &str) -> Result<bool, DriverError> {
        self.delete(self.cluster_role_bindings(&[name])?).await
    }
}

impl HttpCluster {
    fn service_accounts(&self, namespace: &str, rest: &[&str]) -> Result<Url, DriverError> {
        let mut segments = vec!["api", "v1", "namespaces", name("namespace", namespace)?, "serviceaccounts"];
        for segment in rest {
            segments.push(name("service account", segment)?);
        }
        self.url(&segments)
    }

    fn cluster_role_bindings(&self, rest: &[&str]) -> Result<Url, DriverError> {
        let mut segments = vec!["apis", RBAC, "v1", "clusterrolebindings"];
        for segment in rest {
            segments.push(name("cluster role binding", segment)?);
        }
        self.url(&segments)
    }
}

/// DNS labels, joined by dots: what Kubernetes allows, and nothing that means something in a path.
fn name<'a>(what: &str, name: &'a str) -> Result<&'a str, DriverError> {
    let is_label = |label: &str| {
        let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() <= NAME_CHARS_MAX && name.split('.').all(is_label) {
        Ok(name)
    } else {
        let name = shorten(name);
        Err(SYSTEM
            .refused(format!("a {what} cannot be called {name:?}: use lower case letters, digits and -")))
    }
}

/// Some answers are text, and those of a timeout are JSON that is called text: the body decides.
fn said(answer: &Answer) -> StatusBody {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

impl StatusBody {
    /// Whether there is an object of this name, and it is not on its way out.
    fn says_that_it_stands(&self) -> bool {
        self.reason == "AlreadyExists" && !self.message.starts_with(BEING_DELETED)
    }
}

/// Only for an answer that is not a success.
fn error(answer: &Answer) -> DriverError {
    let StatusBody { message, reason, .. } = said(answer);
    let message = match answer.status {
        // Not about an object: the path is unknown, because the API is not installed or something else answers.
        StatusCode::NOT_FOUND if reason != NOT_FOUND => {
            "this server does not have the API; check the server of the kubeconfig".to_owned()
        }
        _ => shorten(&message),
    };
    let words =
        if message.is_empty() { answer.status.to_string() } else { format!("{}: {message}", answer.status) };
    match answer.status {
        StatusCode::NOT_FOUND if reason != NOT_FOUND => SYSTEM.broken(words),
        // Another request wrote at the same time, or a list took too long to read: the next try begins anew.
        StatusCode::CONFLICT | StatusCode::GONE => SYSTEM.broken(words),
        _ => answer.error(words),
    }
}

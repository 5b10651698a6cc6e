//! Clusters over HTTP, in the way of the Kubernetes API.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::secret::SecretString;
use http_client::DriverError;
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};

use super::api_server::{ApiServer, ApiStatus, api_error, object_name};
use super::kubeconfig::Kubeconfig;
use super::types::{ListBody, TokenBody};
use super::{Cluster, Clusters, LabelledObject, ObjectKind, SYSTEM, ServiceAccountToken};

/// An object has at most 1 MiB and most have a few kB: pages of this size stay below the limit of an answer.
const PAGE_SIZE: &str = "50";
const PAGES_MAX: usize = 100;
const LIST_BYTES_MAX: usize = 32 * 1024 * 1024;
const SELECTOR_CHARS_MAX: usize = 1000;
const RBAC: &str = "rbac.authorization.k8s.io";

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
        Ok(Arc::new(HttpCluster { api: ApiServer::new(SYSTEM, &kubeconfig, self.timeout)? }))
    }
}

#[derive(Debug)]
struct HttpCluster {
    api: ApiServer,
}

impl HttpCluster {
    async fn create(&self, url: Url, body: &Value) -> Result<(), DriverError> {
        let answer = self.api.call(Method::POST, url, Some(body)).await?;
        match answer.status {
            status if status.is_success() => Ok(()),
            StatusCode::CONFLICT if ApiStatus::of(&answer).is_standing() => Ok(()),
            _ => Err(api_error(&answer)),
        }
    }

    async fn delete(&self, url: Url) -> Result<bool, DriverError> {
        let answer = self.api.call(Method::DELETE, url, None).await?;
        match answer.status {
            status if status.is_success() && ApiStatus::of(&answer).is_waiting() => {
                Err(SYSTEM.broken("the object waits for its finalizers and still counts"))
            }
            status if status.is_success() => Ok(true),
            StatusCode::NOT_FOUND if ApiStatus::of(&answer).reason == "NotFound" => Ok(false),
            _ => Err(api_error(&answer)),
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
        let all = self.api.url(&["api", "v1", "namespaces", name("namespace", namespace)?, plural])?;
        let (mut objects, mut bytes, mut next) = (Vec::new(), 0, None::<String>);
        for _ in 0..PAGES_MAX {
            let mut url = all.clone();
            url.query_pairs_mut().append_pair("labelSelector", selector).append_pair("limit", PAGE_SIZE);
            if let Some(next) = &next {
                url.query_pairs_mut().append_pair("continue", next);
            }
            let answer = self.api.call(Method::GET, url, None).await?;
            if !answer.status.is_success() {
                return Err(api_error(&answer));
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
        let answer = self.api.call(Method::POST, url, Some(&body)).await?;
        if !answer.status.is_success() {
            return Err(api_error(&answer));
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
        self.api.url(&segments)
    }

    fn cluster_role_bindings(&self, rest: &[&str]) -> Result<Url, DriverError> {
        let mut segments = vec!["apis", RBAC, "v1", "clusterrolebindings"];
        for segment in rest {
            segments.push(name("cluster role binding", segment)?);
        }
        self.api.url(&segments)
    }
}

fn name<'a>(what: &str, name: &'a str) -> Result<&'a str, DriverError> {
    object_name(SYSTEM, what, name)
}

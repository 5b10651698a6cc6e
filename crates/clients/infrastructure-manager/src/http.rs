//! `RuntimeResources` over HTTP.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::secret::SecretString;
use http_client::{Answer, DriverError, Lines};
use kubernetes::{ApiServer, ApiStatus, object_name};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::SYSTEM;
use super::api::{ApiAccess, ListObject, error, refused_watch, with_options};
use super::kyma::{KymaResource, ObservedKyma};
use super::labels::FORCE_RECONCILIATION;
use super::merge::merge;
use super::observed::ObservedRuntime;
use super::resources::{
    Creation, Deletion, LabelledKind, Patch, PatchedRuntime, RuntimeFeed, RuntimeList, RuntimeResource,
    RuntimeResources, WriteMode,
};
use super::schema::InstalledSchema;
use super::watch::RuntimeEvents;
use super::watch_stream::{ExpiredWatch, WatchStream};

pub(super) const GROUP: &str = "infrastructuremanager.kyma-project.io";
const KYMA_GROUP: &str = "operator.kyma-project.io";
const KYMA_VERSION: &str = "v1beta2";
/// A runtime has about 10 kB with what the server adds: a page stays far below the limit of an answer.
const PAGE_SIZE: &str = "100";
/// Between a POST that says that one exists and a GET that says that none does, it went: the next POST can succeed.
const CREATE_TRIES: usize = 3;
/// Other writers may be faster than a change that names no version.
const WRITE_TRIES: usize = 5;
/// A server that stops keeps its watches open and silent, so each one ends soon by itself.
const WATCH_SECONDS: u64 = 60;
/// The server ends a watch itself. If it does not, the client does, a little later.
const WATCH_GRACE: Duration = Duration::from_secs(10);
/// A line of a watch has one object.
const LINE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// How long a server that refused one patch for want of rights is not asked again.
const PATCH_FORBIDDEN_FOR: Duration = Duration::from_mins(10);

#[derive(Debug)]
pub struct HttpRuntimeResources {
    api: ApiServer,
    /// Another client, because the silence of a watch may be longer than that of a call.
    watches: ApiServer,
    namespace: String,
    timeout: Duration,
    watch_seconds: u64,
    started: Instant,
    /// Milliseconds after `started` until which `patch` is not tried, because the server refused it.
    patch_forbidden_until: AtomicU64,
}

impl HttpRuntimeResources {
    /// `timeout` limits connecting and every silence; a whole call ends after twice that time.
    pub fn new(
        access: &ApiAccess,
        namespace: &str,
        timeout: Duration,
    ) -> Result<HttpRuntimeResources, DriverError> {
        let silence = Duration::from_secs(WATCH_SECONDS) + WATCH_GRACE;
        Ok(HttpRuntimeResources {
            api: access.server(timeout)?,
            watches: access.server(silence)?,
            namespace: object_name(SYSTEM, "namespace", namespace)?.to_owned(),
            timeout,
            watch_seconds: WATCH_SECONDS,
            started: Instant::now(),
            patch_forbidden_until: AtomicU64::new(0),
        })
    }

    /// How long one watch lasts, at most a minute.
    #[must_use]
    pub fn watch_seconds(self, seconds: u64) -> HttpRuntimeResources {
        HttpRuntimeResources { watch_seconds: seconds.clamp(1, WATCH_SECONDS), ..self }
    }

    fn url(&self, group: &str, version: &str, plural: &str, name: Option<&str>) -> Result<Url, DriverError> {
        let mut segments = vec!["apis", group, version, "namespaces", &self.namespace, plural];
        if let Some(name) = name {
            segments.push(object_name(SYSTEM, "resource", name)?);
        }
        self.api.url(&segments)
    }

    fn runtimes(&self, name: Option<&str>) -> Result<Url, DriverError> {
        self.url(GROUP, "v1", "runtimes", name)
    }

    fn kymas(&self, name: Option<&str>) -> Result<Url, DriverError> {
        self.url(KYMA_GROUP, KYMA_VERSION, "kymas", name)
    }

    async fn read<T: DeserializeOwned>(&self, url: Url) -> Result<Option<T>, DriverError> {
        let answer = self.api.call(Method::GET, url, None).await?;
        match answer.status {
            status if status.is_success() => answer.json("an object").map(Some),
            StatusCode::NOT_FOUND if ApiStatus::of(&answer).is_absent() => Ok(None),
            _ => Err(error(&answer)),
        }
    }

    fn may_patch(&self) -> bool {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        now >= self.patch_forbidden_until.load(Ordering::Relaxed)
    }

    fn remember_forbidden(&self) {
        let until = self.started.elapsed() + PATCH_FORBIDDEN_FOR;
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.patch_forbidden_until.store(until, Ordering::Relaxed);
    }

    /// Changes an object: by a patch, or by writing back what was read where the server does not allow it.
    async fn change(&self, url: &Url, body: &Value, mode: WriteMode) -> Result<Answer, DriverError> {
        let target = with_options(url.clone(), mode);
        if self.may_patch() {
            let answer = self.api.call(Method::PATCH, target.clone(), Some(body)).await?;
            if answer.status != StatusCode::FORBIDDEN {
                return Ok(answer);
            }
            self.remember_forbidden();
        }
        let mut tries = if body.pointer("/metadata/resourceVersion").is_some() { 1 } else { WRITE_TRIES };
        loop {
            let answer = self.write_back(url, target.clone(), body).await?;
            tries -= 1;
            // Without a version in the change, that of this read is no concern of the caller.
            let is_conflict =
                answer.status == StatusCode::CONFLICT && ApiStatus::of(&answer).reason == "Conflict";
            if !is_conflict || tries == 0 {
                return Ok(answer);
            }
        }
    }

    /// Reads the object, changes it, and writes it back whole.
    async fn write_back(&self, url: &Url, target: Url, body: &Value) -> Result<Answer, DriverError> {
        let read = self.api.call(Method::GET, url.clone(), None).await?;
        if !read.status.is_success() {
            return Ok(read);
        }
        let mut object: Value = read.json("an object")?;
        let found = object.pointer("/metadata/resourceVersion").cloned();
        merge(&mut object, body);
        if found.as_ref() != object.pointer("/metadata/resourceVersion") {
            // What the server would answer to a patch of this version.
            let body = json!({"reason": "Conflict"}).to_string().into_bytes();
            return Ok(Answer { status: StatusCode::CONFLICT, body, ..read });
        }
        self.api.call(Method::PUT, target, Some(&object)).await
    }

    async fn schema_at(
        &self,
        segments: &[&str],
        pointer: &str,
    ) -> Result<Option<InstalledSchema>, DriverError> {
        let answer = self.api.call(Method::GET, self.api.url(segments)?, None).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(error(&answer)),
        }
        let body: Value = answer.json("a schema")?;
        Ok(body.pointer(pointer).and_then(InstalledSchema::of))
    }
}

#[async_trait]
impl RuntimeFeed for HttpRuntimeResources {
    async fn list(&self, selector: Option<&str>, next: Option<&str>) -> Result<RuntimeList, DriverError> {
        let mut url = self.runtimes(None)?;
        url.query_pairs_mut().append_pair("limit", PAGE_SIZE);
        if let Some(selector) = selector {
            url.query_pairs_mut().append_pair("labelSelector", selector);
        }
        if let Some(next) = next {
            url.query_pairs_mut().append_pair("continue", next);
        }
        let answer = self.api.call(Method::GET, url, None).await?;
        if !answer.status.is_success() {
            return Err(error(&answer));
        }
        let list: ListObject<ObservedRuntime> = answer.json("a list")?;
        let next = list.metadata.next.filter(|next| !next.is_empty());
        let items = list.items.unwrap_or_default();
        Ok(RuntimeList { items, next, resource_version: list.metadata.resource_version })
    }

    async fn watch(&self, resource_version: &str) -> Result<Box<dyn RuntimeEvents>, DriverError> {
        let mut url = self.runtimes(None)?;
        url.query_pairs_mut()
            .append_pair("watch", "true")
            .append_pair("allowWatchBookmarks", "true")
            .append_pair("resourceVersion", resource_version)
            .append_pair("timeoutSeconds", &self.watch_seconds.to_string());
        // Connecting is as quick as for a call; only the lines may take longer.
        let opened = timeout(self.timeout, self.watches.open(url)).await;
        let response = opened.map_err(|_| SYSTEM.broken("the watch did not begin in time"))??;
        // Some servers say by the status that they have forgotten the version, others by a line.
        if response.status() == StatusCode::GONE {
            return Ok(Box::new(ExpiredWatch));
        }
        if !response.status().is_success() {
            return Err(refused_watch(response).await);
        }
        let lines = Lines::new(SYSTEM, response, LINE_BYTES_MAX);
        let silence_max = Duration::from_secs(self.watch_seconds) + WATCH_GRACE.min(self.timeout);
        Ok(Box::new(WatchStream::new(lines, silence_max)))
    }
}

#[async_trait]
impl RuntimeResources for HttpRuntimeResources {
    async fn create(&self, runtime: &RuntimeResource, mode: WriteMode) -> Result<Creation, DriverError> {
        // Checked as part of a path, because what cannot be read must not be made.
        self.runtimes(Some(&runtime.name))?;
        let body = json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "Runtime",
            "metadata": { "name": runtime.name, "namespace": self.namespace, "labels": runtime.labels },
            "spec": runtime.spec,
        });
        for _ in 0..CREATE_TRIES {
            let url = with_options(self.runtimes(None)?, mode);
            let answer = self.api.call(Method::POST, url, Some(&body)).await?;
            match answer.status {
                status if status.is_success() && mode == WriteMode::DryRun => return Ok(Creation::DryRun),
                status if status.is_success() => return answer.json("a runtime").map(Creation::Created),
                StatusCode::CONFLICT if ApiStatus::of(&answer).reason == "AlreadyExists" => {
                    if let Some(found) = self.get(&runtime.name).await? {
                        return Ok(Creation::Exists(found));
                    }
                }
                _ => return Err(error(&answer)),
            }
        }
        Err(SYSTEM.broken("the runtime was said to exist, and was never found"))
    }

    async fn get(&self, name: &str) -> Result<Option<ObservedRuntime>, DriverError> {
        self.read(self.runtimes(Some(name))?).await
    }

    async fn patch(&self, name: &str, patch: &Patch, mode: WriteMode) -> Result<PatchedRuntime, DriverError> {
        let answer = self.change(&self.runtimes(Some(name))?, &patch.to_json(), mode).await?;
        match answer.status {
            status if status.is_success() && mode == WriteMode::DryRun => Ok(PatchedRuntime::DryRun),
            status if status.is_success() => answer.json("a runtime").map(PatchedRuntime::Patched),
            StatusCode::NOT_FOUND if ApiStatus::of(&answer).is_absent() => Ok(PatchedRuntime::Absent),
            StatusCode::CONFLICT if ApiStatus::of(&answer).reason == "Conflict" => {
                Ok(PatchedRuntime::Conflict)
            }
            _ => Err(error(&answer)),
        }
    }

    async fn delete(&self, name: &str, uid: Option<&str>, mode: WriteMode) -> Result<Deletion, DriverError> {
        // With a body the options of the URL do not count: a dry run in the URL would delete.
        let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        if let Some(uid) = uid {
            body["preconditions"] = json!({ "uid": uid });
        }
        if mode == WriteMode::DryRun {
            body["dryRun"] = json!(["All"]);
        }
        let answer = self.api.call(Method::DELETE, self.runtimes(Some(name))?, Some(&body)).await?;
        match answer.status {
            status if status.is_success() => {
                let waits = ApiStatus::of(&answer).kind != "Status";
                Ok(match mode {
                    WriteMode::DryRun => Deletion::DryRun,
                    WriteMode::Apply if waits => Deletion::Waiting(answer.json("a runtime")?),
                    WriteMode::Apply => Deletion::Gone,
                })
            }
            StatusCode::NOT_FOUND if ApiStatus::of(&answer).is_absent() => Ok(Deletion::Gone),
            StatusCode::CONFLICT if uid.is_some() && ApiStatus::of(&answer).reason == "Conflict" => {
                Ok(Deletion::OtherUid)
            }
            _ => Err(error(&answer)),
        }
    }

    async fn force_reconciliation(&self, name: &str) -> Result<PatchedRuntime, DriverError> {
        let annotations = [(FORCE_RECONCILIATION.to_owned(), Some("true".to_owned()))].into();
        self.patch(name, &Patch { annotations, ..Patch::default() }, WriteMode::Apply).await
    }

    async fn kubeconfig(&self, name: &str) -> Result<Option<SecretString>, DriverError> {
        let secret = format!("kubeconfig-{}", object_name(SYSTEM, "runtime", name)?);
        let url = self.api.url(&["api", "v1", "namespaces", &self.namespace, "secrets", &secret])?;
        let Some(secret) = self.read::<SecretObject>(url).await? else { return Ok(None) };
        let Some(config) = secret.data.and_then(|data| data.config) else { return Ok(None) };
        let text = STANDARD.decode(config).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text =
            text.ok_or_else(|| SYSTEM.broken("key config of the Secret of the kubeconfig is not text"))?;
        Ok((!text.trim().is_empty()).then(|| text.into()))
    }

    async fn installed_schema(&self) -> Result<Option<InstalledSchema>, DriverError> {
        // Every user may read the first; only some the second.
        let schema = "/components/schemas/io.kyma-project.infrastructuremanager.v1.Runtime";
        if let Some(found) = self.schema_at(&["openapi", "v3", "apis", GROUP, "v1"], schema).await? {
            return Ok(Some(found));
        }
        let name = format!("runtimes.{GROUP}");
        let definition = ["apis", "apiextensions.k8s.io", "v1", "customresourcedefinitions", &name];
        self.schema_at(&definition, "/spec/versions/0/schema/openAPIV3Schema").await
    }

    async fn apply_kyma(&self, kyma: &KymaResource) -> Result<ObservedKyma, DriverError> {
        self.kymas(Some(&kyma.name))?;
        let metadata = json!({
            "name": kyma.name,
            "namespace": self.namespace,
            "labels": kyma.labels,
            "annotations": kyma.annotations,
        });
        let body = json!({
            "apiVersion": format!("{KYMA_GROUP}/{KYMA_VERSION}"),
            "kind": "Kyma",
            "metadata": metadata,
            "spec": kyma.spec,
        });
        let url = with_options(self.kymas(None)?, WriteMode::Apply);
        let answer = self.api.call(Method::POST, url, Some(&body)).await?;
        if answer.status.is_success() {
            return answer.json("a Kyma resource");
        }
        if !(answer.status == StatusCode::CONFLICT && ApiStatus::of(&answer).is_standing()) {
            return Err(error(&answer));
        }
        let labels = json!({"metadata": {"labels": kyma.labels, "annotations": kyma.annotations}});
        let answer = self.change(&self.kymas(Some(&kyma.name))?, &labels, WriteMode::Apply).await?;
        if answer.status.is_success() { answer.json("a Kyma resource") } else { Err(error(&answer)) }
    }

    async fn label(
        &self,
        kind: LabelledKind,
        name: &str,
        labels: &BTreeMap<String, Option<String>>,
    ) -> Result<bool, DriverError> {
        let url = match kind {
            LabelledKind::Kyma => self.kymas(Some(name))?,
            LabelledKind::GardenerCluster => self.url(GROUP, "v1", "gardenerclusters", Some(name))?,
        };
        let body = json!({"metadata": {"labels": labels}});
        let answer = self.change(&url, &body, WriteMode::Apply).await?;
        match answer.status {
            status if status.is_success() => Ok(true),
            // Also where this kind is not installed at all: then no runtime has one.
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(error(&answer)),
        }
    }

    async fn kyma(&self, name: &str) -> Result<Option<ObservedKyma>, DriverError> {
        self.read(self.kymas(Some(name))?).await
    }

    async fn delete_kyma(&self, name: &str) -> Result<Option<ObservedKyma>, DriverError> {
        let answer = self.api.call(Method::DELETE, self.kymas(Some(name))?, None).await?;
        match answer.status {
            status if status.is_success() && ApiStatus::of(&answer).kind == "Status" => Ok(None),
            status if status.is_success() => answer.json("a Kyma resource").map(Some),
            StatusCode::NOT_FOUND if ApiStatus::of(&answer).is_absent() => Ok(None),
            _ => Err(error(&answer)),
        }
    }
}

/// No `Debug`, because it holds a kubeconfig.
#[derive(Deserialize)]
struct SecretObject {
    data: Option<SecretData>,
}

#[derive(Deserialize)]
struct SecretData {
    config: Option<String>,
}

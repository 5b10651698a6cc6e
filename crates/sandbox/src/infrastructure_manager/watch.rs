//! Watches: one line for each change, until the time is over.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::InfrastructureManager;
use super::endpoint::ApiRequest;
use super::failure::{ApiFailure, FieldCause};
use super::faults::ManagerFaultKind;
use super::kinds::KubeKind;
use super::selector::Selector;
use super::store::StoredEvent;

/// What a server chooses without `timeoutSeconds`.
const SECONDS_DEFAULT: u64 = 1800;
const SECONDS_MAX: u64 = 3600;
/// How long before its end a watch gets a last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_millis(1500);
const LINES_MAX: usize = 500;
/// The clock of the sandbox can be turned at any moment, which no timer notices.
const PATIENCE: Duration = Duration::from_millis(100);
/// As long as a server that was told to stop keeps its watches open.
const SILENCE: Duration = Duration::from_secs(60);

struct OpenWatch {
    manager: Arc<InfrastructureManager>,
    kind: KubeKind,
    namespace: String,
    selector: Selector,
    /// Everything up to this version was sent.
    version: u64,
    first: VecDeque<String>,
    ends_at: Instant,
    /// None without `allowWatchBookmarks`.
    bookmark_at: Option<Instant>,
    is_over: bool,
}

pub(super) fn watch(
    manager: &Arc<InfrastructureManager>,
    request: &ApiRequest<'_>,
    kind: KubeKind,
    namespace: &str,
) -> Result<Response, ApiFailure> {
    if !request.option("sendInitialEvents").is_empty() {
        let field = "sendInitialEvents";
        let message =
            format!("Forbidden: {field} is forbidden for watch unless the WatchList feature gate is enabled");
        let cause = FieldCause { field: field.into(), reason: "FieldValueForbidden", message };
        return Err(ApiFailure::invalid_as("ListOptions", "meta.k8s.io", "", &[cause]));
    }
    let selector = Selector::parse(request.option("labelSelector"), request.option("fieldSelector"))?;
    let seconds = request.option("timeoutSeconds").parse().unwrap_or(SECONDS_DEFAULT).clamp(1, SECONDS_MAX);
    let faults = &manager.outside.faults;
    if faults.next_for(&[ManagerFaultKind::WatchSilent], None, &Value::Null).is_some() {
        return Ok(lines(silence(Arc::clone(manager))));
    }
    let from: u64 = request.option("resourceVersion").parse().unwrap_or(0);
    let state = manager.settled();
    let oldest = state.store.oldest();
    let is_expired = faults.next_for(&[ManagerFaultKind::WatchExpired], None, &Value::Null).is_some();
    let (mut first, mut version) = (VecDeque::new(), from);
    let mut is_over = false;
    if is_expired || (from > 0 && from < oldest) {
        first.push_back(line("ERROR", &ApiFailure::too_old(from, oldest)));
        is_over = true;
    } else if from == 0 {
        version = state.store.version();
        let existing = state.store.list(kind, namespace, None).map(|(_, object)| object);
        first.extend(existing.filter(|object| selector.matches(object)).map(|object| line("ADDED", object)));
    }
    let bookmarks = Duration::from_millis(state.controller.delays.bookmark_ms);
    drop(state);
    let now = Instant::now();
    let ends_at = now + Duration::from_secs(seconds);
    let wants_bookmarks = request.option("allowWatchBookmarks") == "true";
    let bookmark_at = wants_bookmarks.then(|| next_bookmark(now, bookmarks, ends_at));
    let (manager, namespace) = (Arc::clone(manager), namespace.to_owned());
    let open =
        OpenWatch { manager, kind, namespace, selector, version, first, ends_at, bookmark_at, is_over };
    Ok(lines(Body::from_stream(stream::unfold(open, |mut open| async {
        let text = open.next().await?;
        Some((Ok::<_, Infallible>(text), open))
    }))))
}

fn next_bookmark(now: Instant, every: Duration, ends_at: Instant) -> Instant {
    let last = ends_at.checked_sub(LAST_BOOKMARK).unwrap_or(ends_at);
    if last > now { (now + every).min(last) } else { now + every }
}

fn lines(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Open, and mute.
fn silence(manager: Arc<InfrastructureManager>) -> Body {
    Body::from_stream(stream::once(async move {
        let _ = tokio::time::timeout(SILENCE, manager.stopped.cancelled()).await;
        Ok::<_, Infallible>(String::new())
    }))
}

fn line(kind: &str, object: &Value) -> String {
    let mut text = json!({"type": kind, "object": object}).to_string();
    text.push('\n');
    text
}

impl OpenWatch {
    /// The next lines, or None at the end.
    async fn next(&mut self) -> Option<String> {
        if let Some(text) = self.first.pop_front() {
            return Some(text);
        }
        if self.is_over {
            return None;
        }
        let mut changes = self.manager.changes.subscribe();
        loop {
            let text = self.pending();
            if !text.is_empty() {
                return Some(text);
            }
            let now = Instant::now();
            if now >= self.ends_at || self.manager.stopped.is_cancelled() {
                return None;
            }
            if self.bookmark_at.is_some_and(|at| now >= at) {
                return Some(self.bookmark(now));
            }
            let mut until = self.ends_at.min(now + PATIENCE);
            if let Some(at) = self.bookmark_at {
                until = until.min(at);
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = sleep_until(until) => {}
                () = self.manager.stopped.cancelled() => {}
            }
        }
    }

    fn pending(&mut self) -> String {
        let mut state = self.manager.settled();
        let mut text = String::new();
        let events: Vec<StoredEvent> = state.store.events_after(self.version, LINES_MAX).cloned().collect();
        for event in events {
            self.version = event.version;
            let is_meant = event.key.kind == self.kind
                && event.key.namespace == self.namespace
                && self.selector.matches(&event.object);
            if is_meant {
                text.push_str(&line(event.kind, &event.object));
                state.controller.seen(&event.key);
            }
        }
        text
    }

    fn bookmark(&mut self, now: Instant) -> String {
        let state = self.manager.settled();
        let every = Duration::from_millis(state.controller.delays.bookmark_ms);
        drop(state);
        self.bookmark_at = Some(next_bookmark(now, every, self.ends_at));
        let object = json!({
            "kind": self.kind.kind(), "apiVersion": self.kind.api_version(),
            "metadata": {"resourceVersion": self.version.to_string(), "creationTimestamp": null},
        });
        line("BOOKMARK", &object)
    }
}

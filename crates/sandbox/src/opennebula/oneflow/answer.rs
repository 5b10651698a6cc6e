//! How OneFlow answers: JSON that is labelled as HTML, and errors in plain text.

use axum::body::Body as Content;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::opennebula::call_error::{AUTHENTICATION, AUTHORIZATION, NO_EXISTS, NebulaError};
use crate::opennebula::documents::Document;
use crate::opennebula::release::Release;
use crate::opennebula::users::Permissions;

const LABEL: &str = "text/html;charset=utf-8";
const CRASH_LABEL: &str = "text/html";
const CRASH_BYTES_MIN: usize = 100 * 1024;

#[derive(Debug)]
pub(super) enum FlowResponse {
    Text(StatusCode, String),
    /// Nothing to say.
    Done,
    /// The page of a crash, which has another label.
    Crash(String),
}

impl FlowResponse {
    pub(super) fn refused(why: impl Into<String>) -> Self {
        FlowResponse::Text(StatusCode::INTERNAL_SERVER_ERROR, why.into())
    }

    pub(super) fn invalid(why: impl Into<String>) -> Self {
        FlowResponse::Text(StatusCode::BAD_REQUEST, why.into())
    }

    /// An error that OneFlow did not expect: a page for people, and from 7.4 on JSON.
    pub(super) fn crash(release: Release, class: &str, reason: &str, uri: &Uri) -> Self {
        match release {
            Release::Six => FlowResponse::Crash(format!("{class} at {}", uri.path())),
            Release::Seven => {
                let said = json!({"message": "Internal server error", "reason": reason});
                FlowResponse::refused(said.to_string())
            }
        }
    }

    pub(super) fn unauthenticated(why: &str) -> Self {
        FlowResponse::Text(StatusCode::UNAUTHORIZED, why.to_owned())
    }

    /// OneFlow mixes the two up: who is not authorized gets 401, and who is not authenticated 403.
    pub(super) fn from_oned(call_error: &NebulaError, method: &str) -> Self {
        let status = match call_error.errno {
            AUTHORIZATION => StatusCode::UNAUTHORIZED,
            AUTHENTICATION => StatusCode::FORBIDDEN,
            NO_EXISTS => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        FlowResponse::Text(status, call_error.text(method))
    }

    /// A document of another type is not found either, but in other words.
    pub(super) fn of_another_type(id: i32) -> Self {
        FlowResponse::refused(format!("[DocumentInfo] Error getting document [{id}]."))
    }

    pub(super) fn document(status: StatusCode, document: &Document) -> Self {
        match DocumentView::of(document) {
            Some(view) => FlowResponse::json(status, &json_of("DOCUMENT", &view)),
            None => FlowResponse::of_another_type(document.id),
        }
    }

    pub(super) fn pool<'a>(documents: impl Iterator<Item = &'a Document>) -> Self {
        let views: Vec<DocumentView> = documents.filter_map(DocumentView::of).collect();
        if views.is_empty() {
            return FlowResponse::json(StatusCode::OK, &json!({"DOCUMENT_POOL": {}}));
        }
        FlowResponse::json(StatusCode::OK, &json_of("DOCUMENT_POOL", &json_of("DOCUMENT", &views)))
    }

    fn json(status: StatusCode, value: &impl Serialize) -> Self {
        let text = serde_json::to_string_pretty(value).expect("a document is plain text and JSON");
        FlowResponse::Text(status, text)
    }
}

impl IntoResponse for FlowResponse {
    fn into_response(self) -> Response {
        let (status, label, text) = match self {
            FlowResponse::Text(status, text) => (status, Some(LABEL), text),
            FlowResponse::Done => (StatusCode::NO_CONTENT, None, String::new()),
            FlowResponse::Crash(title) => {
                let page = crash_page(&title);
                (StatusCode::INTERNAL_SERVER_ERROR, Some(CRASH_LABEL), page)
            }
        };
        let mut response = Response::new(Content::from(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        if let Some(label) = label {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(label));
        }
        if label == Some(LABEL) {
            headers.insert("x-xss-protection", HeaderValue::from_static("1; mode=block"));
            headers.insert("x-frame-options", HeaderValue::from_static("SAMEORIGIN"));
        }
        if label != Some(CRASH_LABEL) {
            headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        }
        response
    }
}

/// The page shows the whole backtrace with its source, the request and the environment.
fn crash_page(title: &str) -> String {
    let line = format!("<div class=\"context\"><code>{title}: in a frame of the backtrace</code></div>\n");
    let frames = line.repeat(CRASH_BYTES_MIN.div_ceil(line.len()));
    format!("<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>\n{frames}</body></html>\n")
}

/// An object with one member.
struct Member<'a, T>(&'static str, &'a T);

fn json_of<'a, T: Serialize>(name: &'static str, value: &'a T) -> Member<'a, T> {
    Member(name, value)
}

impl<T: Serialize> Serialize for Member<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, self.1)?;
        map.end()
    }
}

/// Numbers outside of the body are texts.
#[derive(Serialize)]
#[serde(rename_all = "UPPERCASE")]
struct DocumentView<'a> {
    id: String,
    uid: String,
    gid: String,
    uname: &'a str,
    gname: &'a str,
    name: &'a str,
    #[serde(rename = "TYPE")]
    kind: String,
    #[serde(serialize_with = "bits")]
    permissions: Permissions,
    template: TemplateView,
}

#[derive(Serialize)]
#[serde(rename_all = "UPPERCASE")]
struct TemplateView {
    body: Box<RawValue>,
}

impl<'a> DocumentView<'a> {
    /// None where the body is not JSON.
    fn of(document: &'a Document) -> Option<Self> {
        let body = RawValue::from_string(document.body().to_owned()).ok()?;
        Some(DocumentView {
            id: document.id.to_string(),
            uid: document.owner.uid.to_string(),
            gid: document.owner.gid.to_string(),
            uname: &document.owner.name,
            gname: &document.owner.group,
            name: &document.name,
            kind: document.kind.to_string(),
            permissions: document.permissions,
            template: TemplateView { body },
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn bits<S: Serializer>(permissions: &Permissions, serializer: S) -> Result<S::Ok, S::Error> {
    let bits = permissions.bits();
    let mut map = serializer.serialize_map(Some(bits.len()))?;
    for (name, is_set) in bits {
        map.serialize_entry(name, if is_set { "1" } else { "0" })?;
    }
    map.end()
}

//! Who calls a hosted service, as its identity header says, and how such a service complains.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const HEADER: &str = "x-rh-identity";

#[derive(Debug, Clone)]
pub(crate) struct IdentityHeader {
    pub(crate) org: String,
    /// None where a program calls for an organisation.
    pub(crate) user: Option<String>,
    /// Whether it may have RHEL. Where the header does not say, an account number stands for a subscription.
    pub(crate) is_entitled: bool,
}

impl IdentityHeader {
    fn of(parts: &Parts) -> Result<Self, &'static str> {
        let value = parts.headers.get(HEADER).ok_or("the header x-rh-identity is missing")?;
        let decoded = STANDARD.decode(value).map_err(|_| "the header x-rh-identity is not base64")?;
        let document: Value =
            serde_json::from_slice(&decoded).map_err(|_| "the header x-rh-identity is not JSON")?;
        let identity = &document["identity"];
        let text =
            |pointer| identity.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        if text("/type").is_none() {
            return Err("the header x-rh-identity has no type");
        }
        let org = text("/org_id").or_else(|| text("/internal/org_id"));
        let org = org.ok_or("the header x-rh-identity has no org_id")?;
        let user = text("/user/username").or_else(|| text("/service_account/username"));
        let has_account = text("/account_number").is_some();
        let is_entitled = match &document["entitlements"]["rhel"] {
            Value::Null => has_account,
            rhel => rhel["is_entitled"] == true,
        };
        Ok(IdentityHeader { org: org.to_owned(), user: user.map(str::to_owned), is_entitled })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IdentityHeader {
    type Rejection = IdentityError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, IdentityError> {
        IdentityHeader::of(parts).map_err(|why| IdentityError::new(StatusCode::BAD_REQUEST, why))
    }
}

/// A call that is not carried out, in the words of a hosted service: `{"errors": […]}`.
#[derive(Debug)]
pub(crate) struct IdentityError {
    pub(crate) status: StatusCode,
    pub(crate) detail: String,
}

impl IdentityError {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        IdentityError { status, detail: detail.into() }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        IdentityError::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        IdentityError::new(StatusCode::NOT_FOUND, detail)
    }
}

impl IntoResponse for IdentityError {
    fn into_response(self) -> Response {
        let code = self.status.as_u16().to_string();
        let body = json!({"errors": [{"title": code, "status": code, "detail": self.detail}]});
        (self.status, Json(body)).into_response()
    }
}

/// `limit` and `offset` as the lists of hosted services take them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) limit: usize,
    pub(crate) offset: usize,
}

impl Window {
    /// Reads what was given as text, so that the complaint has the right shape.
    pub(crate) fn read(
        limit: Option<&str>,
        offset: Option<&str>,
        most: usize,
        default: usize,
    ) -> Result<Self, IdentityError> {
        let number = |name: &str, text: Option<&str>, default: usize| match text.map(str::parse::<usize>) {
            None => Ok(default),
            Some(Ok(number)) => Ok(number),
            Some(Err(_)) => Err(IdentityError::bad_request(format!("{name} must be a number"))),
        };
        let (limit, offset) = (number("limit", limit, default)?, number("offset", offset, 0)?);
        if !(1..=most).contains(&limit) {
            return Err(IdentityError::bad_request(format!("limit must be 1 to {most}")));
        }
        Ok(Window { limit, offset })
    }

    /// The part of a list that was asked for.
    pub(crate) fn of<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.offset).take(self.limit).collect()
    }
}

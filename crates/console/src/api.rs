//! Calls the API on behalf of the signed-in user.

use api::Error;
use api::client::ErrorFormat;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use server::Principal;

use crate::page_error::PageError;
use crate::pages::ProductApi;
use crate::shared::ConsoleState;

/// More than the largest answer of any API.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Calls the APIs of this server on behalf of a user, in the same process.
#[derive(Clone)]
pub struct ApiClient {
    shared: ConsoleState,
    who: Principal,
}

/// A good answer.
#[derive(Debug)]
pub struct ApiResponse {
    body: Vec<u8>,
}

impl ApiResponse {
    /// Reads the body as this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, PageError> {
        let body: &[u8] = if self.body.is_empty() { b"null" } else { &self.body };
        serde_json::from_slice(body).map_err(|error| {
            let detail = format!("The API gave an answer that the console cannot read: {error}.");
            PageError::new(StatusCode::BAD_GATEWAY, "Unreadable answer", detail)
        })
    }

    /// The body as a text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl ApiClient {
    pub(crate) fn new(shared: ConsoleState, who: Principal) -> ApiClient {
        ApiClient { shared, who }
    }

    /// Calls `GET` and reads the answer.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, PageError> {
        self.send(Method::GET, path, &[], None::<&()>).await?.json()
    }

    pub async fn post(&self, path: &str, body: &impl Serialize) -> Result<ApiResponse, PageError> {
        self.send(Method::POST, path, &[], Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &impl Serialize) -> Result<ApiResponse, PageError> {
        self.send(Method::PUT, path, &[], Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: &impl Serialize) -> Result<ApiResponse, PageError> {
        self.send(Method::PATCH, path, &[], Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Result<ApiResponse, PageError> {
        self.send(Method::DELETE, path, &[], None::<&()>).await
    }

    /// Anything else. What is not a success is an error.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Option<&impl Serialize>,
    ) -> Result<ApiResponse, PageError> {
        let broken = |what: String| PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", what);
        let content = body.map(serde_json::to_vec).transpose().map_err(|error| broken(error.to_string()))?;
        let mut request = Request::new(content.map_or_else(Body::empty, Body::from));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().map_err(|_| broken("The address is not one.".to_owned()))?;
        let json = body.map(|_| (CONTENT_TYPE, HeaderValue::from_static("application/json")));
        let apis = &self.shared.pages.apis;
        let usual = apis.iter().filter(|api| path.starts_with(api.base)).flat_map(|api| &api.headers);
        request.headers_mut().extend(json.into_iter().chain(usual.chain(headers).cloned()));
        let (parts, content) = self.shared.inside.call(&self.who, request).await.into_parts();
        let body = to_bytes(content, ANSWER_BYTES_MAX).await.map_err(|error| broken(error.to_string()))?;
        if parts.status.is_success() || parts.status == StatusCode::NOT_MODIFIED {
            return Ok(ApiResponse { body: body.into() });
        }
        let id = parts.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let (format, error) = read_error(apis, path, parts.status, &body);
        Err(PageError::read(parts.status, format, error, id))
    }
}

/// A problem document, as a path that is switched off has it too, else the format of the API at this path.
fn read_error(
    apis: &[ProductApi],
    path: &str,
    status: StatusCode,
    body: &[u8],
) -> (ErrorFormat, Option<Error>) {
    let own = apis.iter().filter(|api| path.starts_with(api.base)).map(|api| api.errors);
    let mut possible = [ErrorFormat::Problem].into_iter().chain(own);
    let read = possible.find_map(|format| Some((format, Some(format.read(status, body)?))));
    read.unwrap_or((ErrorFormat::Problem, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_in_the_format_of_its_path_or_as_a_problem() {
        let problem = r#"{"type": "/errors/x", "title": "T", "status": 404, "detail": "d", "code": "x"}"#;
        let cognit = r#"{"error": "e", "message": "m"}"#;
        let api = |base, errors| ProductApi { title: "", base, errors, headers: Vec::new() };
        let apis = [api("/v2/", ErrorFormat::Osb), api("/serverless-runtimes", ErrorFormat::Cognit)];
        for (path, body, expected) in [
            ("/operations", problem, Some(ErrorFormat::Problem)),
            ("/v2/catalog", problem, Some(ErrorFormat::Problem)),
            ("/v2/catalog", "{}", Some(ErrorFormat::Osb)),
            ("/serverless-runtimes/7", cognit, Some(ErrorFormat::Cognit)),
            ("/operations", cognit, None),
            ("/operations", "<html>", None),
        ] {
            let (format, error) = read_error(&apis, path, StatusCode::NOT_FOUND, body.as_bytes());
            assert_eq!(error.map(|_| format), expected, "{path} {body}");
        }
    }
}

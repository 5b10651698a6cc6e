//! One answer, read whole and within bounds.

use http::header::HeaderMap;
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;

use super::{CallError, Client};

/// The largest list of any API fits many times over.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub struct ServerResponse<'a> {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Vec<u8>,
    client: &'a Client,
}

impl<'a> ServerResponse<'a> {
    pub(super) async fn read(
        client: &'a Client,
        mut response: Response,
    ) -> Result<ServerResponse<'a>, CallError> {
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| client.lost(&error))? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(client.unexpected("an endless answer"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(ServerResponse { status, headers, body, client })
    }

    /// The answer itself, if its status is a good one.
    pub(super) fn good(self) -> Result<ServerResponse<'a>, CallError> {
        if self.status.is_success() || self.status == StatusCode::NOT_MODIFIED {
            return Ok(self);
        }
        Err(self.client.refused(self.status, &self.body))
    }

    /// The body; one without a byte counts as an empty object. What the parser says is left out, because it may
    /// repeat a password.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, CallError> {
        let body: &[u8] = if self.body.trim_ascii().is_empty() { b"{}" } else { &self.body };
        serde_json::from_slice(body).map_err(|error| {
            let (status, line, column) = (self.status, error.line(), error.column());
            self.client.unexpected(format!(
                "status {status} with an answer that cannot be read (line {line}, column {column})"
            ))
        })
    }
}

//! Bodies: so many bytes, whatever type the caller says they have. What is in them is
//! judged by the workflows.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};

use super::{ServerlessState, journal};
use server::http::{Failure, body};

/// What a request sent.
pub(crate) struct RequestBody(pub(crate) Bytes);

impl FromRequest<ServerlessState> for RequestBody {
    type Rejection = Failure;

    async fn from_request(request: Request, shared: &ServerlessState) -> Result<RequestBody, Failure> {
        let bytes = body::read(request, shared.api_parts.body_limit_bytes).await?;
        journal::sent(&bytes);
        Ok(RequestBody(bytes))
    }
}

//! Bodies: so many bytes, whatever type the caller says they have. What is in them is
//! judged by the workflows.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};

use super::{Desk, journal};
use server::http::{Failure, body};

/// What a request sent.
pub(crate) struct Sent(pub(crate) Bytes);

impl FromRequest<Desk> for Sent {
    type Rejection = Failure;

    async fn from_request(request: Request, desk: &Desk) -> Result<Sent, Failure> {
        let bytes = body::read(request, desk.door.body_limit_bytes).await?;
        journal::sent(&bytes);
        Ok(Sent(bytes))
    }
}

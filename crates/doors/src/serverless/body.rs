//! Bodies: so many bytes, whatever type the caller says they have. What is in them is
//! judged by the workflows.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};

use super::Desk;
use super::answer::Refused;
use super::journal;
use crate::slow_body::is_slow_body;

/// What a request sent.
pub(super) struct Sent(pub(super) Bytes);

impl FromRequest<Desk> for Sent {
    type Rejection = Refused;

    async fn from_request(request: Request, desk: &Desk) -> Result<Sent, Refused> {
        let bytes = Bytes::from_request(request, desk).await.map_err(|rejection| match rejection {
            BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
                Refused::too_large(desk.door.body_limit_bytes)
            }
            rejection if is_slow_body(&rejection) => Refused::slow_body(),
            _ => Refused::cut_off(),
        })?;
        journal::sent(&bytes);
        Ok(Sent(bytes))
    }
}

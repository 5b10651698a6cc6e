//! Bodies: so many bytes within so much time, whatever type the caller says they have. What is in them is
//! judged by the workflows.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use tokio::time::timeout;

use super::Desk;
use super::answer::Refused;
use super::journal;

/// What a request sent.
pub(super) struct Sent(pub(super) Bytes);

impl FromRequest<Desk> for Sent {
    type Rejection = Refused;

    async fn from_request(request: Request, desk: &Desk) -> Result<Sent, Refused> {
        let reading = timeout(desk.door.body_wait, Bytes::from_request(request, desk));
        let bytes =
            reading.await.map_err(|_| Refused::slow_body())?.map_err(|rejection| match rejection {
                BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
                    Refused::too_large(desk.door.body_limit_bytes)
                }
                _ => Refused::cut_off(),
            })?;
        journal::sent(&bytes);
        Ok(Sent(bytes))
    }
}

//! Hands the requests of one connection to the router, with a deadline for their bodies.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request};
use axum::http;
use axum::http::header::HOST;
use axum::http::{StatusCode, Version};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures_util::future::BoxFuture;
use http_body::{Frame, SizeHint};
use serde_json::json;
use server::body_within;
use tower::{Service, ServiceExt};

use super::connections::State;
use crate::config::ClientCertificates;

#[derive(Clone)]
pub(super) struct Requests {
    router: Router,
    peer: SocketAddr,
    state: Arc<State>,
    body_limit: Duration,
    /// The broker is closed to this client, which has shown no certificate.
    is_broker_closed: bool,
}

impl Requests {
    pub(super) fn new(router: Router, peer: SocketAddr, state: Arc<State>, body_limit: Duration) -> Requests {
        Requests { router, peer, state, body_limit, is_broker_closed: false }
    }

    pub(super) fn over_tls(mut self, needed: ClientCertificates, has_certificate: bool) -> Requests {
        self.is_broker_closed = needed == ClientCertificates::Broker && !has_certificate;
        self
    }

    async fn answer(self, mut request: Request) -> Response {
        if lacks_host(&request) {
            let body = json!({"description": "a request of HTTP/1.1 needs one header Host; add it"});
            return (StatusCode::BAD_REQUEST, Json(body)).into_response();
        }
        if self.is_broker_closed && is_of_broker(request.uri().path()) {
            let body = json!({"description": "the service broker needs a client certificate"});
            return (StatusCode::FORBIDDEN, Json(body)).into_response();
        }
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let Requests { router, state, body_limit, .. } = self;
        if request.body().is_end_stream() {
            state.begin_work();
        } else {
            state.begin_body();
            let ends = Arc::clone(&state);
            request = request.map(|body| {
                let body = body_within(body_limit, body);
                Body::new(Tracked { body, at_end: Some(Box::new(move || ends.end_body())) })
            });
        }
        let Ok(response) = router.oneshot(request).await;
        response.map(|body| Body::new(Tracked { body, at_end: Some(Box::new(move || state.end_response())) }))
    }
}

/// RFC 9112, section 3.2. Newer versions have the host elsewhere, and older ones may leave it out.
fn lacks_host(request: &Request) -> bool {
    request.version() == Version::HTTP_11 && request.headers().get_all(HOST).iter().count() != 1
}

/// `/v2`, and the same below `/oauth` and `/oauth/{region}`.
fn is_of_broker(path: &str) -> bool {
    matches!(path.split('/').nth(1), Some("v2" | "oauth"))
}

impl<B> Service<http::Request<B>> for Requests
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let requests = self.clone();
        Box::pin(async move { Ok(requests.answer(request.map(Body::new)).await) })
    }
}

/// A body that tells when it has ended or is dropped.
struct Tracked {
    body: Body,
    at_end: Option<Box<dyn FnOnce() + Send>>,
}

impl Tracked {
    fn end(&mut self) {
        if let Some(at_end) = self.at_end.take() {
            at_end();
        }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.end();
    }
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) || self.body.is_end_stream() {
            self.end();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

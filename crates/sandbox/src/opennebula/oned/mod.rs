//! oned: the core of OpenNebula over XML-RPC, on one path of a port of its own.

mod carry_out;
mod command;
mod on_documents;
mod on_machines;
mod pool;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use tracing::debug;

use self::carry_out::OnedSession;
use self::command::{Command, OnDocuments};
use super::call_error::{AUTHENTICATION, INTERNAL, NebulaError};
use super::documents::SERVICE;
use super::faults::NebulaFault;
use super::xmlrpc::{XmlRpcCall, XmlRpcFault, error_to_xml};
use super::{OpenNebula, connections};
use crate::faults::{self, Faults, Gate};
use crate::graphql::GRAPHQL_BYTES_MAX;
use crate::ledger::LedgerSystem;

const PATH: &str = "/RPC2";
const SERVER: HeaderValue = HeaderValue::from_static("Xmlrpc-c_Abyss/1.33.14");

pub(super) fn routes(one: &OpenNebula, faults: &Arc<Faults>) -> Router {
    let gate = Gate { system: LedgerSystem::Oned, faults: Arc::clone(faults) };
    Router::new()
        .fallback(answer)
        .layer(middleware::from_fn_with_state(gate, faults::hit))
        .layer(middleware::from_fn(connections::count_call))
        .layer(DefaultBodyLimit::max(GRAPHQL_BYTES_MAX))
        .with_state(one.clone())
}

async fn answer(
    State(one): State<OpenNebula>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut response = if method != Method::POST {
        page(StatusCode::METHOD_NOT_ALLOWED, "POST is the only HTTP method this server understands")
    } else if uri.path() != PATH {
        let why = format!(
            "This XML-RPC For C/C++ Abyss XML-RPC server responds to only one URI path.  I don't know what URI path \
             that is, but it's not the one you requested: '{}'.  (Typically, it's '/RPC2')",
            uri.path()
        );
        page(StatusCode::NOT_FOUND, &why)
    } else if !headers.contains_key(header::CONTENT_LENGTH) {
        let why = "You must send a content-length HTTP header in an XML-RPC call.";
        page(StatusCode::LENGTH_REQUIRED, why)
    } else {
        let text = String::from_utf8_lossy(&body);
        let answer = one.call(&text).unwrap_or_else(|fault| fault.to_xml());
        ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], answer).into_response()
    };
    response.headers_mut().insert(header::SERVER, SERVER);
    response
}

fn page(status: StatusCode, why: &str) -> Response {
    let number = status.as_u16();
    let head =
        format!("<HTML><HEAD><TITLE>Error {number}</TITLE></HEAD><BODY><H1>Error {number}</H1><P>{why}</P>");
    let foot = "<p><HR><b><i><a href=\"http://xmlrpc-c.sourceforge.net\">ABYSS Web Server for XML-RPC For C/C++\
                </a></i></b> version 1.33.14<br></p></BODY></HTML>";
    let headers = [(header::CONTENT_TYPE, "text/html"), (header::CONNECTION, "close")];
    (status, headers, head + foot).into_response()
}

impl OpenNebula {
    /// One XML-RPC call and its answer, which is a refusal as often as not.
    fn call(&self, body: &str) -> Result<String, XmlRpcFault> {
        let XmlRpcCall { method, mut params } = XmlRpcCall::read(body)?;
        let session = params.text();
        let command = Command::read(&method, params.of_release(self.nebula.nebula_state().release));
        // An unknown method is told before anything else, also where there is not even a session.
        let (command, session) = match (command, session) {
            (Err(fault), _) if fault == XmlRpcFault::unknown_method(&method) => return Err(fault),
            (command, session) => (command?, session?),
        };
        let replied = self.carry_out(&method, &session, command);
        Ok(match replied {
            Ok(reply) => reply,
            Err(call_error) => {
                debug!(method, errno = call_error.errno, "oned call refused");
                error_to_xml(&call_error, &method)
            }
        })
    }

    fn carry_out(&self, method: &str, session: &str, command: Command) -> Result<String, NebulaError> {
        if self.nebula.faults.hits(NebulaFault::Election, method) {
            return Err(NebulaError::new(INTERNAL, "Cannot process request, oned cluster in election mode"));
        }
        match &command {
            Command::Documents(OnDocuments::Info(id)) => self.flow.settle_for_oned(|service| service == *id),
            Command::Documents(OnDocuments::Pool { kind: SERVICE, .. }) => {
                self.flow.settle_for_oned(|_| true);
            }
            _ => self.flow.settle(),
        }
        let mut nebula_state = self.nebula.nebula_state();
        nebula_state.requests = nebula_state.requests.wrapping_add(1) & i32::MAX;
        let now = self.nebula.now();
        let caller = session
            .split_once(':')
            .and_then(|(user, secret)| nebula_state.users.authenticate(user, secret, now))
            .ok_or_else(|| {
                NebulaError::new(AUTHENTICATION, "User couldn't be authenticated, aborting call.")
            })?;
        Ok(OnedSession { nebula_state: &mut nebula_state, caller, now }.carry_out(command)?.to_xml())
    }
}

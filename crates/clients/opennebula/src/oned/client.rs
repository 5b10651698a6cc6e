//! One call to `oned`.

use engine::secret::ExposeSecret;
use http_client::{DriverError, ExternalSystem, shorten};
use reqwest::header::CONTENT_TYPE;
use reqwest::{StatusCode, Url};
use tracing::{debug, info};
use xml::Element;

use super::super::connections::{Clients, Connections, RawReply, Repeat};
use super::super::xmlrpc::{CallOutcome, Param, XmlRpcValue, decode, encode};
use super::super::{LIMITS, NebulaCredentials, NebulaError, NebulaErrorKind};
use super::ONED;

/// The server knows no such method.
const UNKNOWN_METHOD: i64 = -506;

pub(in super::super) struct Oned {
    url: Url,
    connections: Connections,
}

/// A method, what it does in words for the log with `#` for an id, and whether it may be repeated.
#[derive(Clone, Copy)]
pub(super) struct Method {
    pub(super) name: &'static str,
    pub(super) does: &'static str,
    pub(super) repeat: Repeat,
}

impl Method {
    pub(super) const fn read(name: &'static str, does: &'static str) -> Method {
        Method { name, does, repeat: Repeat::Once }
    }

    pub(super) const fn write(name: &'static str, does: &'static str) -> Method {
        Method { name, does, repeat: Repeat::Never }
    }
}

impl Oned {
    pub(in super::super) fn new(url: &str, clients: Clients) -> Result<Oned, DriverError> {
        let system = ExternalSystem(ONED);
        Ok(Oned { url: system.url(url)?, connections: Connections::new(system, clients) })
    }

    /// `None` says that this server does not know the method.
    pub(super) async fn call_if_known(
        &self,
        who: &NebulaCredentials,
        method: Method,
        params: &[Param<'_>],
    ) -> Result<Option<XmlRpcValue>, NebulaError> {
        info!(target: "opennebula", "oned: {}, for {}", sentence(method, params), who.user);
        debug!(target: "opennebula", "oned: {}{params:?}", method.name);
        let outcome = self.outcome(who, method, params).await;
        match &outcome {
            Ok(CallOutcome::Done(_)) => debug!(target: "opennebula", "oned: {} is done", method.name),
            Ok(CallOutcome::Refused { code, message } | CallOutcome::Fault { code, message }) => {
                info!(target: "opennebula", "oned: {} was refused, {code}: {}", method.name, shorten(message));
            }
            Err(error) => info!(target: "opennebula", "oned: {} failed: {error}", method.name),
        }
        match outcome? {
            CallOutcome::Done(value) => Ok(Some(value)),
            CallOutcome::Refused { code, message } => Err(NebulaError::told(ONED, code, &message)),
            CallOutcome::Fault { code: UNKNOWN_METHOD, .. } => Ok(None),
            CallOutcome::Fault { code, message } => {
                let cause = format!("{} ended with fault {code}: {}", method.name, shorten(&message));
                Err(NebulaError::broken(ONED, cause))
            }
        }
    }

    pub(super) async fn call(
        &self,
        who: &NebulaCredentials,
        method: Method,
        params: &[Param<'_>],
    ) -> Result<XmlRpcValue, NebulaError> {
        let value = self.call_if_known(who, method, params).await?;
        value.ok_or_else(|| NebulaError::broken(ONED, format!("it does not know {}", method.name)))
    }

    /// A call that answers with the XML of an object or of a pool.
    pub(super) async fn element(
        &self,
        who: &NebulaCredentials,
        method: Method,
        params: &[Param<'_>],
    ) -> Result<Element, NebulaError> {
        object(method, self.call(who, method, params).await?)
    }

    /// The same, where the server may be too old.
    pub(super) async fn element_if_known(
        &self,
        who: &NebulaCredentials,
        method: Method,
        params: &[Param<'_>],
    ) -> Result<Option<Element>, NebulaError> {
        let value = self.call_if_known(who, method, params).await?;
        value.map(|value| object(method, value)).transpose()
    }

    async fn outcome(
        &self,
        who: &NebulaCredentials,
        method: Method,
        params: &[Param<'_>],
    ) -> Result<CallOutcome, NebulaError> {
        let session = who.session();
        let body = encode(method.name, session.expose_secret(), params).map_err(|why| {
            let message = format!("a parameter of {} cannot be written: {why}", method.name);
            NebulaError::refused(ONED, NebulaErrorKind::Api, &message)
        })?;
        let ask = |client: &reqwest::Client| {
            client.post(self.url.clone()).header(CONTENT_TYPE, "text/xml; charset=utf-8").body(body.clone())
        };
        let RawReply { status, body } = self.connections.ask(method.repeat, ask).await?;
        if status != StatusCode::OK {
            return Err(NebulaError::broken(ONED, format!("it answered {} with {status}", method.name)));
        }
        let not_right = |why: String| {
            NebulaError::broken(ONED, format!("its answer to {} is not right: {why}", method.name))
        };
        let text = std::str::from_utf8(&body).map_err(|error| not_right(error.to_string()))?;
        decode(text).map_err(|why| not_right(why.to_string()))
    }
}

fn object(method: Method, value: XmlRpcValue) -> Result<Element, NebulaError> {
    let XmlRpcValue::Text(text) = value else {
        let cause = format!("{} did not answer with an object", method.name);
        return Err(NebulaError::broken(ONED, cause));
    };
    xml::read(&text, LIMITS).map_err(|why| {
        NebulaError::broken(ONED, format!("the object of {} is not right: {why}", method.name))
    })
}

/// What the method does, with the first id among the parameters where the words have a place for it.
fn sentence(method: Method, params: &[Param<'_>]) -> String {
    let id = params.iter().find_map(|param| match param {
        Param::Integer(id) if *id >= 0 => Some(*id),
        _ => None,
    });
    id.map_or_else(|| method.does.to_owned(), |id| method.does.replace('#', &id.to_string()))
}

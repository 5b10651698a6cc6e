//! OpenNebula: `oned` over XML-RPC, and OneFlow, which makes services of several VMs, over HTTP.
//!
//! There is no trait between this and its users: what OpenNebula knows is the state of record, in its own
//! words. Every call is made in the name of a caller, with the credentials that came with a request. A
//! document or a service that we made is found again by the token in its attributes or in its name.

mod connections;
mod credentials;
mod error;
mod oned;
mod oneflow;
mod template;
mod xmlrpc;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_client::DriverError;

pub use self::credentials::{BadCredentials, NebulaCredentials};
pub use self::error::{NebulaError, NebulaErrorKind};
pub use self::oned::{
    Capacity, DocumentFilter, DocumentPage, NebulaDocument, NebulaUser, RUNTIME_DOCUMENT, Recovery,
    VirtualMachine, VmAction, VmTemplate,
};
pub use self::oneflow::{Dialect, FlowService, ServiceRole, ServiceTemplate, TemplateRole};
pub use self::template::{
    Attribute, AttributeName, BadName, NebulaTemplate, Text, Unfit, Unwritable, Vector,
};

use self::connections::Clients;
use self::oned::Oned;
use self::oneflow::OneFlow;

/// A page of VMs has some ten thousand elements. Names of attributes come from users.
const LIMITS: xml::XmlLimits = xml::XmlLimits { elements: 400_000, name_bytes: 256 };

/// Where OpenNebula is and how much of it we may use.
#[derive(Debug, Clone)]
pub struct OpenNebulaOptions {
    /// Where `oned` answers XML-RPC, with the path.
    pub oned: String,
    /// Where OneFlow answers, without a path.
    pub oneflow: String,
    /// How many calls each of the two gets at the same time. `oned` itself takes 15 from all clients together.
    pub connections: usize,
    /// After this time a call is given up. So long it may also wait for its turn.
    pub timeout: Duration,
}

impl OpenNebulaOptions {
    /// With the usual number of connections and the usual time limit.
    pub fn new(oned: impl Into<String>, oneflow: impl Into<String>) -> OpenNebulaOptions {
        OpenNebulaOptions {
            oned: oned.into(),
            oneflow: oneflow.into(),
            connections: 8,
            timeout: Duration::from_secs(10),
        }
    }

    /// For an OpenNebula on the two ports after that of a sandbox.
    pub fn beside(sandbox: &str) -> OpenNebulaOptions {
        let (host, port) = sandbox.trim_end_matches('/').rsplit_once(':').unwrap_or((sandbox, ""));
        let port: u16 = port.parse().unwrap_or_default();
        let at = |distance| format!("{host}:{}", port.saturating_add(distance));
        OpenNebulaOptions::new(format!("{}/RPC2", at(1)), at(2))
    }
}

/// One OpenNebula, for all users. Clones share their connections.
#[derive(Clone)]
pub struct OpenNebula {
    oned: Arc<Oned>,
    oneflow: Arc<OneFlow>,
}

impl OpenNebula {
    pub fn new(options: &OpenNebulaOptions) -> Result<OpenNebula, DriverError> {
        let clients = Clients::new(options.connections, options.timeout)?;
        let oned = Oned::new(&options.oned, clients.clone())?;
        let oneflow = OneFlow::new(&options.oneflow, clients)?;
        Ok(OpenNebula { oned: Arc::new(oned), oneflow: Arc::new(oneflow) })
    }
}

impl fmt::Debug for OpenNebula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenNebula").finish_non_exhaustive()
    }
}

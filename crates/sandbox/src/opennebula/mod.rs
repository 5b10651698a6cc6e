//! OpenNebula as an external system: oned over XML-RPC, OneFlow over REST, and the guests of the machines.
//!
//! It behaves like a live OpenNebula 6.8.3 or 7.4.0 with dummy drivers, as far as the engine talks to it.

mod call_error;
mod connections;
mod delay_times;
mod documents;
mod faults;
mod functions;
mod machines;
mod oned;
mod oneflow;
mod release;
mod template;
mod template_text;
mod users;
mod vm_templates;
mod world;
mod xml;
mod xmlrpc;

use std::io;
use std::sync::Arc;

use axum::Router;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::connections::{ConnectionCalls, Connections, CountingListener};
use self::oneflow::{IdleConnection, OneFlow};
use self::world::Nebula;
use crate::clock::Clock;
use crate::connection::CuttingListener;
use crate::faults::Faults;
use crate::ledger::Ledger;
use crate::loopback::Network;
use crate::script;

#[derive(Debug, Clone)]
pub(crate) struct OpenNebula {
    nebula: Arc<Nebula>,
    flow: Arc<OneFlow>,
    connections: Arc<Connections>,
}

impl OpenNebula {
    /// Machines get their addresses from the network.
    pub(crate) fn new(clock: Arc<Clock>, ledger: Arc<Ledger>, network: Arc<Network>) -> Self {
        let nebula = Arc::new(Nebula::new(clock, Arc::clone(&ledger), network));
        let flow = Arc::new(OneFlow::new(Arc::clone(&nebula), ledger));
        OpenNebula { nebula, flow, connections: Arc::default() }
    }

    /// Lets services and machines live on until now.
    pub(crate) fn settle(&self) {
        self.flow.settle();
        drop(self.nebula.nebula_state());
    }

    /// What people script and look at, on the port of the sandbox itself.
    pub(crate) fn routes(&self) -> Router {
        Router::new()
            .merge(script::routes("/opennebula/faults", &self.nebula.faults))
            .merge(delay_times::routes(Arc::clone(&self.nebula)))
            .merge(release::routes(Arc::clone(&self.nebula)))
            .merge(connections::routes(Arc::clone(&self.connections)))
    }

    /// Serves both listeners and the guests until it is told to stop.
    pub(crate) fn serve(
        &self,
        servers: &mut JoinSet<io::Result<()>>,
        [oned, oneflow]: [CuttingListener; 2],
        faults: &Arc<Faults>,
        stop: &CancellationToken,
    ) {
        let listener = CountingListener::new(oned, Arc::clone(&self.connections));
        let service = oned::routes(self, faults).into_make_service_with_connect_info::<ConnectionCalls>();
        let stopped = stop.clone().cancelled_owned();
        servers.spawn(axum::serve(listener, service).with_graceful_shutdown(stopped).into_future());

        let service = oneflow::routes(&self.flow, faults, stop);
        let service = service.into_make_service_with_connect_info::<IdleConnection>();
        let stopped = stop.clone().cancelled_owned();
        servers.spawn(axum::serve(oneflow, service).with_graceful_shutdown(stopped).into_future());

        let guests = functions::run(Arc::clone(&self.nebula), Arc::clone(&self.flow), stop.clone());
        servers.spawn(async {
            guests.await;
            Ok(())
        });
    }
}

//! The network of machines and instances: addresses on loopback that no other sandbox gives away, and listeners at
//! them.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

/// The sandbox holds three neighbouring ports, and each of them stands for 253 addresses.
const PORTS: u32 = 3;
const HOSTS: u32 = 253;

/// Where every guest answers.
pub(crate) const GUEST_PORT: u16 = 8000;

/// All external systems take their addresses from the same one.
#[derive(Debug)]
pub(crate) struct Network {
    /// The first port of the sandbox. It is held as long as the sandbox runs, so it makes the network unique.
    port: u16,
    leases: Mutex<Leases>,
}

#[derive(Debug, Default)]
struct Leases {
    taken: BTreeSet<u32>,
    next: u32,
}

impl Network {
    pub(crate) fn new(port: u16) -> Self {
        Network { port, leases: Mutex::default() }
    }

    /// Goes round, so that an address rests before another client gets it.
    pub(crate) fn lease(&self) -> Option<Ipv4Addr> {
        let all = PORTS * HOSTS;
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places = (0..all).map(|step| (leases.next + step) % all);
        let free = places.find(|index| !leases.taken.contains(index))?;
        leases.taken.insert(free);
        leases.next = (free + 1) % all;
        Some(self.address(free))
    }

    pub(crate) fn release(&self, address: Ipv4Addr) {
        let given = (0..PORTS * HOSTS).find(|index| self.address(*index) == address);
        if let Some(index) = given {
            self.leases.lock().unwrap_or_else(PoisonError::into_inner).taken.remove(&index);
        }
    }

    pub(crate) fn gateway(address: Ipv4Addr) -> Ipv4Addr {
        let [a, b, c, _] = address.octets();
        Ipv4Addr::new(a, b, c, 1)
    }

    fn address(&self, index: u32) -> Ipv4Addr {
        let port = u32::from(self.port) + index / HOSTS;
        let host = index % HOSTS + 2;
        Ipv4Addr::from_bits((127 << 24) | (port << 8) | host)
    }
}

/// Serves a guest at its address until the listener is dropped.
///
/// None where the address cannot be had: on Linux all of 127.0.0.0/8 is this machine, elsewhere it is not.
pub(crate) async fn open(address: Ipv4Addr, guest: Router) -> Option<DropGuard> {
    let address = SocketAddr::from((address, GUEST_PORT));
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            warn!(%address, %error, "listening at the guest's address failed");
            return None;
        }
    };
    let token = CancellationToken::new();
    let closed = token.clone().cancelled_owned();
    tokio::spawn(axum::serve(listener, guest).with_graceful_shutdown(closed).into_future());
    Some(token.drop_guard())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_from_the_port_and_rest_before_they_are_given_again() {
        let network = Network::new(0x1234);
        assert_eq!(network.lease(), Some(Ipv4Addr::new(127, 0x12, 0x34, 2)));
        let second = network.lease().unwrap();
        network.release(second);
        assert_eq!(network.lease(), Some(Ipv4Addr::new(127, 0x12, 0x34, 4)));
        let rest: Vec<Ipv4Addr> = std::iter::from_fn(|| network.lease()).collect();
        assert_eq!((rest.len(), rest.last()), (757, Some(&second)));
        assert!(rest.contains(&Ipv4Addr::new(127, 0x12, 0x36, 254)));
    }
}

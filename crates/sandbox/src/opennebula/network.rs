//! The network of the machines: addresses on loopback that no other sandbox gives away.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// The sandbox holds three neighbouring ports, and each of them stands for 253 addresses.
const PORTS: u32 = 3;
const HOSTS: u32 = 253;

#[derive(Debug)]
pub(crate) struct Network {
    /// The first port of the sandbox. It is held as long as the sandbox runs, so it makes the network unique.
    port: u16,
    taken: BTreeSet<u32>,
    next: u32,
}

impl Network {
    pub(super) fn new(port: u16) -> Self {
        Network { port, taken: BTreeSet::new(), next: 0 }
    }

    /// Goes round, so that an address rests before somebody else gets it.
    pub(super) fn lease(&mut self) -> Option<Ipv4Addr> {
        let all = PORTS * HOSTS;
        let free = (0..all).map(|step| (self.next + step) % all).find(|index| !self.taken.contains(index))?;
        self.taken.insert(free);
        self.next = (free + 1) % all;
        Some(self.address(free))
    }

    pub(super) fn release(&mut self, address: Ipv4Addr) {
        let given = (0..PORTS * HOSTS).find(|index| self.address(*index) == address);
        if let Some(index) = given {
            self.taken.remove(&index);
        }
    }

    pub(super) fn gateway(address: Ipv4Addr) -> Ipv4Addr {
        let [a, b, c, _] = address.octets();
        Ipv4Addr::new(a, b, c, 1)
    }

    fn address(&self, index: u32) -> Ipv4Addr {
        let port = u32::from(self.port) + index / HOSTS;
        let host = index % HOSTS + 2;
        Ipv4Addr::from_bits((127 << 24) | (port << 8) | host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_from_the_port_and_rest_before_they_are_given_again() {
        let mut network = Network::new(0x1234);
        assert_eq!(network.lease(), Some(Ipv4Addr::new(127, 0x12, 0x34, 2)));
        let second = network.lease().unwrap();
        network.release(second);
        assert_eq!(network.lease(), Some(Ipv4Addr::new(127, 0x12, 0x34, 4)));
        let rest: Vec<Ipv4Addr> = std::iter::from_fn(|| network.lease()).collect();
        assert_eq!((rest.len(), rest.last()), (757, Some(&second)));
        assert!(rest.contains(&Ipv4Addr::new(127, 0x12, 0x36, 254)));
    }
}

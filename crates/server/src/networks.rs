//! Networks of trusted proxies.

use std::net::IpAddr;
use std::str::FromStr;

/// A longer list would not be read.
const NETWORKS_MAX: usize = 256;

/// Every address that begins with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

/// Some networks; by itself it has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

impl Networks {
    /// Reads addresses such as `10.0.0.1` and networks such as `10.0.0.0/8`. The error names the one that is wrong.
    pub fn parse<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Networks, String> {
        let networks = items.into_iter().map(str::parse).collect::<Result<Vec<Network>, String>>()?;
        if networks.len() > NETWORKS_MAX {
            return Err(format!("there are more than {NETWORKS_MAX} networks"));
        }
        Ok(Networks(networks))
    }

    pub fn has(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.has(address))
    }
}

impl Network {
    fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let mask = u128::MAX.checked_shl(u128::BITS - self.bits).unwrap_or(0);
        self.address.is_ipv4() == address.is_ipv4() && front(self.address) & mask == front(address) & mask
    }
}

/// The bits of an address, the first of them in front.
fn front(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << (u128::BITS - u32::BITS),
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || format!("{text:?} is no address such as 10.0.0.1 and no network such as 10.0.0.0/8");
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits_max = if address.is_ipv4() { u32::BITS } else { u128::BITS };
        let bits = match bits {
            None => bits_max,
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= bits_max).ok_or_else(wrong)?,
        };
        if bits == 0 {
            return Err(format!("{text:?} is everybody; name the addresses that are to be believed"));
        }
        Ok(Network { address, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(networks: &[&str], address: &str) -> bool {
        Networks::parse(networks.iter().copied()).unwrap().has(address.parse().unwrap())
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_alike() {
        for (network, inside, outside) in [
            ("10.1.2.3", "10.1.2.3", "10.1.2.4"),
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("192.168.7.9/31", "192.168.7.8", "192.168.7.10"),
            ("128.0.0.0/1", "255.1.1.1", "127.0.0.1"),
            ("fd00::/8", "fd12::1", "fe00::1"),
            ("2001:db8::1", "2001:db8::1", "2001:db8::2"),
        ] {
            assert!(has(&[network], inside), "{network} has {inside}");
            assert!(!has(&[network], outside), "{network} has not {outside}");
        }
        assert!(has(&["::1", "10.0.0.0/8"], "::ffff:10.1.1.1"), "an old address in a new coat");
        assert!(!has(&["a00::/8"], "10.0.0.1"), "the bits are alike and the kinds are not");
        assert!(!has(&[], "127.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_refused_by_name_and_so_is_everyone() {
        for bad in
            ["", "10.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/-1", "localhost", "0.0.0.0/0"]
        {
            assert!(Networks::parse([bad]).unwrap_err().contains(bad), "{bad}");
        }
        assert!(Networks::parse(["10.0.0.1"; NETWORKS_MAX + 1]).is_err());
    }
}

//! Limits on attempts to sign in from one address, in this process.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::SignInLimits;

/// Several people may share an address, so that it may be wrong more often than one user.
const USERS_PER_ADDRESS: u32 = 5;
/// More addresses than this are not remembered.
const ADDRESSES_MAX: usize = 4096;
/// Failures from one address within this time are one row of the audit log.
const BURST: Duration = Duration::from_mins(1);

/// So many attempts wait for their turn at most: together they take a few seconds. Those that come then are turned away.
const QUEUE_MAX: usize = 32;

pub(crate) struct SignInGate {
    addresses: Mutex<HashMap<IpAddr, Address>>,
    queue: Arc<Semaphore>,
}

impl Default for SignInGate {
    fn default() -> SignInGate {
        SignInGate { addresses: Mutex::default(), queue: Arc::new(Semaphore::new(QUEUE_MAX)) }
    }
}

#[derive(Default)]
struct Address {
    failures: u32,
    /// When the count of failures began.
    since: Option<Timestamp>,
    /// Users who have signed in from here. Wrong passwords from elsewhere do not lock them out here.
    users: HashSet<String>,
    /// When the burst began that the last row of the audit log is about.
    burst_at: Option<Timestamp>,
    /// Failures since that row.
    unwritten: u32,
}

/// A clock that was set back makes a moment from the future, which counts for nothing.
fn is_within(since: Option<Timestamp>, now: Timestamp, time: Duration) -> bool {
    since.is_some_and(|since| since <= now && now.since(since) < time)
}

impl SignInGate {
    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, Address>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place among the attempts that wait or are looked at; `None` when there are too many.
    pub(super) fn queue(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.queue).try_acquire_owned().ok()
    }

    fn with<T>(&self, from: IpAddr, change: impl FnOnce(&mut Address) -> T) -> T {
        let mut addresses = self.open();
        let from = network(from);
        if addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(&from) {
            // Strangers are forgotten before those who have signed in.
            addresses.retain(|_, address| !address.users.is_empty());
            if addresses.len() >= ADDRESSES_MAX {
                addresses.clear();
            }
        }
        change(addresses.entry(from).or_default())
    }

    /// Whether there were too many wrong passwords from this address.
    pub(super) fn is_closed(&self, from: IpAddr, limits: SignInLimits, now: Timestamp) -> bool {
        let addresses = self.open();
        addresses.get(&network(from)).is_some_and(|address| {
            let is_counted = is_within(address.since, now, limits.lock);
            is_counted && address.failures >= limits.attempts.saturating_mul(USERS_PER_ADDRESS)
        })
    }

    pub(super) fn has_signed_in(&self, from: IpAddr, user: &str) -> bool {
        self.open().get(&network(from)).is_some_and(|address| address.users.contains(user))
    }

    pub(super) fn failed(&self, from: IpAddr, limits: SignInLimits, now: Timestamp) {
        self.with(from, |address| {
            if !is_within(address.since, now, limits.lock) {
                (address.failures, address.since) = (0, Some(now));
            }
            address.failures = address.failures.saturating_add(1);
        });
    }

    pub(super) fn signed_in(&self, from: IpAddr, user: &str) {
        self.with(from, |address| {
            address.failures = 0;
            address.users.insert(user.to_owned());
        });
    }

    /// Whether a failure begins a burst and has a row of its own in the audit log; then how many failures had none since
    /// the row before.
    pub(crate) fn begins_burst(&self, from: IpAddr, now: Timestamp) -> Option<u32> {
        self.with(from, |address| {
            if is_within(address.burst_at, now, BURST) {
                address.unwritten = address.unwritten.saturating_add(1);
                return None;
            }
            address.burst_at = Some(now);
            Some(std::mem::take(&mut address.unwritten))
        })
    }
}

/// One user has a whole network of IPv6 addresses, and one IPv4 address.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SignInLimits = SignInLimits { attempts: 2, lock: Duration::from_secs(60) };

    fn at(seconds: u64) -> Timestamp {
        Timestamp(1_000_000).plus(Duration::from_secs(seconds))
    }

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn an_address_is_closed_for_a_while_after_too_many_failures() {
        let gate = SignInGate::default();
        for _ in 0..10 {
            assert!(!gate.is_closed(address(1), LIMITS, at(0)));
            gate.failed(address(1), LIMITS, at(0));
        }
        assert!(gate.is_closed(address(1), LIMITS, at(59)));
        assert!(!gate.is_closed(address(2), LIMITS, at(0)), "another address");
        assert!(!gate.is_closed(address(1), LIMITS, at(60)));
        gate.failed(address(1), LIMITS, at(60));
        assert!(!gate.is_closed(address(1), LIMITS, at(60)), "the count began anew");
    }

    #[test]
    fn a_burst_of_failures_is_one_row_and_the_next_row_says_how_many_there_were() {
        let gate = SignInGate::default();
        assert_eq!(gate.begins_burst(address(1), at(0)), Some(0));
        for second in 1..60 {
            assert_eq!(gate.begins_burst(address(1), at(second)), None);
        }
        assert_eq!(gate.begins_burst(address(2), at(1)), Some(0));
        assert_eq!(gate.begins_burst(address(1), at(60)), Some(59));
    }

    #[test]
    fn addresses_of_one_network_count_together_and_outsiders_are_forgotten_first() {
        let gate = SignInGate::default();
        let home: IpAddr = "2001:db8::1".parse().unwrap();
        gate.signed_in(home, "ann");
        assert!(gate.has_signed_in("2001:db8::ffff".parse().unwrap(), "ann"));
        assert!(!gate.has_signed_in("2001:db8:0:1::1".parse().unwrap(), "ann"));
        assert!(!gate.has_signed_in(home, "ben"));
        for number in 0..u32::try_from(ADDRESSES_MAX).unwrap() * 2 {
            gate.failed(std::net::Ipv4Addr::from_bits(number).into(), LIMITS, at(0));
        }
        assert!(gate.has_signed_in(home, "ann"));
        assert!(gate.open().len() <= ADDRESSES_MAX);
    }
}

//! The open connections: how many there are, what each one does, and which has to close.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};
use tracing::warn;

use super::ListenerLimits;

/// How long a client may leave a response unread.
const UNREAD_MAX: Duration = Duration::from_secs(30);
/// A flood of clients is one line in the log for each of these.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    /// It is open and has sent nothing.
    Connected,
    /// A header, or the greeting of TLS, has begun.
    Header,
    /// A body is on its way; the request itself has the deadline for it.
    Body,
    /// The server works on a request or sends a response.
    Working,
    /// It waits for its next request.
    Idle,
}

/// What one connection does, told by its socket and its requests.
pub(super) struct State(Mutex<ConnectionState>);

#[derive(Clone, Copy)]
struct ConnectionState {
    phase: ConnectionPhase,
    since: Instant,
    /// Since when the client does not read.
    unread: Option<Instant>,
}

impl State {
    fn now(&self) -> MutexGuard<'_, ConnectionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: ConnectionPhase) {
        let mut now = self.now();
        (now.phase, now.since) = (phase, Instant::now());
    }

    /// Bytes came in.
    pub(super) fn received(&self) {
        let phase = self.now().phase;
        if matches!(phase, ConnectionPhase::Connected | ConnectionPhase::Idle) {
            self.enter(ConnectionPhase::Header);
        }
    }

    /// Whether the socket took what was written.
    pub(super) fn wrote(&self, is_taken: bool) {
        let mut now = self.now();
        now.unread = if is_taken { None } else { now.unread.or_else(|| Some(Instant::now())) };
    }

    pub(super) fn begin_body(&self) {
        self.enter(ConnectionPhase::Body);
    }

    pub(super) fn begin_work(&self) {
        self.enter(ConnectionPhase::Working);
    }

    /// A body may end after the response to its request.
    pub(super) fn end_body(&self) {
        if self.now().phase == ConnectionPhase::Body {
            self.enter(ConnectionPhase::Working);
        }
    }

    pub(super) fn end_response(&self) {
        self.enter(ConnectionPhase::Idle);
    }

    pub(super) fn is_between_requests(&self) -> bool {
        matches!(self.now().phase, ConnectionPhase::Connected | ConnectionPhase::Idle)
    }

    /// Since when it may be closed in favour of another one: the server does nothing for it.
    fn spare_since(&self) -> Option<Instant> {
        let now = *self.now();
        (now.phase != ConnectionPhase::Working).then_some(now.since)
    }

    fn deadline(&self, limits: &ListenerLimits) -> Option<Instant> {
        let now = *self.now();
        let phase = match now.phase {
            ConnectionPhase::Connected | ConnectionPhase::Header => Some(now.since + limits.header),
            ConnectionPhase::Idle => Some(now.since + limits.idle),
            ConnectionPhase::Body | ConnectionPhase::Working => None,
        };
        let unread = now.unread.map(|since| since + UNREAD_MAX);
        phase.into_iter().chain(unread).min()
    }
}

struct ConnectionEntry {
    address: IpAddr,
    state: Arc<State>,
    end: CancellationToken,
}

#[derive(Default)]
struct ConnectionTable {
    next: u64,
    entries: HashMap<u64, ConnectionEntry>,
    addresses: HashMap<IpAddr, usize>,
    /// Since the last report.
    overdue: u64,
    displaced: u64,
    refused: u64,
    reported: Option<Instant>,
}

impl ConnectionTable {
    fn remove(&mut self, id: u64) -> Option<ConnectionEntry> {
        let entry = self.entries.remove(&id)?;
        if let Some(count) = self.addresses.get_mut(&entry.address) {
            *count -= 1;
            if *count == 0 {
                self.addresses.remove(&entry.address);
            }
        }
        Some(entry)
    }

    /// Closes the connection for which the server has done nothing for the longest time; `false` if all are at work.
    fn displace(&mut self, of: Option<IpAddr>) -> bool {
        let entries = self.entries.iter().filter(|(_, entry)| of.is_none_or(|of| of == entry.address));
        let spare = entries.filter_map(|(id, entry)| Some((entry.state.spare_since()?, *id)));
        let Some((_, id)) = spare.min() else { return false };
        if let Some(entry) = self.remove(id) {
            entry.end.cancel();
        }
        self.displaced += 1;
        true
    }

    fn of(&self, address: IpAddr) -> usize {
        self.addresses.get(&address).copied().unwrap_or(0)
    }

    fn busiest(&self) -> Option<IpAddr> {
        self.addresses.iter().max_by_key(|(_, count)| **count).map(|(address, _)| *address)
    }
}

pub(super) struct Connections {
    limits: ListenerLimits,
    table: Mutex<ConnectionTable>,
}

/// A connection that has a place. It is given back when this is dropped.
pub(super) struct OpenConnection {
    connections: Arc<Connections>,
    id: u64,
    state: Arc<State>,
    end: CancellationToken,
}

impl OpenConnection {
    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    /// Returns when the connection has to close.
    pub(super) fn ended(&self) -> WaitForCancellationFuture<'_> {
        self.end.cancelled()
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.table().remove(self.id);
    }
}

impl Connections {
    pub(super) fn new(limits: ListenerLimits) -> Connections {
        Connections { limits, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection. Where all are taken, one that does nothing gives way; `None` if there is none.
    pub(super) fn admit(self: &Arc<Self>, ip: IpAddr) -> Option<OpenConnection> {
        let address = network(ip);
        let mut table = self.table();
        let crowd_of_one = table.of(address) >= self.limits.per_address;
        let is_full = table.entries.len() >= self.limits.connections;
        let is_admitted = if crowd_of_one {
            table.displace(Some(address))
        } else {
            // Those who hold the most give way first.
            !is_full
                || table.busiest().is_some_and(|busiest| table.displace(Some(busiest)))
                || table.displace(None)
        };
        if !is_admitted {
            table.refused += 1;
            return None;
        }
        let id = table.next;
        table.next += 1;
        let now = ConnectionState { phase: ConnectionPhase::Connected, since: Instant::now(), unread: None };
        let (state, end) = (Arc::new(State(Mutex::new(now))), CancellationToken::new());
        table.entries.insert(id, ConnectionEntry { address, state: Arc::clone(&state), end: end.clone() });
        *table.addresses.entry(address).or_default() += 1;
        Some(OpenConnection { connections: Arc::clone(self), id, state, end })
    }

    /// Closes connections whose client took too long.
    pub(super) fn end_overdue(&self) {
        let now = Instant::now();
        let mut table = self.table();
        let is_over = |entry: &ConnectionEntry| {
            entry.state.deadline(&self.limits).is_some_and(|deadline| deadline <= now)
        };
        let over: Vec<u64> =
            table.entries.iter().filter(|(_, entry)| is_over(entry)).map(|(id, _)| *id).collect();
        for id in over {
            if let Some(entry) = table.remove(id) {
                let was_idle = entry.state.now().phase == ConnectionPhase::Idle;
                table.overdue += u64::from(!was_idle);
                entry.end.cancel();
            }
        }
        report(&mut table, now);
    }
}

fn report(table: &mut ConnectionTable, now: Instant) {
    let is_quiet = table.overdue + table.displaced + table.refused == 0;
    if is_quiet || table.reported.is_some_and(|reported| now - reported < REPORT_EVERY) {
        return;
    }
    table.reported = Some(now);
    warn!(
        slow = std::mem::take(&mut table.overdue),
        displaced = std::mem::take(&mut table.displaced),
        refused = std::mem::take(&mut table.refused),
        open = table.entries.len(),
        "closed connections: clients too slow or over the limit"
    );
}

/// Who counts as one address: a client on IPv6 has a whole network of 64 bits.
fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
        ip @ IpAddr::V4(_) => ip,
    }
}

//! The ports of the sandbox: three neighbours, one for itself and one for each listener of `OpenNebula`.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

const NEIGHBOURS: u16 = 3;

/// Where free ports are looked for. Outgoing calls take theirs from above, so no other process slips in between when a
/// sandbox starts again on the port that it had.
const FIRST: u16 = 10_000;
const LAST: u16 = 32_000;

/// The first port is the one of the address, or one of three free ones in a row where that is 0.
pub(crate) async fn bind(listen: SocketAddr) -> io::Result<[TcpListener; NEIGHBOURS as usize]> {
    if listen.port() != 0 {
        return bind_from(listen).await;
    }
    let places = (LAST - FIRST) / NEIGHBOURS;
    let chance = RandomState::new().hash_one(FIRST);
    let start = u16::try_from(chance % u64::from(places)).unwrap_or_default();
    for step in 0..places {
        let port = FIRST + (start + step) % places * NEIGHBOURS;
        match bind_from(SocketAddr::new(listen.ip(), port)).await {
            Err(error) if is_taken(&error) => {}
            bound_or_broken => return bound_or_broken,
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "there are no three free ports in a row"))
}

async fn bind_from(first: SocketAddr) -> io::Result<[TcpListener; NEIGHBOURS as usize]> {
    let neighbour = |distance: u16| {
        let port = first.port().checked_add(distance);
        let port = port.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the port is too high"))?;
        Ok::<_, io::Error>(SocketAddr::new(first.ip(), port))
    };
    let bind = async |address: SocketAddr| {
        let bound = TcpListener::bind(address).await;
        bound.map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))
    };
    Ok([bind(first).await?, bind(neighbour(1)?).await?, bind(neighbour(2)?).await?])
}

/// Also where a port is reserved for another client.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

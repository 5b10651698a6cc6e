//! Another process: whether it runs, whether it is healthy, and signals to it.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal};

/// How long a health check may take before it counts as silence.
pub(super) const PROBE_LIMIT: Duration = Duration::from_millis(500);

/// The kernel cuts the short name of a process to this length.
const SHORT_NAME: usize = 15;

/// Whether this pid is alive and runs a program of the same file name. The path may differ, because another
/// copy of the program may look after the same data directory.
pub(super) fn is_running(pid: u32, program: &Path) -> bool {
    let Some(name) = program.file_name() else { return false };
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(link) => link.file_name().is_some_and(|running| without_deleted(running) == without_deleted(name)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::read(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat_names(&stat, name))
        }
        // A process that has ended but is not yet collected by its parent has no program any more.
        Err(_) => false,
    }
}

/// The kernel marks a program whose file was replaced by an upgrade while it runs.
fn without_deleted(name: &OsStr) -> &[u8] {
    let name = name.as_bytes();
    name.strip_suffix(b" (deleted)").unwrap_or(name)
}

/// `PID (NAME) STATE …`, which all users may read. The name may itself contain parentheses.
fn stat_names(stat: &[u8], name: &OsStr) -> bool {
    let open = stat.iter().position(|byte| *byte == b'(');
    let close = stat.iter().rposition(|byte| *byte == b')');
    let (Some(open), Some(close)) = (open, close) else { return false };
    let name = &name.as_bytes()[..name.len().min(SHORT_NAME)];
    let has_ended = matches!(stat.get(close + 2), Some(b'Z' | b'X') | None);
    stat.get(open + 1..close) == Some(name) && !has_ended
}

/// A process that is gone already needs no signal.
pub(super) fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("not a process id"))?;
    match rustix::process::kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub(super) enum Health {
    Good,
    /// It answered at once with an error, or nothing listens there.
    Bad,
    /// It took all the time of the check.
    Silent,
}

/// Asks the engine at this address how it is.
pub(super) fn health(listen: SocketAddr) -> Health {
    match status_line(reachable(listen)) {
        Ok(line) if line.starts_with(b"HTTP/1.1 200") => Health::Good,
        Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
            Health::Silent
        }
        _ => Health::Bad,
    }
}

/// An engine that listens on every address is asked over loopback.
pub(crate) fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

fn status_line(address: SocketAddr) -> io::Result<[u8; 12]> {
    let mut stream = TcpStream::connect_timeout(&address, PROBE_LIMIT)?;
    stream.set_read_timeout(Some(PROBE_LIMIT))?;
    stream.set_write_timeout(Some(PROBE_LIMIT))?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut line = [0; 12];
    stream.read_exact(&mut line)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_the_name_of_its_program() {
        let program = std::env::current_exe().unwrap();
        assert!(is_running(std::process::id(), &program));
        assert!(is_running(std::process::id(), &Path::new("/elsewhere").join(program.file_name().unwrap())));
        assert!(!is_running(std::process::id(), Path::new("/bin/other")));
        assert!(!is_running(u32::MAX, &program));
    }

    #[test]
    fn a_program_that_was_replaced_is_still_the_same() {
        assert_eq!(without_deleted(OsStr::new("engine (deleted)")), b"engine");
        assert_eq!(without_deleted(OsStr::new("engine")), b"engine");
    }

    #[test]
    fn the_short_name_and_state_are_read_from_stat() {
        let name = OsStr::new("provision-engine");
        assert!(stat_names(b"12 (provision-engin) S 1 12", name));
        assert!(!stat_names(b"12 (provision-engin) Z 1 12", name));
        assert!(!stat_names(b"12 (provision) S 1 12", name));
        assert!(stat_names(b"12 (a) (b) R 1", OsStr::new("a) (b")));
        for broken in [&b""[..], b")(", b"12 (x", b"12 x)", b"12 (x)"] {
            assert!(!stat_names(broken, OsStr::new("x")));
        }
    }

    #[test]
    fn every_address_is_asked_over_loopback() {
        for (listen, expected) in
            [("0.0.0.0:1", "127.0.0.1:1"), ("[::]:1", "[::1]:1"), ("127.0.0.2:1", "127.0.0.2:1")]
        {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), expected);
        }
    }
}

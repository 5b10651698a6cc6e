//! Lines for the system's log daemon, as datagrams in the style of RFC 3164.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::Level;

/// Who speaks, and the facility, shifted to its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag {
    name: &'static str,
    facility: u8,
}

impl Tag {
    /// The program itself, which runs in the background.
    pub(super) const PROGRAM: Tag = Tag { name: "provision-engine", facility: 3 << 3 };

    pub(super) const fn component(name: &'static str) -> Tag {
        Tag { name, facility: 1 << 3 }
    }
}

/// Log daemons cut or drop longer messages.
const LONGEST: usize = 8 * 1024;

/// The way to the daemon. It is looked for again with every line while it is away, so a daemon that starts
/// late or starts again gets what is logged from then on.
pub(super) struct Syslog {
    path: PathBuf,
    tag: Tag,
    socket: Mutex<Option<UnixDatagram>>,
    lost: Arc<AtomicUsize>,
}

impl Syslog {
    pub(super) fn new(path: &Path, tag: Tag, lost: Arc<AtomicUsize>) -> Syslog {
        Syslog { path: path.to_owned(), tag, socket: Mutex::new(None), lost }
    }

    /// Sends the line if the daemon takes it at once, and otherwise counts it as lost.
    pub(super) fn send(&self, level: Level, line: &str) {
        let message = message(self.tag, level, std::process::id(), line);
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        // The second try is for a daemon that has started again since the last line.
        for _ in 0..2 {
            let Some(open) = socket.take().or_else(|| connect(&self.path)) else { break };
            match open.send(message.as_bytes()) {
                Ok(_) => {
                    *socket = Some(open);
                    return;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    *socket = Some(open);
                    break;
                }
                Err(_) => {}
            }
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
}

fn connect(path: &Path) -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_nonblocking(true).ok()?;
    socket.connect(path).ok()?;
    Some(socket)
}

/// Priority, tag and text. There is no time in it: the RFC wants local time, and daemons on the same machine
/// use their own clock when it is missing.
fn message(tag: Tag, level: Level, pid: u32, line: &str) -> String {
    let severity = match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    };
    let mut message = format!("<{}>{}[{pid}]: {line}", tag.facility + severity, tag.name);
    message.truncate(message.floor_char_boundary(LONGEST));
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syslog(path: &Path) -> (Syslog, Arc<AtomicUsize>) {
        let lost = Arc::new(AtomicUsize::new(0));
        (Syslog::new(path, Tag::PROGRAM, Arc::clone(&lost)), lost)
    }

    fn receive(daemon: &UnixDatagram) -> String {
        let mut buffer = [0; 2 * LONGEST];
        let length = daemon.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_message_has_priority_tag_and_text() {
        assert_eq!(message(Tag::PROGRAM, Level::ERROR, 7, "x"), "<27>provision-engine[7]: x");
        assert_eq!(message(Tag::PROGRAM, Level::WARN, 7, "x"), "<28>provision-engine[7]: x");
        assert_eq!(message(Tag::PROGRAM, Level::INFO, 7, "x"), "<30>provision-engine[7]: x");
        assert_eq!(message(Tag::PROGRAM, Level::TRACE, 7, "x"), "<31>provision-engine[7]: x");
        let component = message(Tag::component("CloudClient"), Level::INFO, 7, "x");
        assert_eq!(component, "<14>CloudClient[7]: x");
        let long = message(Tag::PROGRAM, Level::INFO, 7, &"é".repeat(LONGEST));
        assert!(long.len() <= LONGEST && long.ends_with('é'));
    }

    #[test]
    fn a_missing_daemon_costs_lines_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (syslog, lost) = syslog(&path);
        syslog.send(Level::INFO, "this line is dropped");
        assert_eq!(lost.load(Ordering::Relaxed), 1);

        let daemon = UnixDatagram::bind(&path).unwrap();
        syslog.send(Level::INFO, "one");
        assert!(receive(&daemon).ends_with(": one"));

        drop(daemon);
        std::fs::remove_file(&path).unwrap();
        let daemon = UnixDatagram::bind(&path).unwrap();
        syslog.send(Level::INFO, "two");
        assert!(receive(&daemon).ends_with(": two"));
        assert_eq!(lost.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_full_daemon_never_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let _deaf = UnixDatagram::bind(&path).unwrap();
        let (syslog, lost) = syslog(&path);
        for _ in 0..20_000 {
            syslog.send(Level::INFO, &"x".repeat(1_000));
            if lost.load(Ordering::Relaxed) > 0 {
                return;
            }
        }
        panic!("the queue of the socket has no end");
    }
}

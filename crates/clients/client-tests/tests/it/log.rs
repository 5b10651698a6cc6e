//! Everything that the program logs, at every level: a secret that any test lets out is in it.

use std::io;
use std::sync::{Arc, LazyLock, Mutex};

use tracing::Level;

#[derive(Clone, Default)]
struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

static LOG: LazyLock<CapturedLog> = LazyLock::new(|| {
    let log = CapturedLog::default();
    let sink = log.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_ansi(false);
    tracing::subscriber::set_global_default(subscriber.with_writer(move || sink.clone()).finish()).unwrap();
    log
});

/// Begins to log, unless another test has.
pub(crate) fn begin() {
    LazyLock::force(&LOG);
}

/// The log so far.
pub(crate) fn text() -> String {
    String::from_utf8(LOG.0.lock().unwrap().clone()).unwrap()
}

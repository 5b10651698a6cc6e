//! What the client logs, for those who wait for a line of it.

use std::io::Write;
use std::sync::{Arc, Mutex};

/// What was logged so far.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(crate) fn count(&self, whose: &str, words: &str) -> usize {
        let text = String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned();
        text.lines().filter(|line| line.contains(whose) && line.contains(words)).count()
    }

    pub(crate) async fn until(&self, whose: &str, words: &str) {
        crate::poll(|| self.count(whose, words) > 0).await;
    }
}

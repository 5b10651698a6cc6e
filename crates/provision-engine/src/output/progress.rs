//! One line on a terminal that changes while the program works.

use std::io::{self, IsTerminal, Write};

/// Shows how far something is, where somebody watches, and nothing at all where nobody does.
#[derive(Debug)]
pub(crate) struct Progress {
    is_shown: bool,
}

const CLEAR: &str = "\r\x1b[K";

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { is_shown: io::stderr().is_terminal() }
    }

    /// Replaces the line.
    pub(crate) fn say(&self, text: &str) {
        if self.is_shown {
            write(&format!("{CLEAR}{text}"));
        }
    }
}

fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    // A terminal that went away must not stop the work.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

impl Drop for Progress {
    /// Whatever is printed next begins on a clean line.
    fn drop(&mut self) {
        if self.is_shown {
            write(CLEAR);
        }
    }
}

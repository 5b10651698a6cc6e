//! How far something is: one line on a terminal that changes, elsewhere line by line.

use std::io::{self, IsTerminal, Write};

use api::client::News;

use super::{note, printable};

const CLEAR: &str = "\r\x1b[K";
/// A line that wraps cannot be written again.
const LINE_CHARS_MAX: usize = 79;

#[derive(Debug)]
pub struct ProgressPrinter {
    is_terminal: bool,
    last: String,
}

impl ProgressPrinter {
    pub fn to_stderr() -> ProgressPrinter {
        ProgressPrinter::on(io::stderr().is_terminal())
    }

    pub fn on(is_terminal: bool) -> ProgressPrinter {
        ProgressPrinter { is_terminal, last: String::new() }
    }

    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Replaces the line, where there is a terminal.
    pub fn line(&self, text: &str) {
        if self.is_terminal {
            write(&format!("{CLEAR}{}", cut(text)));
        }
    }

    /// Prints what has changed.
    pub fn report(&mut self, text: &str) {
        let text = printable(text);
        if text == self.last {
            return;
        }
        if self.is_terminal {
            self.line(&text);
        } else {
            note(&text);
        }
        self.last = text;
    }

    /// What was printed last is printed again when it comes again.
    pub fn forget(&mut self) {
        self.last.clear();
    }

    /// What happens while something is waited for.
    pub fn news(&mut self, news: &News<'_>) {
        match news {
            News::Going(words) => self.report(words),
            News::Away(error) => self.report(&format!("{error}; trying again")),
        }
    }

    /// Prints a line that stays.
    pub fn permanent(&self, text: &str) {
        self.line("");
        note(text);
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LINE_CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(LINE_CHARS_MAX - 1).chain(['…']).collect()
}

fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    // A terminal that went away must not stop the work.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

impl Drop for ProgressPrinter {
    /// Whatever is printed next begins on a clean line.
    fn drop(&mut self) {
        self.line("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_into_one() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(200)).chars().count(), LINE_CHARS_MAX);
    }
}

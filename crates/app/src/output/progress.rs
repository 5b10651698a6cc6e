//! How far something is: one line on a terminal that changes and counts the time, elsewhere line by line.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::client::WaitEvent;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{note, printable, rounded};

const CLEAR: &str = "\r\x1b[K";
/// A line that wraps cannot be written again.
const LINE_CHARS_MAX: usize = 79;
/// The clock of the line.
const TICK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct ProgressPrinter {
    is_terminal: bool,
    last: String,
    line: Arc<Mutex<Line>>,
    clock: Option<JoinHandle<()>>,
}

/// What stands on the terminal now.
#[derive(Debug)]
struct Line {
    text: String,
    since: Instant,
    /// When something is tried again.
    next: Option<Instant>,
}

impl Line {
    /// `waiting for the cluster · 12 s · next attempt in 5 s`, on one line: the text gives way to the times.
    fn drawn(&self, now: Instant) -> String {
        let elapsed = format!(" · {}", rounded(now.duration_since(self.since).as_secs()));
        let next = self.next.and_then(|next| next.checked_duration_since(now));
        let next = next.map(|left| format!(" · next attempt in {}", rounded(left.as_secs() + 1)));
        let times = elapsed + &next.unwrap_or_default();
        cut(&self.text, LINE_CHARS_MAX - times.chars().count()) + &times
    }
}

impl ProgressPrinter {
    pub fn to_stderr() -> ProgressPrinter {
        ProgressPrinter::on(io::stderr().is_terminal())
    }

    pub fn on(is_terminal: bool) -> ProgressPrinter {
        let line = Arc::new(Mutex::new(Line { text: String::new(), since: Instant::now(), next: None }));
        let clock = Handle::try_current().ok().filter(|_| is_terminal).map(|runtime| {
            let line = Arc::clone(&line);
            runtime.spawn(async move {
                loop {
                    tokio::time::sleep(TICK).await;
                    draw(&lock(&line));
                }
            })
        });
        ProgressPrinter { is_terminal, last: String::new(), line, clock }
    }

    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Replaces the line, where there is a terminal.
    pub fn line(&self, text: &str) {
        self.line_until(text, None);
    }

    /// The same, and counts down to the next attempt.
    pub fn line_until(&self, text: &str, next: Option<Instant>) {
        if self.is_terminal {
            let mut line = lock(&self.line);
            text.clone_into(&mut line.text);
            line.next = next;
            draw(&line);
        }
    }

    /// Prints what has changed.
    pub fn report(&mut self, text: &str) {
        self.report_until(text, None);
    }

    fn report_until(&mut self, text: &str, next: Option<Instant>) {
        let text = printable(text);
        if self.is_terminal {
            self.line_until(&text, next);
        } else if text != self.last {
            note(&text);
        }
        self.last = text;
    }

    /// What was printed last is printed again when it comes again.
    pub fn forget(&mut self) {
        self.last.clear();
    }

    /// What happens while something is waited for.
    pub fn updates(&mut self, updates: &WaitEvent<'_>) {
        match updates {
            WaitEvent::Going(words, next) => self.report_until(words, next.map(|next| Instant::now() + next)),
            WaitEvent::Away(error) => self.report(&format!("{error}; trying again")),
        }
    }

    /// Prints a line that stays.
    pub fn permanent(&self, text: &str) {
        self.line("");
        note(text);
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

fn draw(line: &Line) {
    let text = if line.text.is_empty() { String::new() } else { line.drawn(Instant::now()) };
    write(&format!("{CLEAR}{text}"));
}

fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max - 1).chain(['…']).collect()
}

fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    // A terminal that went away must not stop the work.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

impl Drop for ProgressPrinter {
    /// Whatever is printed next begins on a clean line.
    fn drop(&mut self) {
        if let Some(clock) = &self.clock {
            clock.abort();
        }
        self.line("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_the_time_and_fits_into_one() {
        let since = Instant::now();
        let now = since + Duration::from_secs(12);
        let line = |text: &str, next| Line { text: text.to_owned(), since, next }.drawn(now);
        assert_eq!(line("running greet", None), "running greet · 12 s");
        let next = Some(now + Duration::from_millis(4_500));
        assert_eq!(line("waiting greet: 503", next), "waiting greet: 503 · 12 s · next attempt in 5 s");
        assert_eq!(line("waiting", Some(since)), "waiting · 12 s", "an attempt of the past is not announced");
        let long = line(&"x".repeat(200), next);
        assert_eq!(long.chars().count(), LINE_CHARS_MAX);
        assert!(long.ends_with("… · 12 s · next attempt in 5 s"), "{long}");
    }
}

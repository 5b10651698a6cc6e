//! Where the demonstration is seen: lines that change on a terminal, lines one after the other elsewhere.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};

use app::output::printable;

/// One line for each operation of the act.
pub(super) struct DemoScreen {
    is_live: bool,
    width: usize,
    names: Vec<&'static str>,
    words: Vec<String>,
}

const NARROWEST: usize = 40;
const USUAL_WIDTH: usize = 100;

impl DemoScreen {
    pub(super) fn new() -> DemoScreen {
        let mut measure = comfy_table::Table::new();
        let width = measure.use_stderr().width().map_or(USUAL_WIDTH, usize::from);
        DemoScreen {
            is_live: io::stderr().is_terminal(),
            width: width.max(NARROWEST),
            names: Vec::new(),
            words: Vec::new(),
        }
    }

    pub(super) fn title(&mut self, text: &str) {
        self.close();
        say(&format!("{text}\n"));
    }

    /// These are on stage until the next title.
    pub(super) fn enter(&mut self, names: impl Iterator<Item = &'static str>) {
        self.names = names.collect();
        self.words = vec![String::new(); self.names.len()];
        if self.is_live {
            say(&"\n".repeat(self.names.len()));
        }
    }

    pub(super) fn tell(&mut self, place: usize, words: &str) {
        let words = printable(words);
        if !self.is_live {
            say(&format!("{}\n", line(self.names[place], &words, usize::MAX)));
            return;
        }
        self.words[place] = words;
        let mut text = format!("\x1b[{}A", self.names.len());
        for (name, words) in self.names.iter().zip(&self.words) {
            // A line that wraps would move all the others.
            let _ = write!(text, "\x1b[2K{}\r\n", line(name, words, self.width - 1));
        }
        say(&text);
    }

    pub(super) fn close(&mut self) {
        if !self.names.is_empty() {
            self.names.clear();
            say("\n");
        }
    }
}

/// What is worth knowing when an act is over.
pub(super) fn aside(words: &str) {
    say(&format!("  {}\n", printable(words)));
}

fn line(name: &str, words: &str, chars_max: usize) -> String {
    format!("  {name:<8} {words}").chars().take(chars_max).collect()
}

/// An output that is closed must not stop the demo.
fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

//! What people and scripts see: data on stdout in the form they asked for, everything else on stderr.

mod age;
mod moment;
mod progress;
mod table;

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use age::rounded;
pub use age::{age, lasted};
pub use api::client::printable;
pub use moment::local;
pub use progress::ProgressPrinter;
pub use table::{Cell, Mood, Table};

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    // An empty environment variable counts as one that is not set.
    #[default]
    #[value(alias = "")]
    Table,
    // More columns, with exact times.
    Wide,
    Json,
    Yaml,
    // Only the names or ids, one per line.
    Name,
}

/// Something a command can answer in every form.
pub trait Render: Serialize {
    fn table(&self, is_wide: bool) -> Table;
    fn names(&self) -> Vec<String>;

    /// What to say below a table without rows.
    fn if_empty(&self) -> Option<String> {
        None
    }
}

/// The reader of our stdout has gone, as when it is piped into `head`. Not an error: they have seen enough.
#[derive(Debug, thiserror::Error)]
#[error("stdout was closed by its reader")]
pub struct BrokenPipe;

pub fn print(format: Format, answer: &impl Render) -> Result<()> {
    match format {
        Format::Table => {
            data(&answer.table(false).to_text())?;
            note_if_empty(answer);
            Ok(())
        }
        Format::Wide => {
            data(&answer.table(true).to_full_text())?;
            note_if_empty(answer);
            Ok(())
        }
        Format::Json | Format::Yaml => print_value(format, answer),
        Format::Name => data(&answer.names().join("\n")),
    }
}

fn note_if_empty(answer: &impl Render) {
    if let Some(text) = answer.if_empty().filter(|_| answer.table(false).is_empty()) {
        note(text);
    }
}

/// Prints what has no form for people other than the one it is written in.
pub fn print_value(format: Format, value: &impl Serialize) -> Result<()> {
    match format {
        Format::Yaml => data(&serde_saphyr::to_string(value).context("cannot write YAML")?),
        _ => data(&serde_json::to_string_pretty(value).context("cannot write JSON")?),
    }
}

/// Prints one of many values, such as the events of a stream, so that a reader can tell where each ends.
pub fn print_item(format: Format, value: &impl Serialize) -> Result<()> {
    match format {
        Format::Yaml => {
            let text = serde_saphyr::to_string(value).context("cannot write YAML")?;
            data(&format!("---\n{text}"))
        }
        _ => data(&serde_json::to_string(value).context("cannot write JSON")?),
    }
}

/// Writes to stdout and makes sure that it ends in a line end. Nothing at all stays nothing.
pub fn data(text: &str) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut stdout = io::stdout().lock();
    let written = write!(stdout, "{text}{end}").and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(BrokenPipe.into()),
        other => other.context("cannot write to stdout"),
    }
}

/// Tells people something on stderr. A closed stderr is no reason to stop.
pub fn note(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
}

/// How many columns the terminal at stdout has; nothing where there is none, or it does not say.
fn terminal_columns() -> Option<usize> {
    let stdout = io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Whether the far end of stdout wants colours.
fn wants_colours() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

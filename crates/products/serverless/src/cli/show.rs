//! `serverless show`: a runtime as it is now.

use anyhow::Result;
use clap::Args;

use super::wait::WaitArgs;
use crate::client::{RuntimeBody, ServerlessClient, State};
use crate::model::FunctionRole;
use crate::model::fields::{AMOUNTS, AmountField, BLOCK_FIELDS};
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;
use app::output::{self, Cell, Format, Mood, Render, Table, note, printable};

/// What a function tells about itself: the word for people, the member, and its unit.
fn facts() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let amount =
        |field: &'static AmountField| (field.word, field.member, if field.is_megabytes { " MB" } else { "" });
    let first = [("flavour", "FLAVOUR", ""), ("state", "STATE", ""), ("endpoint", "ENDPOINT", "")];
    first.into_iter().chain(AMOUNTS.iter().map(amount)).chain([("vm", "VM_ID", "")])
}

const EXAMPLES: &str = "\
Examples:
  provision-engine serverless show 45
  provision-engine serverless show 45 --wait
  provision-engine serverless show 45 -o json";

/// Show a runtime as it is now
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShowArgs {
    /// The runtime
    id: i32,
    #[command(flatten)]
    waiting: WaitArgs,
}

impl Render for RuntimeBody {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::facts();
        let mut fact = |name: &str, cell: Cell| table.row([Cell::new(name), cell]);
        fact("id", Cell::new(self.id.to_string()));
        fact("name", Cell::maybe(self.word("/NAME")));
        fact("state", state(self));
        fact("service", Cell::maybe(self.word("/SERVICE_ID")));
        for role in self.roles() {
            for (word, member, unit) in facts() {
                if let Some(text) = self.of(role, member) {
                    fact(&format!("{} {word}", prefix(role)), Cell::new(format!("{text}{unit}")));
                }
            }
            if let Some(error) = self.of(role, "ERROR") {
                fact(&format!("{} error", prefix(role)), Cell::new(error).mood(Mood::Bad));
            }
        }
        for field in &BLOCK_FIELDS {
            if let Some(text) = self.word(&format!("/{}/{}", field.block, field.member)) {
                fact(field.word, Cell::new(text));
            }
        }
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

fn prefix(role: FunctionRole) -> &'static str {
    match role {
        FunctionRole::Faas => "faas",
        FunctionRole::Daas => "daas",
    }
}

pub(super) fn state(runtime: &RuntimeBody) -> Cell {
    let state = runtime.state();
    let mood = match state {
        State::Running => Mood::Good,
        State::Error => Mood::Bad,
        State::Busy(_) => Mood::Busy,
    };
    Cell::new(state.as_str()).mood(mood)
}

pub(super) async fn run(global: &Global, args: &ShowArgs, client: &ServerlessClient) -> Result<Exit> {
    if !args.waiting.wait {
        output::print(global.output, &client.runtime(args.id).await?)?;
        return Ok(Exit::GOOD);
    }
    match args.waiting.patience.start().runtime(client, args.id).await? {
        WaitResult::Left(exit) => Ok(exit),
        WaitResult::With(runtime) => {
            output::print(global.output, &runtime)?;
            Ok(settled(&runtime))
        }
    }
}

/// The end of a wait, for the shell and for people.
pub(super) fn settled(runtime: &RuntimeBody) -> Exit {
    if runtime.state() == State::Error {
        runtime.errors().for_each(|error| note(printable(&error)));
        let delete = app::hint::command(&format!("serverless delete {}", runtime.id));
        note(format!("remove what is left: {delete}"));
        return Exit::OPERATION_FAILED;
    }
    Exit::GOOD
}

/// What was made or changed, for scripts. People have been told already.
pub(super) fn print_for_scripts(global: &Global, runtime: &RuntimeBody) -> Result<()> {
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, runtime),
        Format::Table | Format::Wide | Format::Name => Ok(()),
    }
}

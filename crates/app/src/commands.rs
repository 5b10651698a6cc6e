//! The commands of a program: those of the platform, and those that products bring.

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command};

use crate::cli::Global;
use crate::exit::Exit;

type Run = Box<dyn Fn(&Global, &ArgMatches) -> Result<Exit>>;

/// Commands in the order in which the help lists them.
#[derive(Default)]
pub struct Commands(Vec<(Command, Run)>);

impl Commands {
    /// A command with the arguments `A`, whose documentation is its help.
    pub fn add<A: Args + 'static>(
        &mut self,
        name: &'static str,
        run: impl Fn(&Global, &A) -> Result<Exit> + 'static,
    ) {
        let run: Run = Box::new(move |global, matches| run(global, &A::from_arg_matches(matches)?));
        self.0.push((A::augment_args(Command::new(name)), run));
    }

    /// Another name for the command that was added last.
    pub fn alias(&mut self, alias: &'static str) {
        if let Some((command, run)) = self.0.pop() {
            self.0.push((command.visible_alias(alias), run));
        }
    }

    /// The same for a command that waits for others.
    pub fn add_async<A: Args + 'static>(
        &mut self,
        name: &'static str,
        run: impl AsyncFn(&Global, &A) -> Result<Exit> + 'static,
    ) {
        self.add(name, move |global, args| {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            runtime.context("cannot start the runtime")?.block_on(run(global, args))
        });
    }

    pub fn below(&self, root: Command) -> Command {
        root.subcommands(self.0.iter().map(|(command, _)| command.clone()))
    }

    /// Does what the words behind the global flags say.
    pub fn run(&self, global: &Global, matches: &ArgMatches) -> Result<Exit> {
        let (name, matches) = matches.subcommand().ok_or(clap::Error::new(ErrorKind::MissingSubcommand))?;
        let known = self.0.iter().find(|(command, _)| command.get_name() == name);
        let (_, run) = known.context("the parser knows only these commands")?;
        run(global, matches)
    }
}

//! The commands of a program: those of the platform, and those that products bring.

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command};

use crate::cli::Global;
use crate::cmd::complete::Completer;
use crate::exit::Exit;

type Run = Box<dyn Fn(&Global, &ArgMatches) -> Result<Exit>>;

/// The name of the resource that something is known by, if it can be one.
type ResourceCommand = fn(&str) -> Option<String>;

/// Commands in the order in which the help lists them.
#[derive(Default)]
pub struct Commands {
    all: Vec<(Command, Run)>,
    resources: Vec<ResourceCommand>,
    completers: Vec<(&'static str, Completer)>,
}

impl Commands {
    /// A command with the arguments `A`, whose documentation is its help.
    pub fn add<A: Args + 'static>(
        &mut self,
        name: &'static str,
        run: impl Fn(&Global, &A) -> Result<Exit> + 'static,
    ) {
        let run: Run = Box::new(move |global, matches| run(global, &A::from_arg_matches(matches)?));
        self.all.push((A::augment_args(Command::new(name)), run));
    }

    /// Another name for the command that was added last.
    pub fn alias(&mut self, alias: &'static str) {
        if let Some((command, run)) = self.all.pop() {
            self.all.push((command.visible_alias(alias), run));
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

    /// How users call a resource of a product, so that `explain` finds its operation.
    pub fn resource(&mut self, name: ResourceCommand) {
        self.resources.push(name);
    }

    /// All resources that something may be called so.
    pub fn resources(&self, given: &str) -> Vec<String> {
        let own = given.contains(':').then(|| given.to_owned());
        own.into_iter().chain(self.resources.iter().filter_map(|name| name(given))).collect()
    }

    /// Where the values come from that a shell completes arguments of this name with.
    pub fn complete(&mut self, value_name: &'static str, completer: Completer) {
        self.completers.push((value_name, completer));
    }

    pub fn completer(&self, value_name: &str) -> Option<Completer> {
        self.completers.iter().find(|(name, _)| *name == value_name).map(|(_, completer)| *completer)
    }

    pub fn below(&self, root: Command) -> Command {
        root.subcommands(self.all.iter().map(|(command, _)| command.clone()))
    }

    /// Does what the words behind the global flags say.
    pub fn run(&self, global: &Global, matches: &ArgMatches) -> Result<Exit> {
        let (name, matches) = matches.subcommand().ok_or(clap::Error::new(ErrorKind::MissingSubcommand))?;
        let known = self.all.iter().find(|(command, _)| command.get_name() == name);
        let (_, run) = known.context("the parser knows only these commands")?;
        run(global, matches)
    }
}

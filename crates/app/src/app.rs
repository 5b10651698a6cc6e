//! `App`: a program that is made of products.

#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ::config::file::{self, BaseFile, Files};
use ::config::{ConfigError, Section, SectionReader, Setting, Surroundings, Table, Warning};
use anyhow::Result;
use engine::secret::{KeyRing, SharedRing};
use engine::store::{MemoryStore, Store};
use engine::{Engine, EngineBuilder, WallClock};
use futures_util::future::BoxFuture;

use crate::cli::Cli;
use crate::cmd::{self, server};
use crate::commands::Commands;
use crate::config::{Config, platform_table};
use crate::exit::Exit;
use crate::product::{DryRun, Platform, Product};

/// What the program knows of a product before it is opened.
#[derive(Debug, Clone, Copy)]
struct Plugin {
    settings: &'static [Setting],
    removed_settings: &'static [&'static str],
    base_file: Option<BaseFile>,
    read: fn(&mut SectionReader<'_>) -> ProductSection,
    open: for<'a> fn(&'a Platform<'a>) -> Opening<'a>,
    unconnected_workflows: fn(EngineBuilder) -> EngineBuilder,
    dry_run: Option<DryRun>,
    commands: AddCommands,
}

type Opening<'a> = BoxFuture<'a, Result<Arc<dyn Product>>>;
/// Adds commands to those of the program.
type AddCommands = fn(&mut Commands);

/// A section of a product in the configuration.
pub(crate) type ProductSection = (TypeId, Arc<dyn Any + Send + Sync>);

fn read<S: Section + Send + Sync + 'static>(settings: &mut SectionReader<'_>) -> ProductSection {
    (TypeId::of::<S>(), Arc::new(settings.section::<S>()))
}

fn open<'a, P: Product>(platform: &'a Platform<'a>) -> Opening<'a> {
    Box::pin(async move {
        let opened = P::open(platform.config.section::<P::Settings>(), platform).await?;
        Ok(Arc::new(opened) as Arc<dyn Product>)
    })
}

/// The products of a program. Their order is that of their settings, workflows and commands.
#[derive(Debug, Clone, Default)]
pub struct App {
    pub name: &'static str,
    own_commands: Option<AddCommands>,
    products: Vec<Plugin>,
}

impl App {
    pub fn new(name: &'static str) -> App {
        App { name, ..App::default() }
    }

    /// Commands of the program itself, before all others.
    #[must_use]
    pub fn commands_first(self, commands: fn(&mut Commands)) -> App {
        App { own_commands: Some(commands), ..self }
    }

    #[must_use]
    pub fn product<P: Product>(mut self) -> App
    where
        P::Settings: 'static,
    {
        self.products.push(Plugin {
            settings: P::Settings::SETTINGS,
            removed_settings: P::removed_settings(),
            base_file: P::base_file(),
            read: read::<P::Settings>,
            open: open::<P>,
            unconnected_workflows: P::unconnected_workflows,
            dry_run: P::dry_run(),
            commands: P::commands,
        });
        self
    }

    /// Does what the command line of this process says.
    pub fn run(self) -> ExitCode {
        ::config::set_program(self.name);
        if let Some(words) = server::words(std::env::args_os()) {
            return answer(server::run(&self, &words));
        }
        match Cli::parse(&self, std::env::args_os()) {
            Ok(cli) => answer(cli.run()),
            Err(usage) => {
                // Help goes to stdout and is no error.
                let exit = if usage.use_stderr() { Exit::USAGE } else { Exit::GOOD };
                let _ = usage.print();
                exit.into()
            }
        }
    }

    pub fn commands(&self) -> Commands {
        let mut commands = Commands::default();
        let products = self.products.iter().map(|product| product.commands);
        let (first, last): (AddCommands, AddCommands) = (cmd::first, cmd::last);
        for add in self.own_commands.into_iter().chain([first]).chain(products).chain([last]) {
            add(&mut commands);
        }
        commands
    }

    /// All settings of this program.
    pub fn table(&self) -> Table {
        let parts: Vec<_> = self.products.iter().map(|product| product.settings).collect();
        let removed = self.products.iter().flat_map(|product| product.removed_settings).copied();
        platform_table(&parts).removed(removed.collect())
    }

    pub fn base_file(&self) -> Option<BaseFile> {
        self.products.iter().find_map(|product| product.base_file)
    }

    /// The sections of all products.
    pub fn read(&self, settings: &mut SectionReader<'_>) -> Vec<ProductSection> {
        self.products.iter().map(|product| (product.read)(settings)).collect()
    }

    /// Reads the named file, or else the one in `PROVISION_ENGINE_CONFIG`, or else a usual one if it exists,
    /// and lays the environment and then the flags (dotted path and text) over it.
    pub fn load(
        &self,
        named: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let around = Surroundings::of(env);
        let own = file::own(named, &around)?;
        Config::parse(self, &Files { own, base: None }, &around, flags)
    }

    /// The same over the base file of a product: the named one, or else the one in its variable, or else that of the
    /// installation if there is one.
    pub fn load_installed(
        &self,
        named: Option<&Path>,
        base: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let around = Surroundings::of(env);
        let own = file::own(named, &around)?;
        let base = match self.base_file() {
            Some(known) => file::base(&known, base, &around)?,
            None => None,
        };
        Config::parse(self, &Files { own, base }, &around, flags)
    }

    pub async fn open(&self, platform: &Platform<'_>) -> Result<Vec<Arc<dyn Product>>> {
        let mut opened = Vec::new();
        for product in &self.products {
            opened.push((product.open)(platform).await?);
        }
        Ok(opened)
    }

    /// An engine that knows every workflow of this program and can look into a database, but not work.
    pub fn looker(&self, store: Arc<dyn Store>) -> Engine {
        // It never seals or opens anything.
        let ring = SharedRing::new(KeyRing::generate());
        let builder = Engine::builder(store, Arc::new(WallClock), ring);
        self.products
            .iter()
            .fold(builder, |builder, product| (product.unconnected_workflows)(builder))
            .build()
    }

    /// The same without a database.
    pub fn without_database(&self) -> Engine {
        self.looker(Arc::new(MemoryStore::new()))
    }

    pub fn dry_runs(&self) -> impl Iterator<Item = &DryRun> {
        self.products.iter().filter_map(|product| product.dry_run.as_ref())
    }
}

fn answer(ran: Result<Exit>) -> ExitCode {
    match ran {
        Ok(exit) => exit.into(),
        Err(error) => cmd::report(&error).into(),
    }
}

//! `trait Product`: what a product brings to the platform, and what the platform gives it.

use std::net::SocketAddr;
use std::sync::Arc;

use ::config::Section;
use ::config::file::BaseFile;
use anyhow::Result;
use async_trait::async_trait;
use console::Pages;
use engine::secret::{SecretString, SharedRing};
use engine::store::Store;
use engine::{AccessStore, Clock, Engine, EngineBuilder, Role, WallClock};
use futures_util::future::BoxFuture;
use serde_json::Value;
use server::Endpoints;
use server::tokens::{IssueError, issue};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::commands::Commands;
use crate::compose::Systems;
use crate::config::Config;
use crate::paths::DataDir;

/// More names than these are not tried for the tokens of a data directory.
const NAMES_MAX: u32 = 1000;

/// One thing that the platform can provision: its settings, workflows, endpoints and background tasks.
#[async_trait]
pub trait Product: Send + Sync + 'static {
    /// Its rows of the table of settings, and what they are read into. `Config::section` gives it back.
    type Settings: Section + Send + Sync
    where
        Self: Sized;

    /// Settings of earlier releases: a file that has one is read, with a warning.
    fn removed_settings() -> &'static [&'static str]
    where
        Self: Sized,
    {
        &[]
    }

    /// A configuration file of another program that lies below our own.
    fn base_file() -> Option<BaseFile>
    where
        Self: Sized,
    {
        None
    }

    /// Makes the clients. An error names the setting that is wrong.
    async fn open(settings: &Self::Settings, platform: &Platform<'_>) -> Result<Self>
    where
        Self: Sized;

    /// Its workflows, connected to nothing, for commands that only list or check them.
    fn unconnected_workflows(engine: EngineBuilder) -> EngineBuilder
    where
        Self: Sized;

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder;

    /// The workflow that can show its request without sending it.
    fn dry_run() -> Option<DryRun>
    where
        Self: Sized,
    {
        None
    }

    /// Commands of the program, which are clients of its API.
    fn commands(_commands: &mut Commands)
    where
        Self: Sized,
    {
    }

    /// Its endpoints.
    fn api(&self, _config: &Config) -> Result<Option<Arc<dyn Endpoints>>> {
        Ok(None)
    }

    /// Its pages in the console.
    fn pages(&self, _pages: &mut Pages) {}

    /// External systems, for diagnostics and readiness.
    fn systems(&self, _systems: &mut Systems<'_>) {}

    /// Makes what a new data directory needs, before anything is served.
    async fn prepare(&self, _start: &Start<'_>) -> Result<()> {
        Ok(())
    }

    /// Starts tasks that run on each replica until the process stops.
    fn background(&self, _background: &Background<'_>) {}

    /// Called once when the server listens.
    async fn serving(&self, _at: &Serving) -> Result<()> {
        Ok(())
    }

    /// Adds to the text that `serve` prints when it has started.
    fn welcome(&self, _welcome: &mut Welcome<'_>) {}
}

/// What a product is opened with.
pub struct Platform<'a> {
    pub config: &'a Config,
    /// The sandbox's address; it stands in for systems without an address of their own.
    pub sandbox: Option<&'a str>,
    pub store: &'a Arc<dyn Store>,
    pub ring: &'a SharedRing,
}

/// A workflow whose request can be shown without sending it.
#[derive(Debug, Clone, Copy)]
pub struct DryRun {
    pub workflow: &'static str,
    pub run: for<'a> fn(&'a Config, Value) -> BoxFuture<'a, Result<Value>>,
}

/// A data directory before the first request.
pub struct Start<'a> {
    pub dir: &'a DataDir,
    pub access: &'a dyn AccessStore,
    /// Whether no server has run in the directory before.
    pub is_new: bool,
}

impl Start<'_> {
    /// A token with the first free name: the plain one where `first` is 1, else one with a number.
    pub async fn issue(
        &self,
        base: &str,
        role: Role,
        first: u32,
    ) -> Result<(String, SecretString), IssueError> {
        for number in first..=NAMES_MAX {
            let name = if number == 1 { base.to_owned() } else { format!("{base}-{number}") };
            match issue(self.access, &name, role, WallClock.now(), None).await {
                Err(IssueError::NameTaken(_)) => {}
                other => return other.map(|token| (name, token)),
            }
        }
        Err(IssueError::NameTaken(format!("{base}-{NAMES_MAX}")))
    }
}

/// Where background tasks are started.
pub struct Background<'a> {
    pub config: &'a Config,
    pub engine: &'a Engine,
    pub closing: &'a CancellationToken,
    pub(crate) tasks: &'a TaskTracker,
}

impl Background<'_> {
    /// The task returns soon after the token is cancelled.
    pub fn spawn<F>(&self, task: impl FnOnce(Engine, CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(task(self.engine.clone(), self.closing.clone()));
    }
}

/// A server that listens.
pub struct Serving {
    pub listen: SocketAddr,
    /// Where programs on this machine reach it, without TLS.
    pub local_url: String,
}

/// The text that `serve` prints when it has started.
pub struct Welcome<'a> {
    pub config: &'a Config,
    pub dir: &'a DataDir,
    pub url: &'a str,
    pub has_sandbox: bool,
    pub facts: Vec<String>,
    pub commands: Vec<(u8, &'static str)>,
}

impl Welcome<'_> {
    /// A line with a name of at most 14 characters.
    pub fn fact(&mut self, name: &str, text: &str) {
        self.facts.push(format!("  {name:<16}{text}"));
    }

    /// A command to try, in ascending order of weight.
    pub fn command(&mut self, weight: u8, command: &'static str) {
        self.commands.push((weight, command));
    }
}

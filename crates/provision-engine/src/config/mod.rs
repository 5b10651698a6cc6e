//! The configuration: one YAML file, the environment and the flags, parsed once into plain types.

mod console;
mod demo;
mod engine;
mod engine_conf;
mod identity;
mod launch;
mod log;
mod runtimes;
mod sandbox;
mod server;
mod serverless;
mod store;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ::config::Preset::{InDataDir, StateDir};
use ::config::file::{self, Files};
use ::config::{Kind, Layers, Reader, Section, Setting, Surroundings, Table, set};

pub(crate) use ::config::{ConfigError, HttpUrl, Origin, Origins, Period, Problem, Warning, masked_url};
pub(crate) use console::Console;
pub(crate) use demo::Greeter;
pub(crate) use engine::Engine;
pub(crate) use engine_conf::EngineConf;
pub(crate) use identity::Identity;
pub(crate) use launch::{Aws, Kafka, Launch};
pub(crate) use log::{Log, LogComponents, LogFormat, LogOutput, LogSeverity, LogSystem};
pub(crate) use runtimes::{Director, Login, Osb, Provisioner, Runtime, Runtimes};
pub(crate) use sandbox::Sandbox;
pub(crate) use server::{ClientCertificates, Server, ServerTls};
pub(crate) use serverless::{OrphanPolicy, Orphans, Serverless};
pub(crate) use store::{Database, Store};

#[derive(Debug, Clone)]
pub struct Config {
    /// The file that was read, if there was one.
    pub(crate) file: Option<PathBuf>,
    /// The `engine.conf` that was read below it, if there was one.
    pub(crate) engine_conf: Option<EngineConf>,
    pub(crate) data_dir: PathBuf,
    pub server: Server,
    pub(crate) console: Console,
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) sandbox: Sandbox,
    pub(crate) drivers: Drivers,
    pub(crate) runtime: Runtime,
    pub(crate) osb: Osb,
    pub(crate) serverless: Serverless,
    pub(crate) launch: Launch,
    pub(crate) identity: Identity,
    pub(crate) log: Log,
    pub(crate) secrets: Secrets,
    origins: Origins,
}

/// How other systems are reached.
#[derive(Debug, Clone)]
pub(crate) struct Drivers {
    pub(crate) greeter: Greeter,
    pub(crate) provisioner: Provisioner,
    pub(crate) director: Director,
    pub(crate) kubernetes_timeout: Period,
}

#[derive(Debug, Clone)]
pub(crate) struct Secrets {
    pub(crate) key_ring: PathBuf,
}

#[rustfmt::skip]
const GENERAL: &[Setting] = &[
    set("data_dir", StateDir, Kind::Path,
        "The directory for everything the engine keeps. Without it: `$XDG_STATE_HOME/provision-engine`, else \
         `~/.local/state/provision-engine`, and `/var/lib/provision-engine` for root or without a home."),
];

#[rustfmt::skip]
const SECRETS: &[Setting] = &[
    set("secrets.key_ring", InDataDir("keys.json"), Kind::Path,
        "The file with the keys that seal secrets in the database."),
];

/// All settings of this program.
pub(crate) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        Table::new(&[
            GENERAL,
            Server::SETTINGS,
            Console::SETTINGS,
            Store::SETTINGS,
            Engine::SETTINGS,
            Sandbox::SETTINGS,
            Greeter::SETTINGS,
            Runtimes::SETTINGS,
            Serverless::SETTINGS,
            Launch::SETTINGS,
            Identity::SETTINGS,
            Log::SETTINGS,
            SECRETS,
        ])
        .removed(&["runtime.hello_world"])
    });
    &TABLE
}

/// Our environment as text. A variable that is not text can be none of ours and is left out.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl Config {
    /// Reads the named file, or else the one in `PROVISION_ENGINE_CONFIG`, or else a usual one if it exists,
    /// and lays the environment and then the flags (dotted path and text) over it.
    pub fn load(
        named: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let around = Surroundings::of(env);
        let own = file::own(named, &around)?;
        Config::parse(&Files { own, engine_conf: None }, &around, flags)
    }

    /// The same over an `engine.conf`: the named one, or else the one in `PROVISION_ENGINE_ENGINE_CONF`, or else
    /// that of the installation if there is one.
    pub(crate) fn load_installed(
        named: Option<&Path>,
        engine_conf: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let around = Surroundings::of(env);
        let own = file::own(named, &around)?;
        let engine_conf = file::engine_conf(engine_conf, &around)?;
        Config::parse(&Files { own, engine_conf }, &around, flags)
    }

    /// Everything that is left to do once the files are in memory.
    fn parse(
        files: &Files,
        around: &Surroundings,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let mut layers = Layers::new(table(), around);
        let engine_conf =
            files.engine_conf.as_ref().map(|(path, text)| EngineConf::lay_over(&mut layers, path, text));
        if let Some((path, text)) = &files.own {
            layers.file(&path.display().to_string(), text);
        }
        layers.environment();
        layers.flags(flags);
        layers.defaults();

        let Layers { found, warnings, problems, .. } = layers;
        let mut settings = Reader::new(table(), &found, problems);
        let config =
            Config::read(&mut settings, files.own.as_ref().map(|(path, _)| path.clone()), engine_conf);
        if settings.problems.is_empty() {
            Ok((config, warnings))
        } else {
            Err(ConfigError { problems: settings.problems })
        }
    }

    fn read(settings: &mut Reader<'_>, file: Option<PathBuf>, engine_conf: Option<EngineConf>) -> Config {
        let data_dir = settings.get("data_dir");
        let (server, console) = (settings.section(), settings.section());
        let (store, engine, sandbox) = (settings.section(), settings.section(), settings.section());
        let greeter = settings.section();
        let Runtimes { provisioner, director, kubernetes_timeout, runtime, osb } = settings.section();
        Config {
            file,
            engine_conf,
            data_dir,
            server,
            console,
            store,
            engine,
            sandbox,
            drivers: Drivers { greeter, provisioner, director, kubernetes_timeout },
            runtime,
            osb,
            serverless: settings.section(),
            launch: settings.section(),
            identity: settings.section(),
            log: settings.section(),
            secrets: Secrets { key_ring: settings.get("secrets.key_ring") },
            origins: settings.origins(),
        }
    }

    /// What is in force, as a tree in which secrets are masked.
    pub(crate) fn to_value_masked(&self) -> serde_json::Value {
        self.origins.to_value()
    }

    pub(crate) fn origins(&self) -> &Origins {
        &self.origins
    }
}

//! The configuration: one YAML file, the environment and the flags, parsed once into plain types.

mod console;
mod engine;
mod identity;
mod log;
mod sandbox;
mod server;
mod store;
mod workflows;

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ::config::Preset::{InDataDir, StateDir};
use ::config::file::Files;
use ::config::{Layers, Section, SectionReader, Setting, Surroundings, Table, ValueKind, set};

use crate::app::App;

pub use ::config::{ConfigError, HttpUrl, Origin, Origins, Period, SettingError, Warning, masked_url};
pub use console::Console;
pub use engine::Engine;
pub use identity::{IdentitySettings, ORGANISATION_CLAIM, TRUSTED_PROXIES};
pub use log::{LogComponents, LogFormat, LogOutput, LogSettings, LogSeverity, LogSystem, SEVERITIES};
pub use sandbox::Sandbox;
pub use server::{ClientCertificates, ServerSettings, ServerTls};
pub use store::{Database, Store};
pub use workflows::Workflows;

#[derive(Debug, Clone)]
pub struct Config {
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// The base file that was read below it, if there was one.
    pub base_file: Option<PathBuf>,
    pub data_dir: PathBuf,
    pub server: ServerSettings,
    pub console: Console,
    pub store: Store,
    pub engine: Engine,
    pub workflows: Workflows,
    pub sandbox: Sandbox,
    pub identity: IdentitySettings,
    pub log: LogSettings,
    pub secrets: Secrets,
    products: BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>,
    kept: Option<Arc<dyn Any + Send + Sync>>,
    origins: Origins,
    table: Arc<Table>,
}

#[derive(Debug, Clone)]
pub struct Secrets {
    pub key_ring: PathBuf,
}

#[rustfmt::skip]
const GENERAL: &[Setting] = &[
    set("data_dir", StateDir, ValueKind::Path,
        "The directory for everything the engine keeps. Without it: `$XDG_STATE_HOME/provision-engine`, else \
         `~/.local/state/provision-engine`, and `/var/lib/provision-engine` for root or without a home."),
];

#[rustfmt::skip]
const SECRETS: &[Setting] = &[
    set("secrets.key_ring", InDataDir("keys.json"), ValueKind::Path,
        "The file with the keys that seal secrets in the database."),
];

/// All settings of a program with these of its products.
pub fn platform_table(products: &[&[Setting]]) -> Table {
    let before = [
        GENERAL,
        ServerSettings::SETTINGS,
        Console::SETTINGS,
        Store::SETTINGS,
        Engine::SETTINGS,
        Workflows::SETTINGS,
        Sandbox::SETTINGS,
    ];
    let after = [IdentitySettings::SETTINGS, LogSettings::SETTINGS, SECRETS];
    Table::new(&[&before, products, &after].concat())
}

/// Our environment as text. A variable that is not text can be none of ours and is left out.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl Config {
    /// Everything that is left to do once the files are in memory.
    pub fn parse(
        app: &App,
        files: &Files,
        around: &Surroundings,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let table = Arc::new(app.table());
        let mut layers = Layers::new(&table, around);
        let kept = match (&files.base, app.base_file()) {
            (Some((path, text)), Some(base)) => Some((base.lay_over)(&mut layers, path, text)),
            _ => None,
        };
        if let Some((path, text)) = &files.own {
            layers.file(&path.display().to_string(), text);
        }
        layers.environment();
        layers.flags(flags);
        layers.defaults();

        let Layers { found, warnings, problems, .. } = layers;
        let mut settings = SectionReader::new(&table, &found, problems);
        let config = Config {
            file: files.own.as_ref().map(|(path, _)| path.clone()),
            base_file: files.base.as_ref().map(|(path, _)| path.clone()),
            data_dir: settings.get("data_dir"),
            server: settings.section(),
            console: settings.section(),
            store: settings.section(),
            engine: settings.section(),
            workflows: settings.section(),
            sandbox: settings.section(),
            products: app.read(&mut settings).into_iter().collect(),
            kept,
            identity: settings.section(),
            log: settings.section(),
            secrets: Secrets { key_ring: settings.get("secrets.key_ring") },
            origins: settings.origins(),
            table: Arc::clone(&table),
        };
        if settings.problems.is_empty() {
            Ok((config, warnings))
        } else {
            Err(ConfigError { problems: settings.problems, warnings })
        }
    }

    /// The settings of a product of this program.
    pub fn section<S: Section + 'static>(&self) -> &S {
        let section = self.products.get(&TypeId::of::<S>()).and_then(|section| section.downcast_ref());
        section.expect("a product reads only the settings that it brings")
    }

    /// What a product wanted to keep of its base file, where there is one.
    pub fn kept<T: 'static>(&self) -> Option<&T> {
        self.kept.as_ref()?.downcast_ref()
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What is in force, as a tree in which secrets are masked.
    pub fn to_value_masked(&self) -> serde_json::Value {
        self.origins.to_value()
    }

    pub fn origins(&self) -> &Origins {
        &self.origins
    }
}

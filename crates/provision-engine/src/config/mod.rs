//! The configuration: one YAML file, the environment and the flags, parsed once into plain types.

mod console;
mod engine_conf;
mod error;
mod files;
mod launch;
mod layers;
pub(crate) mod manual;
mod nearest;
mod period;
mod runtimes;
mod sandbox;
mod server;
mod serverless;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use console::Console;
pub(crate) use engine_conf::EngineConf;
pub(crate) use error::{ConfigError, Origin, Problem, Warning};
pub(crate) use launch::{Aws, Kafka, Launch};
pub(crate) use period::Period;
pub(crate) use runtimes::{Director, Login, Osb, Provisioner, Runtime};
pub(crate) use sandbox::Sandbox;
pub(crate) use server::{ClientCertificates, Server, ServerTls};
pub(crate) use serverless::{OrphanPolicy, Orphans, Serverless};
pub(crate) use values::{
    Database, HttpUrl, LogFilter, LogFormat, LogOutput, LogSeverity, LogSystem, masked_url,
};

use files::Files;
use layers::{Found, Layers, Surroundings};
use values::FromNode;

#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The file that was read, if there was one.
    pub(crate) file: Option<PathBuf>,
    /// The `engine.conf` that was read below it, if there was one.
    pub(crate) engine_conf: Option<EngineConf>,
    pub(crate) data_dir: PathBuf,
    pub(crate) server: Server,
    /// Authorities that outgoing connections trust besides those of the system.
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) console: Console,
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) sandbox: Sandbox,
    pub(crate) drivers: Drivers,
    pub(crate) runtime: Runtime,
    pub(crate) osb: Osb,
    pub(crate) serverless: Serverless,
    pub(crate) launch: Launch,
    pub(crate) log: Log,
    pub(crate) secrets: Secrets,
    origins: Origins,
}

#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) database: Database,
    pub(crate) connections: usize,
    pub(crate) lease: Period,
    pub(crate) poll: Period,
}

#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub(crate) max_running: usize,
    pub(crate) step_limit: Period,
    pub(crate) operation_deadline: Period,
    pub(crate) retry: Retry,
    pub(crate) stop_grace: Period,
    pub(crate) limits: Limits,
    pub(crate) retention: Period,
}

#[derive(Debug, Clone)]
pub(crate) struct Retry {
    pub(crate) first: Period,
    pub(crate) max: Period,
    pub(crate) budget: Period,
}

/// How many calls each outside system gets at the same time.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) default: usize,
    pub(crate) by_name: BTreeMap<String, usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Drivers {
    pub(crate) greeter: Greeter,
    pub(crate) provisioner: Provisioner,
    pub(crate) director: Director,
    pub(crate) kubernetes_timeout: Period,
}

#[derive(Debug, Clone)]
pub(crate) struct Greeter {
    pub(crate) url: Option<HttpUrl>,
    pub(crate) timeout: Period,
}

#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) level: LogFilter,
    pub(crate) format: LogFormat,
    pub(crate) to: Vec<LogOutput>,
    pub(crate) file: PathBuf,
    pub(crate) components: LogComponents,
}

/// The files that are written per component, beside all other outputs.
#[derive(Debug, Clone)]
pub(crate) struct LogComponents {
    pub(crate) directory: Option<PathBuf>,
    pub(crate) severity: LogSeverity,
    pub(crate) system: LogSystem,
    pub(crate) rotate_bytes: u64,
    pub(crate) keep: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Secrets {
    pub(crate) key_ring: PathBuf,
}

/// Where each value in force came from. Secrets are masked already when they get here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origins(BTreeMap<String, (serde_json::Value, Origin)>);

impl Origins {
    /// Path, masked value and origin of every setting, by path.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &serde_json::Value, &Origin)> {
        self.0.iter().map(|(path, (value, origin))| (path.as_str(), value, origin))
    }

    pub(crate) fn of(&self, path: &str) -> Option<&Origin> {
        self.0.get(path).map(|(_, origin)| origin)
    }
}

/// Our environment as text. A variable that is not text can be none of ours and is left out.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl Config {
    /// Reads the named file, or else the one in `PROVISION_ENGINE_CONFIG`, or else a usual one if it exists,
    /// and lays the environment and then the flags (dotted path and text) over it.
    pub(crate) fn load(
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let around = Surroundings::of(env);
        let own = files::own(file, &around)?;
        Config::parse(&Files { own, engine_conf: None }, &around, flags)
    }

    /// The same over an `engine.conf`: the named one, or else the one in `PROVISION_ENGINE_ENGINE_CONF`, or else
    /// that of the installation if there is one.
    pub(crate) fn load_installed(
        file: Option<&Path>,
        engine_conf: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let around = Surroundings::of(env);
        let own = files::own(file, &around)?;
        let engine_conf = files::engine_conf(engine_conf, &around)?;
        Config::parse(&Files { own, engine_conf }, &around, flags)
    }

    /// Everything that is left to do once the files are in memory.
    fn parse(
        files: &Files,
        around: &Surroundings,
        flags: &[(String, String)],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let mut layers = Layers::new(around);
        let engine_conf = files.engine_conf.as_ref().map(|(path, text)| layers.engine_conf(path, text));
        if let Some((path, text)) = &files.own {
            layers.file(&path.display().to_string(), text);
        }
        layers.environment();
        layers.flags(flags);
        layers.defaults();

        let Layers { found, warnings, problems, .. } = layers;
        let mut settings = Reader { found: &found, problems };
        let config = settings.config(files.own.as_ref().map(|(path, _)| path.clone()), engine_conf);
        if settings.problems.is_empty() {
            Ok((config, warnings))
        } else {
            Err(ConfigError { problems: settings.problems })
        }
    }

    /// What is in force, as a tree in which secrets are masked.
    pub(crate) fn to_value_masked(&self) -> serde_json::Value {
        let mut root = serde_json::Map::new();
        for (path, value, _) in self.origins.iter() {
            let (sections, key) = path.rsplit_once('.').unwrap_or(("", path));
            let mut map = &mut root;
            for section in sections.split('.').filter(|section| !section.is_empty()) {
                let inner = map.entry(section).or_insert_with(|| serde_json::Map::new().into());
                map = inner.as_object_mut().expect("no setting is above another one");
            }
            map.insert(key.to_owned(), value.clone());
        }
        root.into()
    }

    pub(crate) fn origins(&self) -> &Origins {
        &self.origins
    }
}

/// Turns found values into typed ones and collects what is wrong with them on the way.
struct Reader<'a> {
    found: &'a BTreeMap<String, Found>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    /// The value of a setting. A bad one is noted, and its default stands in for it until all are read.
    fn get<T: FromNode>(&mut self, path: &str) -> T {
        let good = self.read(path);
        good.or_else(|| {
            let setting = settings::find(path)?;
            T::read(&layers::preset(setting), setting.kind).ok()
        })
        .expect("the default of every setting is a good value")
    }

    fn read<T: FromNode>(&mut self, path: &str) -> Option<T> {
        let setting = settings::find(path).expect("every path that is read is in the table");
        let found = self.found.get(path).expect("every setting has at least its default");
        match T::read(&found.node, setting.kind) {
            Ok(value) => Some(value),
            Err(node) => {
                self.refuse(path, node.spot, values::complaint(&node, setting.kind));
                None
            }
        }
    }

    fn refuse(&mut self, path: &str, spot: tree::Spot, message: String) {
        let origin = self.found.get(path).map(|found| found.source.at(spot));
        self.problems.push(Problem { origin, path: path.to_owned(), message });
    }

    fn refuse_whole(&mut self, path: &str, message: String) {
        let spot = self.found.get(path).map(|found| found.node.spot).unwrap_or_default();
        self.refuse(path, spot, message);
    }

    fn config(&mut self, file: Option<PathBuf>, engine_conf: Option<EngineConf>) -> Config {
        let data_dir: PathBuf = self.get("data_dir");
        Config {
            file,
            engine_conf,
            server: self.server(),
            ca_file: self.get("tls.ca_file"),
            console: self.console(),
            store: self.store(&data_dir),
            data_dir,
            engine: self.engine(),
            sandbox: self.sandbox(),
            drivers: Drivers {
                greeter: Greeter {
                    url: self.get("drivers.greeter.url"),
                    timeout: self.get("drivers.greeter.timeout"),
                },
                provisioner: self.provisioner(),
                director: self.director(),
                kubernetes_timeout: self.get("drivers.kubernetes.timeout"),
            },
            runtime: self.runtime(),
            osb: self.osb(),
            serverless: self.serverless(),
            launch: self.launch(),
            log: self.log(),
            secrets: Secrets { key_ring: self.get("secrets.key_ring") },
            origins: self.origins(),
        }
    }

    fn store(&mut self, data_dir: &Path) -> Store {
        let database: Option<Database> = self.get("store.database_url");
        Store {
            database: database.unwrap_or_else(|| Database::Sqlite(data_dir.join("engine.db"))),
            connections: self.get("store.connections"),
            lease: self.get("store.lease"),
            poll: self.get("store.poll"),
        }
    }

    fn log(&mut self) -> Log {
        Log {
            level: self.get("log.level"),
            format: self.get("log.format"),
            to: self.get("log.to"),
            file: self.get("log.file"),
            components: LogComponents {
                directory: self.get("log.directory"),
                severity: self.get("log.severity"),
                system: self.get("log.system"),
                rotate_bytes: self.get("log.rotate_bytes"),
                keep: self.get("log.keep"),
            },
        }
    }

    fn engine(&mut self) -> Engine {
        Engine {
            max_running: self.get("engine.max_running"),
            step_limit: self.get("engine.step_limit"),
            operation_deadline: self.get("engine.operation_deadline"),
            retry: self.retry(),
            stop_grace: self.get("engine.stop_grace"),
            limits: self.limits(),
            retention: self.get("engine.retention"),
        }
    }

    fn retry(&mut self) -> Retry {
        let (first, max) = (self.get("engine.retry.first"), self.get("engine.retry.max"));
        if first > max {
            let message = format!("expected at least engine.retry.first ({first}), got {max}");
            self.refuse_whole("engine.retry.max", message);
        }
        Retry { first, max, budget: self.get("engine.retry.budget") }
    }

    fn limits(&mut self) -> Limits {
        const SECTION: &str = "engine.limits.";
        let default = self.get("engine.limits.default");
        let mut by_name = BTreeMap::new();
        let found = self.found;
        for path in found.keys() {
            let Some(name) = path.strip_prefix(SECTION).filter(|name| *name != "default") else { continue };
            if let Some(limit) = self.read(path) {
                by_name.insert(name.to_owned(), limit);
            }
        }
        Limits { default, by_name }
    }

    fn origins(&self) -> Origins {
        let entries = self.found.iter().filter_map(|(path, found)| {
            let value = values::shown(&found.node, settings::find(path)?.kind);
            Some((path.clone(), (value, found.source.at(found.node.spot))))
        });
        Origins(entries.collect())
    }
}

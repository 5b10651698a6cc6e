//! A log per component, beside all other outputs: `engine.log` for what is asked of the engine, `CloudClient.log`
//! for what it asks of OpenNebula, and `api.log` for every request.

use std::fs::{DirBuilder, File, TryLockError};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::Clock;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber, info};
use tracing_subscriber::filter::{FilterFn, filter_fn};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::component_file::{ComponentFile, FileLimits};
use super::component_line::{LogTime, access, logged, started};
use super::line::Fields;
use super::outputs::{Logs, Output};
use super::syslog::Tag;
use super::{LogError, around};
use crate::config::{LogComponents, LogSeverity, LogSystem, masked_url};

/// The targets of lines that belong to a component.
const ENGINE: &str = "serverless";
const CLOUD_CLIENT: &str = "opennebula";
const API: &str = "access";
pub(super) const TARGETS: [&str; 3] = [ENGINE, CLOUD_CLIENT, API];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    Engine,
    CloudClient,
    Api,
}

impl Component {
    const fn name(self) -> &'static str {
        match self {
            Component::Engine => "engine",
            Component::CloudClient => "CloudClient",
            Component::Api => "api",
        }
    }

    /// Whose line this is. An error of no component is the engine's.
    fn of(metadata: &Metadata<'_>) -> Option<Component> {
        match metadata.target() {
            ENGINE => Some(Component::Engine),
            CLOUD_CLIENT => Some(Component::CloudClient),
            API => Some(Component::Api),
            _ if *metadata.level() <= Level::WARN => Some(Component::Engine),
            _ => None,
        }
    }
}

pub(super) struct Components {
    least: Level,
    clock: Arc<dyn Clock>,
    engine: Output,
    cloud_client: Output,
    /// Always a file: a log of accesses is read by other programs than those that read syslog.
    api: Output,
}

impl Components {
    /// Begins new files in the directory, if there is one. `daemon` is where syslog listens.
    pub(super) fn open(
        settings: &LogComponents,
        daemon: &Path,
        clock: Arc<dyn Clock>,
        logs: &mut Logs,
    ) -> Result<Option<Components>, LogError> {
        let Some(directory) = &settings.directory else { return Ok(None) };
        logs.hold(own(directory)?);
        let mut file = |component: Component, header: bool| {
            let path = directory.join(format!("{}.log", component.name()));
            open_file(path, settings, header, &clock, logs)
        };
        let api = file(Component::Api, false)?;
        let [engine, cloud_client] = match settings.system {
            LogSystem::File => [file(Component::Engine, true)?, file(Component::CloudClient, true)?],
            LogSystem::Syslog => [Component::Engine, Component::CloudClient]
                .map(|component| logs.syslog(daemon, Tag::component(component.name()))),
        };
        Ok(Some(Components { least: level(settings.severity), clock, engine, cloud_client, api }))
    }

    /// What gets here at all. Spans do, because they say to which request trouble belongs.
    pub(super) fn filter(&self) -> FilterFn<impl Fn(&Metadata<'_>) -> bool + use<>> {
        let least = self.least;
        let wanted = move |metadata: &Metadata<'_>| {
            if metadata.is_span() {
                return *metadata.level() <= Level::INFO;
            }
            match Component::of(metadata) {
                Some(Component::Api) => *metadata.level() <= Level::INFO,
                Some(_) => *metadata.level() <= least,
                None => false,
            }
        };
        filter_fn(wanted).with_max_level_hint(LevelFilter::from_level(least.max(Level::INFO)))
    }
}

/// The right to write to this directory. Two engines would put aside each other's files.
fn own(directory: &Path) -> Result<File, LogError> {
    let name = || directory.display().to_string();
    let unusable = |source| LogError::Component { path: name(), source };
    DirBuilder::new().recursive(true).mode(0o750).create(directory).map_err(unusable)?;
    let handle = File::open(directory).map_err(unusable)?;
    match handle.try_lock() {
        Ok(()) => Ok(handle),
        Err(TryLockError::WouldBlock) => Err(LogError::Taken { directory: name() }),
        Err(TryLockError::Error(source)) => Err(unusable(source)),
    }
}

fn open_file(
    path: PathBuf,
    settings: &LogComponents,
    has_header: bool,
    clock: &Arc<dyn Clock>,
    logs: &mut Logs,
) -> Result<Output, LogError> {
    let limits = FileLimits { bytes: settings.rotate_bytes, keep: settings.keep };
    let shown = path.display().to_string();
    let file = ComponentFile::open(path, limits, has_header, Arc::clone(clock), logs.reopened());
    let file = file.map_err(|source| LogError::Component { path: shown, source })?;
    Ok(logs.queue("log-component", file))
}

impl<S> Layer<S> for Components
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let Some(component) = Component::of(metadata) else { return };
        let level = *metadata.level();
        // A line of the usual course of things is as short as it always was.
        let mut fields = if level <= Level::WARN { around(event, &context) } else { Fields::default() };
        event.record(&mut fields);
        let now = LogTime::of(self.clock.now());
        let (output, line) = match component {
            Component::Engine => (&self.engine, logged(now, level, &fields)),
            Component::CloudClient => (&self.cloud_client, logged(now, level, &fields)),
            Component::Api => {
                (&self.api, access(now, &fields).unwrap_or_else(|| started(now, level, &fields)))
            }
        };
        let mut bare = String::new();
        fields.write(&mut bare);
        output.write(level, &line, &bare);
    }
}

fn level(severity: LogSeverity) -> Level {
    match severity {
        LogSeverity::Debug => Level::DEBUG,
        LogSeverity::Info => Level::INFO,
        LogSeverity::Warn => Level::WARN,
        LogSeverity::Error => Level::ERROR,
    }
}

/// The first lines of every log: who writes it, and whom the engine talks to.
pub fn announce(listen: SocketAddr, oned: &str, oneflow: &str) {
    let (pid, port) = (std::process::id(), listen.port());
    info!(target: API, "provision-engine {}", env!("CARGO_PKG_VERSION"));
    info!(target: API, "provision-engine#start: pid={pid} port={port}");
    info!(target: ENGINE, "Initializing Provision Engine component: {}", Component::Engine.name());
    info!(target: ENGINE, "Using oned at {}", masked_url(oned));
    info!(target: ENGINE, "Using oneflow at {}", masked_url(oneflow));
    info!(target: CLOUD_CLIENT, "Initializing Provision Engine component: {}", Component::CloudClient.name());
}

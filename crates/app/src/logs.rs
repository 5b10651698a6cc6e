//! Logs as text or JSON, to several outputs, none of which can block the program.

mod component_file;
mod component_line;
mod components;
mod line;
mod outputs;
mod syslog;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use engine::WallClock;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Scope};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry};

use crate::config;
use components::Components;
use line::{Fields, LogLine};
use outputs::{DAEMON, Outputs};

pub use components::announce;
pub use outputs::Logs;

/// Why logging cannot begin. Once it has begun, no failure of an output reaches the program.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("log.level: {filter:?} is not a filter")]
    Filter { filter: String, source: tracing_subscriber::filter::ParseError },
    #[error("log.file: cannot open {path}")]
    File { path: String, source: std::io::Error },
    #[error("log.directory: cannot open {path}: make it writable for this user, or name another directory")]
    Component { path: String, source: std::io::Error },
    #[error("log.directory: another engine writes its logs to {directory}: name another directory")]
    Taken { directory: String },
    #[error("logging has already begun")]
    Twice(#[source] tracing_subscriber::util::TryInitError),
}

/// Begins logging for the whole process. Lines still on their way are written when the guard is dropped, so
/// it has to live as long as the program.
pub fn init(log: &config::LogSettings) -> Result<Logs, LogError> {
    let (outputs, logs) = outputs::open(log)?;
    subscriber(log, outputs, SystemTime, None)?.try_init().map_err(LogError::Twice)?;
    Ok(logs)
}

/// The same for a server, which also has a log per component.
pub fn init_with_components(log: &config::LogSettings) -> Result<Logs, LogError> {
    let (outputs, mut logs) = outputs::open(log)?;
    let components = Components::open(&log.components, Path::new(DAEMON), Arc::new(WallClock), &mut logs)?;
    subscriber(log, outputs, SystemTime, components)?.try_init().map_err(LogError::Twice)?;
    Ok(logs)
}

fn subscriber<T>(
    log: &config::LogSettings,
    outputs: Outputs,
    time: T,
    components: Option<Components>,
) -> Result<impl Subscriber + Send + Sync, LogError>
where
    T: FormatTime + Send + Sync + 'static,
{
    let text = log.level.as_str();
    let filter = EnvFilter::builder()
        .parse(text)
        .map_err(|source| LogError::Filter { filter: text.to_owned(), source })?;
    // Lines about every call go to the logs of components alone, unless `log.level` names the component.
    let named = components::TARGETS.iter().any(|target| text.contains(target));
    let filter = filter.and(filter_fn(move |metadata| {
        named || *metadata.level() <= Level::WARN || !components::TARGETS.contains(&metadata.target())
    }));
    // Spans are kept whatever the level of the lines, so that a warning still says to which request and
    // operation it belongs when `log.level` is `warn`.
    let spans = filter_fn(|metadata| metadata.is_span() && *metadata.level() <= Level::INFO)
        .with_max_level_hint(Level::INFO);
    let components = components.map(|components| {
        let filter = components.filter();
        components.with_filter(filter)
    });
    Ok(Registry::default().with(Lines { outputs, time }.with_filter(filter.or(spans))).with(components))
}

/// Turns events into lines: the event's own fields and those of all spans around it, side by side.
struct Lines<T> {
    outputs: Outputs,
    time: T,
}

impl<S, T> Layer<S> for Lines<T>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    T: FormatTime + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut time = String::new();
        // A clock that cannot be printed is no reason to lose the line.
        let _ = self.time.format_time(&mut Writer::new(&mut time));

        let mut fields = around(event, &context);
        event.record(&mut fields);
        self.outputs.write(&LogLine::new(time, event.metadata(), fields));
    }
}

/// The fields of all spans around an event. Only `Lines` keeps them, for every layer.
fn around<S>(event: &Event<'_>, context: &Context<'_, S>) -> Fields
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let mut fields = Fields::default();
    for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
        if let Some(around) = span.extensions().get::<Fields>() {
            fields.extend(around);
        }
    }
    fields
}

//! Log lines as text or JSON, to several outputs at once, none of which can ever hold the program up.

mod line;
mod outputs;
mod syslog;
#[cfg(test)]
mod tests;

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
use line::{Fields, Line};
use outputs::Outputs;

pub(crate) use outputs::Logs;

/// Why logging cannot begin. Once it has begun, no failure of an output reaches the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    #[error("log.level: {filter:?} is not a filter")]
    Filter { filter: String, source: tracing_subscriber::filter::ParseError },
    #[error("log.file: cannot open {path}")]
    File { path: String, source: std::io::Error },
    #[error("logging has already begun")]
    Twice(#[source] tracing_subscriber::util::TryInitError),
}

/// Begins logging for the whole process. Lines still on their way are written when the guard is dropped, so
/// it has to live as long as the program.
pub(crate) fn init(log: &config::Log) -> Result<Logs, LogError> {
    let (outputs, guard) = outputs::open(log)?;
    subscriber(log, outputs, SystemTime)?.try_init().map_err(LogError::Twice)?;
    Ok(guard)
}

fn subscriber<T>(
    log: &config::Log,
    outputs: Outputs,
    time: T,
) -> Result<impl Subscriber + Send + Sync, LogError>
where
    T: FormatTime + Send + Sync + 'static,
{
    let filter = log.level.as_str();
    let filter = EnvFilter::builder()
        .parse(filter)
        .map_err(|source| LogError::Filter { filter: filter.to_owned(), source })?;
    // Spans are kept whatever the level of the lines, so that a warning still says to which request and
    // operation it belongs when `log.level` is `warn`.
    let spans = filter_fn(|metadata| metadata.is_span() && *metadata.level() <= Level::INFO)
        .with_max_level_hint(Level::INFO);
    Ok(Registry::default().with(Lines { outputs, time }.with_filter(filter.or(spans))))
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

        let mut fields = Fields::default();
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(around) = span.extensions().get::<Fields>() {
                fields.extend(around);
            }
        }
        event.record(&mut fields);
        self.outputs.write(&Line::new(time, event.metadata(), fields));
    }
}

//! The settings of the logs.

use std::path::PathBuf;

use ::config::Preset::{InDataDir, Is, Nothing};
use ::config::{FromNode, Section, SectionReader, Setting, TreeNode, ValueKind, set, text};

pub const SEVERITIES: [(&str, LogSeverity); 4] = [
    ("debug", LogSeverity::Debug),
    ("info", LogSeverity::Info),
    ("warn", LogSeverity::Warn),
    ("error", LogSeverity::Error),
];

#[derive(Debug, Clone)]
pub struct LogSettings {
    pub level: LogFilter,
    pub format: LogFormat,
    pub to: Vec<LogOutput>,
    pub file: PathBuf,
    pub components: LogComponents,
}

/// The files that are written per component, beside all other outputs.
#[derive(Debug, Clone)]
pub struct LogComponents {
    pub directory: Option<PathBuf>,
    pub severity: LogSeverity,
    pub system: LogSystem,
    pub rotate_bytes: u64,
    pub keep: usize,
}

impl Section for LogSettings {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("log.level", Is("info"), ValueKind::Filter,
            "What is logged."),
        set("log.format", Is("text"), ValueKind::OneOf(&["text", "json"]),
            "The form of a log line."),
        set("log.to", Is("stderr"), ValueKind::SomeOf(&["stdout", "stderr", "file", "syslog"]),
            "Where log lines go."),
        set("log.file", InDataDir("provision-engine.log"), ValueKind::Path,
            "The file that `file` in `log.to` appends to."),
        set("log.directory", Nothing, ValueKind::Path,
            "The directory for `engine.log`, `CloudClient.log` and `api.log`, which are written beside the other outputs. \
             With an `engine.conf`: `/var/log/provision-engine`."),
        set("log.severity", Is("info"), ValueKind::OneOf(&["debug", "info", "warn", "error"]),
            "The least severe lines in `engine.log` and `CloudClient.log`. With an `engine.conf` that does not say: `warn`."),
        set("log.system", Is("file"), ValueKind::OneOf(&["file", "syslog"]),
            "Whether the lines for `engine.log` and `CloudClient.log` go to these files or to syslog."),
        set("log.rotate_bytes", Is("10485760"), ValueKind::Whole(4_096, 1_099_511_627_776),
            "The size at which a file in `log.directory` is rotated, in bytes."),
        set("log.keep", Is("10"), ValueKind::Whole(0, 10_000),
            "How many rotated files are kept, per file."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> LogSettings {
        LogSettings {
            level: settings.get("log.level"),
            format: settings.one_of("log.format", &[("text", LogFormat::Text), ("json", LogFormat::Json)]),
            to: settings.get("log.to"),
            file: settings.get("log.file"),
            components: LogComponents {
                directory: settings.get("log.directory"),
                severity: settings.one_of("log.severity", &SEVERITIES),
                system: settings
                    .one_of("log.system", &[("file", LogSystem::File), ("syslog", LogSystem::Syslog)]),
                rotate_bytes: settings.get("log.rotate_bytes"),
                keep: settings.get("log.keep"),
            },
        }
    }
}

/// Which log lines are written, by level and by target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromNode for LogFilter {
    /// The filter library takes a mistyped level for the name of a target and then logs next to nothing, so
    /// every part has to end in a level.
    fn read(node: &TreeNode, _: ValueKind) -> Result<LogFilter, Box<TreeNode>> {
        const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
        text(node, |text| {
            let is_good = text.split(',').all(|part| match part.trim().rsplit_once('=') {
                Some((target, level)) => !target.is_empty() && LEVELS.contains(&level),
                None => LEVELS.contains(&part.trim()),
            });
            is_good.then(|| LogFilter(text.to_owned()))
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogOutput {
    Stdout,
    Stderr,
    File,
    Syslog,
}

impl FromNode for LogOutput {
    fn read(node: &TreeNode, _: ValueKind) -> Result<LogOutput, Box<TreeNode>> {
        text(node, |text| match text {
            "stdout" => Some(LogOutput::Stdout),
            "stderr" => Some(LogOutput::Stderr),
            "file" => Some(LogOutput::File),
            "syslog" => Some(LogOutput::Syslog),
            _ => None,
        })
    }
}

/// The least severe lines that a component's log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSeverity {
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSystem {
    File,
    Syslog,
}

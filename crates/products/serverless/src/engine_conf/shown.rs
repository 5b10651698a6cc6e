//! What is in force, in the words of `engine.conf`, for clients that ask `/server/config`.

use serde_json::{Value, json};

use super::EngineConf;
use crate::settings::Settings;
use app::config::{Config, LogSeverity, LogSystem, Origin, masked_url};

const HIDDEN: &str = "***";

/// The whole file as it would have to be written. The addresses are those that were given, or are used where
/// none were; with `serverless.show_config: redacted` they are hidden.
pub(crate) fn as_engine_conf(config: &Config, oned: &str, oneflow: &str) -> Value {
    let settings = config.section::<Settings>();
    let (listen, made) = (&config.server.listen, &settings.made);
    let address = |url| if settings.shows_addresses { masked_url(url) } else { HIDDEN.to_owned() };
    let mut shown = json!({
        "one_xmlrpc": address(oned),
        "oneflow_server": address(oneflow),
        "host": named_host(config).unwrap_or_else(|| listen.ip().to_string()),
        "port": listen.port(),
        "timeout": made.timeout.as_secs(),
        "capacity": {
            "disk": { "default": made.disk_default },
            "cpu": { "default": made.cpu_default, "mult": made.cpu_mult },
            "memory": {
                "default": made.memory_default,
                "mult": made.memory_mult,
                "resize_mode": made.resize_mode.as_str(),
            },
        },
        "log": { "level": level(config.log.components.severity), "system": system(config.log.components.system) },
    });
    if let Some(mapping) = &made.mapping {
        shown["mapping"] = json!(mapping);
    }
    shown
}

/// The host in the words of the file, if the file is where the address comes from.
fn named_host(config: &Config) -> Option<String> {
    let conf = config.kept::<EngineConf>()?;
    match config.origins().of("server.listen")? {
        Origin::File { file, .. } if *file == conf.path.display().to_string() => conf.host.clone(),
        _ => None,
    }
}

fn level(severity: LogSeverity) -> u8 {
    match severity {
        LogSeverity::Debug => 0,
        LogSeverity::Info => 1,
        LogSeverity::Warn => 2,
        LogSeverity::Error => 3,
    }
}

fn system(system: LogSystem) -> &'static str {
    match system {
        LogSystem::File => "file",
        LogSystem::Syslog => "syslog",
    }
}

//! What is in force, in the words of `engine.conf`, for clients that ask `/server/config`.

use serde_json::{Value, json};

use crate::config::{Config, LogSeverity, LogSystem, Origin, masked_url};

const HIDDEN: &str = "***";

impl Config {
    /// The whole file as it would have to be written. The addresses are those that were given, or are used where
    /// none were; with `serverless.show_config: redacted` they are hidden.
    pub(crate) fn as_engine_conf(&self, oned: &str, oneflow: &str) -> Value {
        let (listen, made) = (&self.server.listen, &self.serverless.made);
        let address = |url| if self.serverless.shows_addresses { masked_url(url) } else { HIDDEN.to_owned() };
        let mut shown = json!({
            "one_xmlrpc": address(oned),
            "oneflow_server": address(oneflow),
            "host": self.named_host().unwrap_or_else(|| listen.ip().to_string()),
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
            "log": { "level": level(self.log.components.severity), "system": system(self.log.components.system) },
        });
        if let Some(mapping) = &made.mapping {
            shown["mapping"] = json!(mapping);
        }
        shown
    }

    /// The host in the words of the file, if the file is where the address comes from.
    fn named_host(&self) -> Option<String> {
        let conf = self.engine_conf.as_ref()?;
        match self.origins().of("server.listen")? {
            Origin::File { file, .. } if *file == conf.path.display().to_string() => conf.host.clone(),
            _ => None,
        }
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

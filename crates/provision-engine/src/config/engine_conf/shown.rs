//! What is in force, in the words of `engine.conf`, for clients that ask `/server/config`.

use serde_json::{Value, json};

use crate::config::serverless::ShownConfig;
use crate::config::{Config, LogSeverity, LogSystem, Origin, masked_url};

const HIDDEN: &str = "***";

impl Config {
    /// The whole file as it would have to be written. The addresses are those that are really used, because a
    /// sandbox may stand in for OpenNebula; with `serverless.show_config: redacted` they are hidden.
    pub(crate) fn as_engine_conf(&self, oned: &str, oneflow: &str) -> Value {
        let (listen, capacity) = (&self.server.listen, &self.serverless.capacity);
        let address = |url| match self.serverless.shown {
            ShownConfig::Full => masked_url(url),
            ShownConfig::Redacted => HIDDEN.to_owned(),
        };
        let mut shown = json!({
            "one_xmlrpc": address(oned),
            "oneflow_server": address(oneflow),
            "host": self.named_host().unwrap_or_else(|| listen.ip().to_string()),
            "port": listen.port(),
            "timeout": self.serverless.timeout.get().as_secs(),
            "capacity": {
                "disk": { "default": capacity.disk_default },
                "cpu": { "default": capacity.cpu_default, "mult": capacity.cpu_mult },
                "memory": {
                    "default": capacity.memory_default,
                    "mult": capacity.memory_mult,
                    "resize_mode": capacity.resize_mode.as_str(),
                },
            },
            "log": { "level": level(self.log.components.severity), "system": system(self.log.components.system) },
        });
        if let Some(mapping) = &self.serverless.mapping {
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

//! The security of connections to brokers: TLS and SASL.

use std::path::PathBuf;

use rdkafka::ClientConfig;
use secrecy::{ExposeSecret, SecretString};

/// In clear and without SASL by default.
#[derive(Debug, Clone, Default)]
pub struct Security {
    pub tls: bool,
    pub sasl: Option<Sasl>,
    /// The only authorities that brokers are verified with; without it those of the system.
    pub ca_file: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct Sasl {
    /// `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    pub mechanism: String,
    pub username: String,
    pub password: SecretString,
}

impl Security {
    pub(super) fn apply(&self, config: &mut ClientConfig) {
        let protocol = match (self.tls, self.sasl.is_some()) {
            (false, false) => return,
            (true, false) => "ssl",
            (false, true) => "sasl_plaintext",
            (true, true) => "sasl_ssl",
        };
        config.set("security.protocol", protocol);
        if let Some(file) = self.ca_file.as_ref().filter(|_| self.tls) {
            config.set("ssl.ca.location", file.display().to_string());
        }
        if let Some(sasl) = &self.sasl {
            config.set("sasl.mechanism", &sasl.mechanism).set("sasl.username", &sasl.username);
            config.set("sasl.password", sasl.password.expose_secret());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn librdkafka_takes_every_combination_and_no_password_is_shown() {
        let sasl = |mechanism: &str| Sasl {
            mechanism: mechanism.into(),
            username: "ann".into(),
            password: "hunter2".into(),
        };
        let mechanisms = [None, Some("PLAIN"), Some("SCRAM-SHA-256"), Some("SCRAM-SHA-512")];
        for (tls, mechanism) in [false, true].into_iter().flat_map(|tls| mechanisms.map(|one| (tls, one))) {
            let security = Security { tls, sasl: mechanism.map(sasl), ca_file: None };
            let mut config = ClientConfig::new();
            security.apply(&mut config);
            let made = config.create::<rdkafka::producer::BaseProducer>().map(drop);
            assert!(made.is_ok(), "{tls} {mechanism:?}: {made:?}");
            assert!(!format!("{security:?}").contains("hunter2"));
        }
    }
}

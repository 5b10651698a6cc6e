//! How brokers are spoken to: in clear or with TLS, and with or without SASL.

use std::path::PathBuf;

use http_client::DriverError;
use rdkafka::ClientConfig;
use secrecy::{ExposeSecret, SecretString};

use super::SYSTEM;

/// The only mechanism that librdkafka has without OpenSSL.
const PLAIN: &str = "PLAIN";

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
    pub(super) fn apply(&self, config: &mut ClientConfig) -> Result<(), DriverError> {
        self.check(cfg!(feature = "tls"))?;
        let protocol = match (self.tls, self.sasl.is_some()) {
            (false, false) => return Ok(()),
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
        Ok(())
    }

    fn check(&self, has_openssl: bool) -> Result<(), DriverError> {
        let needs_openssl = self.tls || self.sasl.as_ref().is_some_and(|sasl| sasl.mechanism != PLAIN);
        if needs_openssl && !has_openssl {
            return Err(SYSTEM.refused(
                "launch.kafka asks for TLS or SCRAM, and this program was built without them: build it with \
                 `cargo build --release --features kafka-tls`, which needs OpenSSL",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sasl(mechanism: &str) -> Sasl {
        Sasl { mechanism: mechanism.into(), username: "ann".into(), password: "hunter2".into() }
    }

    #[test]
    fn what_this_program_cannot_do_is_said_before_anybody_connects() {
        let security = |tls, sasl| Security { tls, sasl, ca_file: None };
        for (wanted, needs_openssl) in [
            (security(false, None), false),
            (security(false, Some(sasl("PLAIN"))), false),
            (security(false, Some(sasl("SCRAM-SHA-256"))), true),
            (security(true, None), true),
            (security(true, Some(sasl("PLAIN"))), true),
        ] {
            assert!(wanted.check(true).is_ok());
            let checked = wanted.check(false);
            assert_eq!(checked.is_err(), needs_openssl, "{wanted:?}");
            assert!(checked.err().is_none_or(|error| error.to_string().contains("--features kafka-tls")));
            assert!(!format!("{wanted:?}").contains("hunter2"));
        }
    }

    #[test]
    fn librdkafka_takes_all_that_this_program_can_do() {
        let can = |tls, sasl| {
            let mut config = ClientConfig::new();
            Security { tls, sasl, ca_file: None }.apply(&mut config).unwrap();
            config.create::<rdkafka::producer::BaseProducer>().map(drop).unwrap();
        };
        can(false, Some(sasl("PLAIN")));
        if cfg!(feature = "tls") {
            can(true, None);
            for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
                can(true, Some(sasl(mechanism)));
            }
        }
    }
}

//! OpenNebula and the door in front of it, put together from the configuration.

use std::sync::Arc;

use ::opennebula::{Credentials, Options};
use ::serverless::api::ServerlessDoor;
use ::serverless::model::Serverless;
use anyhow::{Context, Result};

use crate::config::{self, Config};
use crate::orphans::read_one_auth;

/// Where OpenNebula listens when nobody says otherwise.
const ONED: &str = "http://localhost:2633/RPC2";
const ONEFLOW: &str = "http://localhost:2474";
/// Somebody who sees and makes the runtimes of all users of the sandbox.
const SANDBOX_STEWARD: &str = "oneadmin:opennebula";

/// OpenNebula as it is used, and where it is.
#[derive(Clone)]
pub(crate) struct Nebula {
    pub(crate) serverless: Arc<Serverless>,
    pub(crate) oned: String,
    pub(crate) oneflow: String,
    /// Whether a sandbox stands in for it.
    is_sandbox: bool,
}

impl Nebula {
    /// `sandbox` stands in for what has no address.
    pub(crate) fn open(config: &Config, sandbox: Option<&str>) -> Result<Nebula> {
        let given = &config.serverless;
        match (&given.oned, &given.oneflow, sandbox) {
            (Some(oned), Some(oneflow), _) => {
                Nebula::at(config, Options::new(oned.as_str(), oneflow.as_str()))
            }
            (_, _, Some(sandbox)) => Nebula::beside(config, sandbox),
            _ => Nebula::at(config, Options::new(ONED, ONEFLOW)),
        }
    }

    fn beside(config: &Config, sandbox: &str) -> Result<Nebula> {
        Ok(Nebula { is_sandbox: true, ..Nebula::at(config, Options::beside(sandbox))? })
    }

    fn at(config: &Config, place: Options) -> Result<Nebula> {
        let given = &config.serverless;
        let options = Options { connections: given.connections, timeout: given.call_timeout.get(), ..place };
        let serverless = Arc::new(Serverless::new(&options, given.made.clone())?);
        let Options { oned, oneflow, .. } = options;
        Ok(Nebula { serverless, oned, oneflow, is_sandbox: false })
    }

    pub(super) fn door(&self, config: &Config) -> Result<Option<ServerlessDoor>> {
        if !config.serverless.enabled {
            return Ok(None);
        }
        let given = |url: &Option<config::HttpUrl>| url.as_ref().map(|url| url.as_str().to_owned());
        let oned = given(&config.serverless.oned).unwrap_or_else(|| self.oned.clone());
        let oneflow = given(&config.serverless.oneflow).unwrap_or_else(|| self.oneflow.clone());
        let shown = config.as_engine_conf(&oned, &oneflow);
        Ok(Some(ServerlessDoor {
            steward: self.steward(config)?,
            version: config.serverless.version.clone(),
            body_limit_bytes: config.serverless.body_limit_bytes,
            ..ServerlessDoor::new(Arc::clone(&self.serverless), shown)
        }))
    }

    /// In whose name the console acts. The sandbox has somebody for that.
    fn steward(&self, config: &Config) -> Result<Option<Credentials>> {
        match &config.serverless.steward_one_auth {
            Some(path) => read_one_auth(path).context("serverless.steward_one_auth").map(Some),
            None if self.is_sandbox => Ok(Some(Credentials::parse(&SANDBOX_STEWARD.into())?)),
            None => Ok(None),
        }
    }
}

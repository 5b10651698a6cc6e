//! OpenNebula and the API in front of it, put together from the configuration.

use std::sync::Arc;

use crate::api::ServerlessApiParts;
use crate::model::Serverless;
use ::opennebula::{NebulaCredentials, OpenNebulaOptions};
use anyhow::{Context, Result};

use crate::engine_conf::as_engine_conf;
use crate::orphans::read_one_auth;
use crate::settings::Settings;
use app::config::{Config, HttpUrl};

/// Where OpenNebula listens unless configured otherwise.
const ONED: &str = "http://localhost:2633/RPC2";
const ONEFLOW: &str = "http://localhost:2474";
/// A user who sees and makes the runtimes of all users of the sandbox.
const SANDBOX_ALL_USERS: &str = "oneadmin:opennebula";

/// OpenNebula as it is used, and where it is.
#[derive(Clone)]
pub struct Nebula {
    pub(crate) serverless: Arc<Serverless>,
    pub(crate) oned: String,
    pub(crate) oneflow: String,
    /// Whether a sandbox stands in for it.
    is_sandbox: bool,
}

impl Nebula {
    /// `sandbox` stands in for what has no address.
    pub(crate) fn connect(settings: &Settings, sandbox: Option<&str>) -> Result<Nebula> {
        let (place, is_sandbox) = match (&settings.oned, &settings.oneflow, sandbox) {
            (Some(oned), Some(oneflow), _) => {
                (OpenNebulaOptions::new(oned.as_str(), oneflow.as_str()), false)
            }
            (_, _, Some(sandbox)) => (OpenNebulaOptions::beside(sandbox), true),
            _ => (OpenNebulaOptions::new(ONED, ONEFLOW), false),
        };
        let options = OpenNebulaOptions {
            connections: settings.connections,
            timeout: settings.call_timeout.get(),
            ..place
        };
        let serverless = Arc::new(Serverless::new(&options, settings.made.clone())?);
        let OpenNebulaOptions { oned, oneflow, .. } = options;
        Ok(Nebula { serverless, oned, oneflow, is_sandbox })
    }

    pub(crate) fn api_parts(&self, config: &Config) -> Result<Option<ServerlessApiParts>> {
        let settings = config.section::<Settings>();
        if !settings.enabled {
            return Ok(None);
        }
        let given = |url: &Option<HttpUrl>| url.as_ref().map(|url| url.as_str().to_owned());
        let oned = given(&settings.oned).unwrap_or_else(|| self.oned.clone());
        let oneflow = given(&settings.oneflow).unwrap_or_else(|| self.oneflow.clone());
        let shown = as_engine_conf(config, &oned, &oneflow);
        Ok(Some(ServerlessApiParts {
            all_users: self.all_users(settings)?,
            version: settings.version.clone(),
            body_limit_bytes: settings.body_limit_bytes,
            ..ServerlessApiParts::new(Arc::clone(&self.serverless), shown)
        }))
    }

    /// The account that the console uses. The sandbox has one for that.
    fn all_users(&self, settings: &Settings) -> Result<Option<NebulaCredentials>> {
        match &settings.steward_one_auth {
            Some(path) => read_one_auth(path).context("serverless.steward_one_auth").map(Some),
            None if self.is_sandbox => Ok(Some(NebulaCredentials::parse(&SANDBOX_ALL_USERS.into())?)),
            None => Ok(None),
        }
    }
}

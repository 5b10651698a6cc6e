//! Where the server is and the token for it: flags, then the environment, then the data directory.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use api::client::{Api, Auth, Client, is_loopback};
use reqwest::Url;
use secrecy::SecretString;

use super::CallResult;
use crate::background::{Control, Status, reachable};
use crate::cli::Global;
use crate::config::Config;
use crate::contexts::{Context, Contexts};
use crate::exit::UsageError;
use crate::paths::DataDir;
use ::config::Origin;

#[derive(Debug, Clone)]
pub struct Address {
    url: Url,
    token: Option<SecretString>,
    data_dir: PathBuf,
    /// The data directory said where the server is.
    is_found: bool,
    /// The secrets of the data directory may be shown to this server.
    may_use_own: bool,
}

impl Address {
    pub fn find(global: &Global) -> Result<Address> {
        let (config, _) = global.load(&[])?;
        let dir = DataDir::new(&config.data_dir);
        let given = global.server.as_deref().filter(|server| !server.is_empty());
        let context = if given.is_none() { context(global, &config)? } else { None };
        let (url, is_found) = match (given, &context) {
            (Some(server), _) => (parse_server("--server", server)?, false),
            (None, Some(context)) => (parse_server("the server of the context", &context.server)?, false),
            (None, None) => (local(&config, &dir)?, true),
        };
        let shown = global.token.as_deref().filter(|token| !token.is_empty()).map(SecretString::from);
        // The token of this machine's server is nothing for a server elsewhere, unless a flag says so.
        let may_use_own = context.is_none() && (is_found || is_loopback(&url) || global.data_dir.is_some());
        let token = match shown.or_else(|| context.and_then(|context| context.token)) {
            Some(token) => Some(token),
            None if may_use_own => admin_token(&dir)?,
            None => None,
        };
        Ok(Address { url, token, data_dir: config.data_dir, is_found, may_use_own })
    }

    pub fn token(&self) -> Auth {
        self.token.clone().map_or(Auth::None, Auth::Bearer)
    }

    /// Asks the data directory again when the server does not answer, if it was asked the first time.
    pub fn client(&self, api: &'static Api, auth: Auth) -> CallResult<Client> {
        let client = Client::new(::http_client::http_client(), api, self.url.clone(), auth)?;
        if !self.is_found {
            return Ok(client);
        }
        let dir = DataDir::new(&self.data_dir);
        Ok(client.located_by(Arc::new(move || running(&dir).ok().flatten())))
    }

    /// A file of the data directory whose secrets may be shown to this server.
    pub fn own_file(&self, name: &str) -> Option<PathBuf> {
        self.may_use_own.then(|| self.data_dir.join(name))
    }
}

/// The context that is named, or the current one where nothing else says which server is meant.
fn context(global: &Global, config: &Config) -> Result<Option<Context>> {
    let named = global.context.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = named {
        return Contexts::read()?.get(name).cloned().map(Some);
    }
    let is_named = matches!(config.origins().of("data_dir"), Some(Origin::Flag | Origin::Environment { .. }));
    if is_named {
        return Ok(None);
    }
    Ok(Contexts::read()?.current()?.map(|(_, context)| context.clone()))
}

/// `flag` says in an error where the address stands.
pub fn parse_server(flag: &str, server: &str) -> Result<Url> {
    let url: Url = server.parse().map_err(|_| UsageError(format!("{flag}: {server:?} is not a URL")))?;
    if !matches!(url.scheme(), "http" | "https") {
        let text = format!("{flag}: {server:?} does not begin with http:// or https://");
        return Err(UsageError(text).into());
    }
    Ok(url)
}

/// The server of this data directory, or the address at which it would listen.
fn local(config: &Config, dir: &DataDir) -> Result<Url> {
    if let Some(url) = running(dir)? {
        return Ok(url);
    }
    Ok(format!("http://{}", reachable(config.server.listen)).parse()?)
}

fn running(dir: &DataDir) -> Result<Option<Url>> {
    match Control::new(dir.clone())?.status()? {
        Status::Running(running) => Ok(Some(format!("http://{}", reachable(running.near())).parse()?)),
        Status::Stale | Status::NotRunning => Ok(None),
    }
}

fn admin_token(dir: &DataDir) -> Result<Option<SecretString>> {
    let path = dir.admin_token();
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(SecretString::from(text.trim()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // Another user's data directory: the server will say that a token is needed.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

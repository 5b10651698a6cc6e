//! Where the server is and what opens its doors: flags, then the environment, then the data directory.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use crate::background::{Control, Status, reachable};
use crate::cli::Global;
use crate::config::Config;
use crate::paths::DataDir;

#[derive(Debug, Clone)]
pub(crate) struct Address {
    url: Url,
    token: Option<SecretString>,
    /// Set when the data directory said where the server is.
    found_in: Option<PathBuf>,
}

impl Address {
    pub(crate) fn find(global: &Global) -> Result<Address> {
        let (config, _) = global.load(&[])?;
        let dir = DataDir::new(&config.data_dir);
        let given = global.server.as_deref().filter(|server| !server.is_empty());
        let (url, found_in) = match given {
            Some(server) => (parse(server)?, None),
            None => (local(&config, &dir)?, Some(config.data_dir.clone())),
        };
        let address = Address { url, token: None, found_in };
        let shown = global.token.as_deref().filter(|token| !token.is_empty()).map(SecretString::from);
        // The token of this machine's server is nothing for a server elsewhere, unless somebody says so.
        let may_use_own = address.found_in.is_some() || address.is_loopback() || global.data_dir.is_some();
        let token = match shown {
            Some(token) => Some(token),
            None if may_use_own => admin_token(&dir)?,
            None => None,
        };
        Ok(Address { token, ..address })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_ref().map(ExposeSecret::expose_secret)
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.url.host_str().is_some_and(|host| {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        })
    }

    /// Asks the data directory again, if it was asked the first time.
    pub(crate) fn look_again(&mut self) {
        let Some(path) = &self.found_in else { return };
        if let Ok(Some(url)) = running(&DataDir::new(path)) {
            self.url = url;
        }
    }
}

fn parse(server: &str) -> Result<Url> {
    let url: Url = server.parse().with_context(|| format!("--server: {server:?} is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        bail!("--server: {server:?} does not begin with http:// or https://");
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
        // Somebody else's data directory: the server will say that a token is needed.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

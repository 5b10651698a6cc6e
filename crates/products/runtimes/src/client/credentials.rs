//! Which broker is meant, and the credentials for it: from flags, then the environment, then files.

use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};
use api::client::{Auth, Client};
use clap::Args;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use super::BROKER;
use app::cli::Global;
use app::client::{Address, secret_in};

/// The file that a server writes for the owner of its data directory: one line, `user:password`.
const CREDENTIALS_FILE: &str = "broker.credentials";

/// The version of the Open Service Broker API that is spoken unless a flag names another.
const API_VERSION: &str = "2.17";

/// Which broker is meant; without these flags, the one of the server that other commands talk to
#[derive(Debug, Args)]
#[command(next_help_heading = "Broker options")]
pub(crate) struct BrokerArgs {
    /// Any service broker; else that of the local server
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "PROVISION_ENGINE_BROKER_URL",
        hide_env_values = true
    )]
    broker_url: Option<String>,
    /// The user at the broker
    #[arg(
        long,
        global = true,
        value_name = "USER",
        env = "PROVISION_ENGINE_BROKER_USER",
        hide_env_values = true
    )]
    broker_user: Option<String>,
    /// The password; better in the environment, where no list of processes shows it
    #[arg(
        long,
        global = true,
        value_name = "PASSWORD",
        env = "PROVISION_ENGINE_BROKER_PASSWORD",
        hide_env_values = true
    )]
    broker_password: Option<SecretString>,
    /// The platform region to come from, such as cf-eu10; calls go to /oauth/REGION then
    #[arg(
        long,
        global = true,
        value_name = "REGION",
        env = "PROVISION_ENGINE_BROKER_REGION",
        hide_env_values = true
    )]
    pub(crate) broker_region: Option<String>,
    /// The version of the Open Service Broker API to speak
    #[arg(long, global = true, value_name = "VERSION", default_value = API_VERSION)]
    pub(crate) api_version: String,
}

impl Default for BrokerArgs {
    /// No flag is given.
    fn default() -> BrokerArgs {
        let api_version = API_VERSION.to_owned();
        let (broker_url, broker_user, broker_password, broker_region) = (None, None, None, None);
        BrokerArgs { broker_url, broker_user, broker_password, broker_region, api_version }
    }
}

impl BrokerArgs {
    /// The broker that is named, or that of our own server; and what opens the list of instances that only ours has.
    pub(crate) fn client(&self, global: &Global) -> Result<(Client, Auth)> {
        let given = self.credentials()?;
        if let Some(url) = self.broker_url.as_deref().filter(|url| !url.is_empty()) {
            let auth = given.unwrap_or_default();
            return Ok((
                Client::new(::http_client::http_client(), &BROKER, parse(url)?, auth.clone())?,
                auth,
            ));
        }
        let own = Address::find(global)?;
        let kept = match (given, own.own_file(CREDENTIALS_FILE)) {
            (None, Some(path)) => kept_credentials(&path)?,
            (given, _) => given,
        };
        // The token of our own server opens its broker too, if its role is large enough.
        let auth = kept.unwrap_or_else(|| own.token());
        let list = match own.token() {
            Auth::None => auth.clone(),
            token => token,
        };
        Ok((own.client(&BROKER, auth)?, list))
    }

    fn credentials(&self) -> Result<Option<Auth>> {
        let user = self.broker_user.clone().filter(|user| !user.is_empty());
        let password = self.broker_password.clone().filter(|password| !password.expose_secret().is_empty());
        match (user, password) {
            (Some(user), Some(password)) => Ok(Some(Auth::Basic { user, password })),
            (None, None) => Ok(None),
            (Some(_), None) => bail!("--broker-user needs a password: set PROVISION_ENGINE_BROKER_PASSWORD"),
            (None, Some(_)) => bail!("a password needs its user: give --broker-user"),
        }
    }
}

fn parse(text: &str) -> Result<Url> {
    // The text may contain a password, so it is not repeated.
    let url: Url = text.parse().context("--broker-url: expected a URL such as https://broker.example")?;
    if !matches!(url.scheme(), "http" | "https") {
        bail!("--broker-url: expected a URL that begins with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        bail!(
            "--broker-url: credentials do not belong into a URL; give --broker-user and set \
             PROVISION_ENGINE_BROKER_PASSWORD"
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        bail!("--broker-url: expected a URL without `?` and `#`");
    }
    Ok(url)
}

fn kept_credentials(path: &Path) -> Result<Option<Auth>> {
    let text = match secret_in(path) {
        Ok(text) => text,
        // The broker will say that credentials are needed.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let line = text.expose_secret();
    match line.split_once(':') {
        Some((user, password)) if !user.is_empty() && !line.contains('\n') => {
            Ok(Some(Auth::Basic { user: user.to_owned(), password: SecretString::from(password) }))
        }
        _ => bail!("{}: expected one line, user:password", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_http_and_carries_no_secret() {
        for good in ["http://127.0.0.1:1", "https://h/base/"] {
            parse(good).unwrap();
        }
        for bad in ["", "h:1", "ftp://h", "http://me:s3cret@h", "http://me@h", "http://h/?a=b", "s3cret"] {
            let error = format!("{:#}", parse(bad).unwrap_err());
            assert!(error.starts_with("--broker-url: ") && !error.contains("s3cret"), "{bad}: {error}");
        }
    }

    #[test]
    fn kept_credentials_are_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(CREDENTIALS_FILE);
        assert!(kept_credentials(&path).unwrap().is_none());
        std::fs::write(&path, "me:a:b c\n").unwrap();
        let kept = kept_credentials(&path).unwrap().unwrap();
        assert!(!format!("{kept:?}").contains("a:b c"));
        let Auth::Basic { user, password } = kept else { panic!("not a password") };
        assert_eq!((user.as_str(), password.expose_secret()), ("me", "a:b c"));
        for bad in ["", "s3cret", ":s3cret", "a:s3cret\nb:c"] {
            std::fs::write(&path, bad).unwrap();
            let error = kept_credentials(&path).unwrap_err().to_string();
            assert!(error.contains("user:password") && !error.contains("s3cret"), "{error}");
        }
    }
}

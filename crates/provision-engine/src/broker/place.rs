//! Where the broker is and what opens it: flags, then the environment, then the server of the data directory.

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use crate::cli::Global;
use crate::client::Address;

/// The file that a server writes for whoever owns its data directory: one line, `user:password`.
const CREDENTIALS_FILE: &str = "broker.credentials";
const CREDENTIALS_BYTES_MAX: u64 = 4_096;

/// Which broker is meant; without these flags, the one of the server that other commands talk to
#[derive(Debug, Args)]
#[command(next_help_heading = "Broker options")]
pub(crate) struct BrokerArgs {
    /// Any service broker; else the one of this machine's server
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "PROVISION_ENGINE_BROKER_URL",
        hide_env_values = true
    )]
    pub(super) broker_url: Option<String>,
    /// Who we are to the broker
    #[arg(
        long,
        global = true,
        value_name = "USER",
        env = "PROVISION_ENGINE_BROKER_USER",
        hide_env_values = true
    )]
    pub(super) broker_user: Option<String>,
    /// The password; better in the environment, where no list of processes shows it
    #[arg(
        long,
        global = true,
        value_name = "PASSWORD",
        env = "PROVISION_ENGINE_BROKER_PASSWORD",
        hide_env_values = true
    )]
    pub(super) broker_password: Option<SecretString>,
    /// The platform region to come from, such as cf-eu10; calls go to /oauth/REGION then
    #[arg(
        long,
        global = true,
        value_name = "REGION",
        env = "PROVISION_ENGINE_BROKER_REGION",
        hide_env_values = true
    )]
    pub(super) broker_region: Option<String>,
    /// The version of the Open Service Broker API to speak
    #[arg(long, global = true, value_name = "VERSION", default_value = "2.17")]
    pub(super) api_version: String,
}

#[derive(Debug, Clone)]
pub(super) struct Credentials {
    pub(super) user: String,
    pub(super) password: SecretString,
}

/// One broker: named, or our own, which is looked for.
#[derive(Debug, Clone)]
pub(super) struct Place {
    url: Url,
    own: Option<Address>,
    pub(super) credentials: Option<Credentials>,
}

impl Place {
    pub(super) fn find(global: &Global, args: &BrokerArgs) -> Result<Place> {
        let given = given_credentials(args)?;
        if let Some(url) = args.broker_url.as_deref().filter(|url| !url.is_empty()) {
            return Ok(Place { url: parse(url)?, own: None, credentials: given });
        }
        let own = Address::find(global)?;
        let names_server = global.server.as_deref().is_some_and(|server| !server.is_empty());
        // What opens this machine's broker is nothing for one elsewhere, unless somebody says so.
        let may_use_own = !names_server || own.is_loopback() || global.data_dir.is_some();
        let credentials = match given {
            None if may_use_own => kept_credentials(&global.load(&[])?.0.data_dir.join(CREDENTIALS_FILE))?,
            given => given,
        };
        Ok(Place { url: own.url().clone(), own: Some(own), credentials })
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// The token that opens the other doors of our own server. Nobody else gets to see it.
    pub(super) fn token(&self) -> Option<&str> {
        self.own.as_ref().and_then(Address::token)
    }

    pub(super) fn is_loopback(&self) -> bool {
        self.url.host_str().is_some_and(|host| {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        })
    }

    /// Our own server may have another port after a restart.
    pub(super) fn look_again(&mut self) {
        if let Some(own) = &mut self.own {
            own.look_again();
            self.url = own.url().clone();
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

fn given_credentials(args: &BrokerArgs) -> Result<Option<Credentials>> {
    let user = args.broker_user.as_deref().filter(|user| !user.is_empty());
    let password = args.broker_password.as_ref().filter(|password| !password.expose_secret().is_empty());
    match (user, password) {
        (Some(user), Some(password)) => {
            Ok(Some(Credentials { user: user.to_owned(), password: password.clone() }))
        }
        (None, None) => Ok(None),
        (Some(_), None) => bail!("--broker-user needs a password: set PROVISION_ENGINE_BROKER_PASSWORD"),
        (None, Some(_)) => bail!("a password needs its user: give --broker-user"),
    }
}

fn kept_credentials(path: &Path) -> Result<Option<Credentials>> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(CREDENTIALS_BYTES_MAX).read_to_string(&mut text));
    match read {
        Ok(_) => {}
        // The broker will say that credentials are needed.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
    let text = SecretString::from(text);
    let line = text.expose_secret().trim_end_matches(['\r', '\n']);
    match line.split_once(':') {
        Some((user, password)) if !user.is_empty() && !line.contains('\n') => {
            Ok(Some(Credentials { user: user.to_owned(), password: SecretString::from(password) }))
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
        assert_eq!((kept.user.as_str(), kept.password.expose_secret()), ("me", "a:b c"));
        assert!(!format!("{kept:?}").contains("a:b c"));
        for bad in ["", "s3cret", ":s3cret", "a:s3cret\nb:c"] {
            std::fs::write(&path, bad).unwrap();
            let error = kept_credentials(&path).unwrap_err().to_string();
            assert!(error.contains("user:password") && !error.contains("s3cret"), "{error}");
        }
    }
}

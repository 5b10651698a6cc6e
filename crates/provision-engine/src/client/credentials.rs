//! Who asks: credentials for brokers and for OpenNebula, from flags, then the environment, then files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use api::client::{Auth, Client};
use clap::Args;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use workflows::serverless::Credentials as OneCredentials;

use super::{Address, BROKER};
use crate::cli::Global;
use crate::products::serverless::read_one_auth;

/// The file that a server writes for the owner of its data directory: one line, `user:password`.
const CREDENTIALS_FILE: &str = "broker.credentials";
/// The password belongs to the environment or into a file, because everybody on the machine can see a command line.
const PASSWORD: &str = "PROVISION_ENGINE_ONE_PASSWORD";
/// Where the tools of OpenNebula look, below the home directory.
const ONE_AUTH: &str = ".one/one_auth";
const USER: &str = "PROVISION_ENGINE_ONE_USER";
const ONE_AUTH_FILE: &str = "ONE_AUTH";
const FILE_BYTES_MAX: u64 = 8_192;

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
    broker_url: Option<String>,
    /// Who we are to the broker
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
    #[arg(long, global = true, value_name = "VERSION", default_value = "2.17")]
    pub(crate) api_version: String,
}

impl BrokerArgs {
    /// The broker that is named, or that of our own server; and what opens the list of instances that only ours has.
    pub(crate) fn client(&self, global: &Global) -> Result<(Client, Auth)> {
        let given = self.credentials()?;
        if let Some(url) = self.broker_url.as_deref().filter(|url| !url.is_empty()) {
            let auth = given.unwrap_or_default();
            return Ok((Client::new(drivers::http_client(), &BROKER, parse(url)?, auth.clone())?, auth));
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

/// The text of a small file, without the end of its line.
fn secret_in(path: &Path) -> io::Result<SecretString> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    let text = SecretString::from(text);
    Ok(SecretString::from(text.expose_secret().trim_end_matches(['\r', '\n'])))
}

/// Who is meant
#[derive(Debug, Args)]
#[command(next_help_heading = "OpenNebula options")]
pub(crate) struct OpenNebulaArgs {
    /// The user of OpenNebula; the password comes from --password-file or `PROVISION_ENGINE_ONE_PASSWORD`
    #[arg(
        long,
        global = true,
        value_name = "USER",
        env = USER,
        hide_env_values = true
    )]
    user: Option<String>,
    /// A file with nothing but the password or a login token of the user
    #[arg(long, global = true, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Without --user: a file with user:password; else `~/.one/one_auth`
    #[arg(long, global = true, value_name = "FILE", env = ONE_AUTH_FILE, hide_env_values = true)]
    one_auth: Option<PathBuf>,
}

impl OpenNebulaArgs {
    /// Who was named on the command line. What only the environment names does not count.
    pub(crate) fn named(&self) -> Result<Option<OneCredentials>> {
        let by_environment =
            |variable: &str, value: &OsStr| std::env::var_os(variable).as_deref() == Some(value);
        let user = self.user.as_ref().is_some_and(|user| !by_environment(USER, user.as_ref()));
        let file =
            self.one_auth.as_ref().is_some_and(|file| !by_environment(ONE_AUTH_FILE, file.as_os_str()));
        if user || file || self.password_file.is_some() { self.credentials().map(Some) } else { Ok(None) }
    }

    pub(crate) fn credentials(&self) -> Result<OneCredentials> {
        let password = std::env::var(PASSWORD).ok().filter(|text| !text.is_empty()).map(SecretString::from);
        let home = std::env::home_dir().map(|home| home.join(ONE_AUTH));
        self.find(password, home.as_deref())
    }

    fn find(&self, password: Option<SecretString>, home: Option<&Path>) -> Result<OneCredentials> {
        let user = self.user.as_deref().filter(|user| !user.is_empty());
        let given = self.password_file.as_deref().map(password_in).transpose()?;
        match (user, given.or(password)) {
            (Some(user), Some(password)) => {
                return OneCredentials::new(user, password).context("--user and its password cannot be used");
            }
            (Some(_), None) => {
                bail!("--user needs a password: give --password-file, or set {PASSWORD}")
            }
            (None, Some(_)) => bail!("a password needs its user: give --user"),
            (None, None) => {}
        }
        if let Some(file) = self.one_auth.as_deref().filter(|file| !file.as_os_str().is_empty()) {
            return read_one_auth(file);
        }
        match home.filter(|file| file.exists()) {
            Some(file) => read_one_auth(file),
            None => bail!(
                "who asks? Give --user and --password-file, or let ONE_AUTH name a file with user:password"
            ),
        }
    }
}

fn password_in(file: &Path) -> Result<SecretString> {
    secret_in(file).with_context(|| format!("cannot read {}", file.display()))
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

    fn args(user: Option<&str>, password_file: Option<&Path>, one_auth: Option<&Path>) -> OpenNebulaArgs {
        OpenNebulaArgs {
            user: user.map(str::to_owned),
            password_file: password_file.map(Path::to_owned),
            one_auth: one_auth.map(Path::to_owned),
        }
    }

    fn pair(found: &OneCredentials) -> (&str, &str) {
        (&found.user, found.secret().expose_secret())
    }

    #[test]
    fn a_user_that_is_named_wins_over_files_and_a_file_over_the_one_at_home() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (secret, auth) = (path("secret", "from:file\n"), path("auth", "ada:named\n"));
        let home = path("home", "ada:at-home");
        let environment = || Some(SecretString::from("environment"));
        let find = |args: OpenNebulaArgs, password| args.find(password, Some(&home)).unwrap();
        let found = find(args(Some("me"), Some(&secret), Some(&auth)), environment());
        assert_eq!(pair(&found), ("me", "from:file"));
        let found = find(args(Some("me"), None, Some(&auth)), environment());
        assert_eq!(pair(&found), ("me", "environment"));
        assert_eq!(pair(&find(args(None, None, Some(&auth)), None)), ("ada", "named"));
        assert_eq!(pair(&find(args(Some(""), None, Some(Path::new(""))), None)), ("ada", "at-home"));
    }

    #[test]
    fn what_is_missing_is_named_and_no_secret_is() {
        let dir = tempfile::tempdir().unwrap();
        let bad = dir.path().join("bad");
        std::fs::write(&bad, "hush hush:x y\n").unwrap();
        let nowhere = dir.path().join("nowhere");
        for (args, password, part) in [
            (args(None, None, None), None, "ONE_AUTH"),
            (args(Some("me"), None, None), None, PASSWORD),
            (args(None, None, None), Some("hush"), "--user"),
            (args(Some("me"), Some(&nowhere), None), None, "nowhere"),
            (args(None, None, Some(&nowhere)), None, "nowhere"),
            (args(None, None, Some(&bad)), None, "user:password"),
            (args(Some("me"), Some(&bad), None), None, "white space"),
        ] {
            let error = args.find(password.map(SecretString::from), Some(&nowhere)).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(part) && !error.contains("hush"), "{part}: {error}");
        }
    }
}

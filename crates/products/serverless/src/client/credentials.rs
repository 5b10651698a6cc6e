//! Credentials for OpenNebula, from flags, then the environment, then files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::model::NebulaCredentials as OneCredentials;
use anyhow::{Context, Result, bail};
use clap::Args;
use secrecy::SecretString;

use crate::orphans::read_one_auth;
use app::client::secret_in;

/// The password belongs to the environment or into a file, because all users of the host can see a command line.
const PASSWORD: &str = "PROVISION_ENGINE_ONE_PASSWORD";
/// Where the tools of OpenNebula look, below the home directory.
const ONE_AUTH: &str = ".one/one_auth";
const USER: &str = "PROVISION_ENGINE_ONE_USER";
const ONE_AUTH_FILE: &str = "ONE_AUTH";

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
                "no user of OpenNebula: give --user and --password-file, or let ONE_AUTH name a file with user:password"
            ),
        }
    }
}

fn password_in(file: &Path) -> Result<SecretString> {
    secret_in(file).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

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

//! The public key of a launch: one that the server has, or a file.

use std::path::{Path, PathBuf};

use crate::api::types::NewParameters;
use crate::api::wire::{NewPublicKey, PublicKeyResponse};
use crate::model::cloud::ProviderKind;
use anyhow::{Result, bail};

use crate::client::LaunchClient;

/// The most that is asked for in one call.
const PAGE_MAX: usize = 200;
/// The most keys of one user.
const PAGES_MAX: usize = 50;
const NAME: &str = "key";

/// A key as it is sent with the parameters of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyChoice {
    Kept {
        id: i64,
    },
    /// The server keeps it if it does not yet.
    New(NewPublicKey),
}

impl KeyChoice {
    /// What was given is a number, a file, or a name.
    pub(super) async fn find(client: &LaunchClient, given: &str, name: Option<&str>) -> Result<KeyChoice> {
        if let Ok(id) = given.parse() {
            return Ok(KeyChoice::Kept { id });
        }
        let path = at_home(given);
        if path.exists() {
            return Ok(KeyChoice::New(key_in_file("--key", &path.to_string_lossy(), name)?));
        }
        match named(client, given).await? {
            Some(key) => Ok(KeyChoice::Kept { id: key.id }),
            None => bail!(
                "--key: there is no file {given}, and no public key has this name; `{}` shows them, and \
                 `ssh-keygen -t ed25519` makes one",
                app::hint::command("pubkeys list")
            ),
        }
    }

    pub(super) fn lay_over(self, parameters: &mut NewParameters) {
        (parameters.pubkey_id, parameters.pubkey) = match self {
            KeyChoice::Kept { id } => (Some(id), None),
            KeyChoice::New(key) => (None, Some(key)),
        };
    }
}

pub(crate) fn key_in_file(flag: &str, path: &str, name: Option<&str>) -> Result<NewPublicKey> {
    let text = app::given::text(flag, path)?;
    let body = text.trim().to_owned();
    if body.contains("PRIVATE KEY") {
        bail!("{flag}: {path} is a private key, which must not be shared; name the file with .pub");
    }
    if body.lines().count() != 1 {
        bail!("{flag}: {path} must hold one public key of OpenSSH on one line");
    }
    let name = name.map_or_else(|| name_for(&body, path), str::to_owned);
    Ok(NewPublicKey { name, body })
}

/// The key with this name, if the server keeps one.
pub(crate) async fn named(client: &LaunchClient, name: &str) -> Result<Option<PublicKeyResponse>> {
    let mut offset = 0;
    for _ in 0..PAGES_MAX {
        let query = [("limit", PAGE_MAX.to_string()), ("offset", offset.to_string())];
        let page = client.public_keys(&query).await?;
        let has_more = page.has_more(offset);
        offset += page.data.len();
        if let Some(key) = page.data.into_iter().find(|key| key.name == name) {
            return Ok(Some(key));
        }
        if !has_more {
            break;
        }
    }
    Ok(None)
}

/// The comment, by which people know their keys, else the name of the file.
fn name_for(body: &str, path: &str) -> String {
    let comment = body.splitn(3, char::is_whitespace).nth(2).map(str::trim).filter(|text| !text.is_empty());
    let stem = || Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    comment.map(str::to_owned).or_else(|| stem().filter(|_| path != "-")).unwrap_or_else(|| NAME.to_owned())
}

/// A shell knows what `~` means, but not behind `--key=`.
fn at_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// The keys of the user on this host that the provider takes, the best one first.
pub(super) fn own(provider: &str) -> Vec<PathBuf> {
    let provider = provider.parse::<ProviderKind>();
    let is_taken = |kind| provider.as_ref().map_or(true, |provider| (provider.spec().keys.accepts)(kind));
    let home = std::env::home_dir();
    [("ssh-ed25519", "id_ed25519.pub"), ("ssh-rsa", "id_rsa.pub")]
        .into_iter()
        .filter(|(kind, _)| is_taken(kind))
        .filter_map(|(_, file)| Some(home.as_ref()?.join(".ssh").join(file)))
        .filter(|path| path.is_file())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_called_by_its_comment_else_by_its_file() {
        assert_eq!(name_for("ssh-ed25519 AAAA ada@example", "x.pub"), "ada@example");
        assert_eq!(name_for("ssh-ed25519 AAAA  my key ", "x.pub"), "my key");
        assert_eq!(name_for("ssh-ed25519 AAAA", "/a/id_ed25519.pub"), "id_ed25519");
        assert_eq!(name_for("ssh-ed25519 AAAA", "-"), NAME);
    }

    #[test]
    fn a_private_key_is_not_sent_to_anyone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let read = |text: &str| {
            std::fs::write(path, text).unwrap();
            key_in_file("--key", path, Some("mine")).map_err(|error| error.to_string())
        };
        let begin = "-----BEGIN OPENSSH";
        let error = read(&format!("{begin} PRIVATE KEY-----\nhush\n-----END")).unwrap_err();
        assert!(error.starts_with("--key: ") && error.contains(".pub") && !error.contains("hush"), "{error}");
        assert!(read("one\ntwo\n").unwrap_err().contains("one public key"));
        assert!(read("").unwrap_err().contains("one public key"));
        let key = read("ssh-ed25519 AAAA ada\n").unwrap();
        assert_eq!(key, NewPublicKey { name: "mine".into(), body: "ssh-ed25519 AAAA ada".into() });
        let mut parameters = NewParameters { pubkey_id: Some(7), ..NewParameters::default() };
        KeyChoice::New(key.clone()).lay_over(&mut parameters);
        assert!(parameters == NewParameters { pubkey: Some(key), ..NewParameters::default() });
    }
}

//! Contexts: servers that the user has logged in to, in one file of the user's configuration folder.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::exit::UsageError;
use crate::output::note;
use crate::paths::replace_file;

const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// One server and the token for it.
#[derive(Debug, Clone)]
pub struct Context {
    pub server: String,
    pub token: Option<SecretString>,
}

#[derive(Debug, Default)]
pub struct Contexts {
    pub current: Option<String>,
    pub all: BTreeMap<String, Context>,
}

/// How the file is written.
#[derive(Serialize, Deserialize)]
struct Saved {
    current: Option<String>,
    contexts: BTreeMap<String, SavedContext>,
}

#[derive(Serialize, Deserialize)]
struct SavedContext {
    server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl Contexts {
    /// The file that `PROVISION_ENGINE_CONTEXTS` names, else the one in the configuration folder of the user.
    pub fn path() -> Result<PathBuf> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = variable("PROVISION_ENGINE_CONTEXTS") {
            return Ok(path);
        }
        let folder = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
        let folder = folder.context("there is no home directory: set PROVISION_ENGINE_CONTEXTS")?;
        Ok(folder.join("provision-engine/contexts.json"))
    }

    /// None at all where there is no file.
    pub fn read() -> Result<Contexts> {
        let Ok(path) = Contexts::path() else { return Ok(Contexts::default()) };
        let file = match fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Contexts::default());
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        if file.metadata().is_ok_and(|about| about.permissions().mode() & 0o077 != 0) {
            note(format!("warning: others can read {}, which has tokens: chmod 600 it", path.display()));
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX)
            .read_to_string(&mut text)
            .with_context(|| format!("cannot read {}", path.display()))?;
        // What the parser says is left out, because it may repeat a token.
        let saved: Saved = serde_json::from_str(&text).map_err(|error| {
            anyhow!("{} is not a file of contexts (line {})", path.display(), error.line())
        })?;
        let read = |(name, saved): (String, SavedContext)| {
            (name, Context { server: saved.server, token: saved.token.map(SecretString::from) })
        };
        Ok(Contexts { current: saved.current, all: saved.contexts.into_iter().map(read).collect() })
    }

    /// Readable by the user alone.
    pub fn write(&self) -> Result<()> {
        let path = Contexts::path()?;
        let write = |(name, context): (&String, &Context)| {
            let token = context.token.as_ref().map(|token| token.expose_secret().to_owned());
            (name.clone(), SavedContext { server: context.server.clone(), token })
        };
        let saved = Saved { current: self.current.clone(), contexts: self.all.iter().map(write).collect() };
        if let Some(folder) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let text = serde_json::to_vec_pretty(&saved)?;
        replace_file(&path, &text).with_context(|| format!("cannot write {}", path.display()))
    }

    pub fn get(&self, name: &str) -> Result<&Context> {
        self.all.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.all.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
            UsageError(format!("there is no context {name:?}; known: {known}")).into()
        })
    }

    /// The context of commands that name no server.
    pub fn current(&self) -> Result<Option<(&str, &Context)>> {
        let Some(name) = self.current.as_deref() else { return Ok(None) };
        Ok(Some((name, self.get(name)?)))
    }

    pub fn remove(&mut self, name: &str) -> Result<()> {
        self.get(name)?;
        self.all.remove(name);
        self.current.take_if(|current| current == name);
        Ok(())
    }

    /// A name that can be typed.
    pub fn check_name(name: &str) -> Result<()> {
        let is_good = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
        if name.is_empty() || name.len() > 128 || !name.chars().all(is_good) {
            bail!(UsageError(format!(
                "{name:?} cannot be the name of a context: letters, digits and . _ - : only"
            )));
        }
        Ok(())
    }
}

//! The settings of the sandbox, and which others name a system that is none.

use super::layers::Source;
use super::{Config, Database, HttpUrl, Origin, Reader, settings};

/// Settings that name a system outside without an address of it.
const EXTERNAL: [&str; 4] =
    ["launch.aws.enabled", "launch.kafka.brokers", "runtime.override_objects.kubeconfig", "runtime.steps"];

#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    pub(crate) enabled: bool,
    pub(crate) url: Option<HttpUrl>,
}

impl Config {
    /// The settings that name a system outside, other than a sandbox.
    pub(crate) fn external_systems(&self) -> impl Iterator<Item = &str> {
        self.origins
            .iter()
            .filter(|(_, value, origin)| !value.is_null() && **origin != Origin::Default)
            .filter_map(|(path, value, _)| {
                let is_named = match settings::find(path)?.kind {
                    settings::Kind::Url => !path.starts_with("sandbox.") && path != "console.public_url",
                    settings::Kind::Database => matches!(self.store.database, Database::Postgres(_)),
                    _ => EXTERNAL.contains(&path) && *value != false,
                };
                is_named.then_some(path)
            })
    }
}

impl Reader<'_> {
    /// A sandbox takes the place of external systems and lets people in with one click, so no file and no variable
    /// starts it.
    pub(super) fn sandbox(&mut self) -> Sandbox {
        let sandbox = Sandbox { enabled: self.get("sandbox.enabled"), url: self.get("sandbox.url") };
        let named = [
            (sandbox.enabled, "sandbox.enabled", "--sandbox"),
            (sandbox.url.is_some(), "sandbox.url", "--sandbox-url"),
        ];
        for (is_set, path, flag) in named {
            let is_flag = self.found.get(path).is_some_and(|found| matches!(found.source, Source::Flag));
            if is_set && !is_flag {
                self.refuse_whole(path, format!("only the flag {flag} of the command line sets this"));
            }
        }
        sandbox
    }
}

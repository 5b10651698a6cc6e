//! The settings of the sandbox, and which settings name a real system.

use ::config::Preset::{Is, Nothing};
use ::config::{HttpUrl, Origin, Section, SectionReader, Setting, ValueKind, set};

use super::{Config, Database};

#[derive(Debug, Clone)]
pub struct Sandbox {
    pub enabled: bool,
    pub url: Option<HttpUrl>,
}

impl Config {
    /// The settings that name a system outside, other than a sandbox.
    pub fn external_systems(&self) -> impl Iterator<Item = &str> {
        self.origins
            .iter()
            .filter(|(_, value, origin)| !value.is_null() && **origin != Origin::Default)
            .filter_map(|(path, value, _)| {
                let setting = self.table.find(path)?;
                let is_file = matches!(setting.kind, ValueKind::Database)
                    && matches!(self.store.database, Database::Sqlite(_));
                (setting.is_external && !is_file && *value != false).then_some(path)
            })
    }
}

impl Section for Sandbox {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("sandbox.enabled", Is("false"), ValueKind::Switch,
            "Whether clients without a URL of their own call the \
             sandbox. Only the flag `--sandbox` turns it on. Without \
             any configuration `serve` turns it on too; `false` keeps it off."),
        set("sandbox.url", Nothing, ValueKind::Url,
            "Where a sandbox already listens. Only the flag `--sandbox-url` sets it.").external(false),
    ];

    /// A sandbox takes the place of external systems and lets people in with one click, so no file and no variable
    /// starts it.
    fn read(settings: &mut SectionReader<'_>) -> Sandbox {
        let sandbox = Sandbox { enabled: settings.get("sandbox.enabled"), url: settings.get("sandbox.url") };
        let named = [
            (sandbox.enabled, "sandbox.enabled", "--sandbox"),
            (sandbox.url.is_some(), "sandbox.url", "--sandbox-url"),
        ];
        for (is_set, path, flag) in named {
            if is_set && !settings.is_flag(path) {
                settings.refuse(path, format!("only the flag {flag} of the command line sets this"));
            }
        }
        sandbox
    }
}

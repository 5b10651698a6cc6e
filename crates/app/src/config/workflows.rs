//! The settings of workflows that are declared at run time.

use std::path::PathBuf;

use ::config::Preset::{InDataDir, Is, Nothing};
use ::config::{HttpUrl, Section, SectionReader, Setting, ValueKind, set};

#[derive(Debug, Clone)]
pub struct Workflows {
    pub dir: PathBuf,
    pub public_url: Option<HttpUrl>,
    pub allow_http: bool,
    pub allow_link_local: bool,
}

impl Section for Workflows {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("workflows.dir", InDataDir("workflows.d"), ValueKind::Path,
            "The folder with declarations of workflows, one in each `.yaml` file. It is read at start and when a file \
             changes."),
        set("workflows.public_url", Nothing, ValueKind::Url,
            "Where services reach this server to send signals; without it `console.public_url`, else the address on this \
             machine."),
        set("workflows.allow_http", Is("false"), ValueKind::Switch,
            "Whether steps of declared workflows may be called without TLS on other hosts."),
        set("workflows.allow_link_local", Is("false"), ValueKind::Switch,
            "Whether steps may be called at link-local addresses and those of metadata services of clouds."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Workflows {
        Workflows {
            dir: settings.get("workflows.dir"),
            public_url: settings.get("workflows.public_url"),
            allow_http: settings.get("workflows.allow_http"),
            allow_link_local: settings.get("workflows.allow_link_local"),
        }
    }
}

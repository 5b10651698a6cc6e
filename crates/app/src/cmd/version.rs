//! `version`: which release this is.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::exit::Exit;
use crate::output::{self, Format};

/// Print the version of this program
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine version\n  provision-engine version -o json")]
pub struct VersionArgs {}

#[derive(Debug, Serialize)]
struct Version {
    name: &'static str,
    version: &'static str,
    arch: &'static str,
    os: &'static str,
}

pub fn run(global: &Global, _: &VersionArgs) -> Result<Exit> {
    let version = Version {
        name: global.app.name,
        version: env!("CARGO_PKG_VERSION"),
        arch: std::env::consts::ARCH,
        os: std::env::consts::OS,
    };
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, &version)?,
        Format::Name => output::data(version.version)?,
        Format::Table | Format::Wide => output::data(&format!("{} {}", version.name, version.version))?,
    }
    Ok(Exit::GOOD)
}

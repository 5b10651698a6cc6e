//! `plan WORKFLOW --params FILE`: the request that would be sent, with its secrets masked.

use std::fs;
use std::io::{self, Read};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cli::Global;
use crate::cmd;
use crate::exit::Exit;
use crate::output::{self, Format, note};

/// A request of a platform is much smaller.
const BYTES_MAX: u64 = 256 * 1024;

pub(super) async fn run(global: &Global, workflow: &str, params: &str) -> Result<Exit> {
    let Some(dry_run) = global.app.dry_runs().find(|known| known.workflow == workflow) else {
        let known: Vec<&str> = global.app.dry_runs().map(|known| known.workflow).collect();
        bail!("a dry run is possible for {} only, not for {workflow:?}", known.join(", "));
    };
    let (config, warnings) = global.load(&[])?;
    cmd::warn(&warnings);
    let asked = serde_saphyr::from_str::<Value>(&read(params)?).context("--params is no JSON or YAML")?;
    let request = (dry_run.run)(&config, asked).await?;
    let format = if matches!(global.output, Format::Yaml) { Format::Yaml } else { Format::Json };
    output::print_value(format, &request)?;
    note("nothing was sent");
    Ok(Exit::GOOD)
}

fn read(params: &str) -> Result<String> {
    if params.trim_start().starts_with('{') {
        return Ok(params.to_owned());
    }
    let mut text = String::new();
    if params == "-" {
        io::stdin().take(BYTES_MAX + 1).read_to_string(&mut text).context("cannot read stdin")?;
    } else {
        let path = params.strip_prefix('@').unwrap_or(params);
        let file = fs::File::open(path).with_context(|| format!("cannot read {path}"))?;
        file.take(BYTES_MAX + 1).read_to_string(&mut text).with_context(|| format!("cannot read {path}"))?;
    }
    if text.len() as u64 > BYTES_MAX {
        bail!("--params is larger than {BYTES_MAX} bytes");
    }
    Ok(text)
}

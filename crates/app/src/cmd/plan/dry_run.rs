//! `plan WORKFLOW --params FILE`: the request that would be sent, with its secrets masked.

use std::fs;
use std::io::{self, Read};

use anyhow::{Context, Result, bail};
use api::types::{DryRun, DryRunCalls, Submit};
use serde_json::Value;

use crate::cli::Global;
use crate::client::PlatformClient;
use crate::cmd;
use crate::exit::Exit;
use crate::output::{self, Answer, Cell, Format, Table, note};

/// A request of a platform is much smaller.
const BYTES_MAX: u64 = 256 * 1024;

pub(super) async fn run(global: &Global, workflow: &str, params: &str) -> Result<Exit> {
    let Some(dry_run) = global.app.dry_runs().find(|known| known.workflow == workflow) else {
        if global.app.without_database().is_compiled(workflow) {
            let known: Vec<&str> = global.app.dry_runs().map(|known| known.workflow).collect();
            bail!(
                "a dry run is possible for {} and declared workflows only, not for {workflow:?}",
                known.join(", ")
            );
        }
        return declared(global, workflow, params).await;
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

/// The server lists the calls of a declared workflow.
async fn declared(global: &Global, workflow: &str, params: &str) -> Result<Exit> {
    let params = serde_saphyr::from_str::<Value>(&read(params)?).context("--params is no JSON or YAML")?;
    let asked = DryRun { params, tenant: Submit::default_tenant() };
    let calls = PlatformClient::find(global)?.dry_run(workflow, &asked).await?;
    output::print(global.output, &calls)?;
    note("nothing was called");
    Ok(Exit::GOOD)
}

impl Answer for DryRunCalls {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::new(["WEIGHT", "STEP", "CALL", "UNDO", "DEPENDS ON"]);
        for call in &self.calls {
            table.row([
                Cell::number(call.weight),
                Cell::new(&call.step),
                Cell::new(&call.url),
                Cell::maybe(call.undo.as_deref()),
                Cell::maybe(call.depends_on.as_deref()),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.calls.iter().map(|call| call.step.clone()).collect()
    }
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

//! `plan WORKFLOW --params FILE`: the request that would be sent, with its secrets masked.

use anyhow::{Result, bail};
use api::types::{DryRun, DryRunCalls, Submit};

use crate::cli::Global;
use crate::client::PlatformClient;
use crate::cmd;
use crate::exit::Exit;
use crate::given;
use crate::output::{self, Cell, Format, Render, Table, note};

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
    let asked = given::value("--params", params)?;
    let request = (dry_run.run)(&config, asked).await?;
    let format = if matches!(global.output, Format::Yaml) { Format::Yaml } else { Format::Json };
    output::print_value(format, &request)?;
    note("nothing was sent");
    Ok(Exit::GOOD)
}

/// The server lists the calls of a declared workflow.
async fn declared(global: &Global, workflow: &str, params: &str) -> Result<Exit> {
    let params = given::value("--params", params)?;
    let asked = DryRun { params, tenant: Submit::default_tenant() };
    let calls = PlatformClient::find(global)?.dry_run(workflow, &asked).await?;
    output::print(global.output, &calls)?;
    note("nothing was called");
    Ok(Exit::GOOD)
}

impl Render for DryRunCalls {
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

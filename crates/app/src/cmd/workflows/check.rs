//! `workflows check`: whether a declaration could be applied. Calls nothing.

use std::path::Path;

use anyhow::{Context, Result};
use declared::{Declaration, Reach};

use crate::cli::Global;
use crate::exit::Exit;
use crate::output::{self, note};

/// Reads a declaration with the settings of this machine. What is wrong is printed as `FILE:LINE:COLUMN: …`.
pub(super) fn read(global: &Global, file: &Path) -> Result<Result<Declaration, String>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (config, _) = global.load(&[])?;
    let workflows = &config.workflows;
    let reach = Reach { allow_http: workflows.allow_http, allow_link_local: workflows.allow_link_local };
    let shown = file.display();
    Ok(Declaration::parse(&text, reach).map_err(|wrong| match wrong.line {
        0 => format!("{shown}: {}", wrong.message),
        line => format!("{shown}:{line}:{}: {}", wrong.column, wrong.message),
    }))
}

pub(super) fn run(global: &Global, file: &Path) -> Result<Exit> {
    let declaration = match read(global, file)? {
        Ok(declaration) => declaration,
        Err(wrong) => {
            output::data(&wrong)?;
            return Ok(Exit::FOUND);
        }
    };
    let is_taken = global.app.without_database().is_compiled(&declaration.workflow);
    if is_taken {
        let shown = file.display();
        output::data(&format!("{shown}: {} is a workflow of the program itself", declaration.workflow))?;
        return Ok(Exit::FOUND);
    }
    note(format!("{} is right: {} steps", declaration.workflow, declaration.steps.len()));
    Ok(Exit::GOOD)
}

//! The tables of steps in the guides are those of the plans.

use std::path::Path;

use ::opennebula::OpenNebulaOptions;
use ::runtimes::workflows::provision;
use ::serverless::model::{Serverless, ServerlessSettings, SrAuth};
use ::serverless::workflows::create;
use engine::StepInfo;
use tempfile::TempDir;

use crate::external::with_all_steps;

/// Weights and names of the steps of one workflow, as a guide has them.
fn table(guide: &str, workflow: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(guide);
    let text = std::fs::read_to_string(path).unwrap();
    let head = format!("| weight | step of `{workflow}` |");
    let lines = text.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    let cell = |line: &str, number| line.split('|').nth(number).unwrap().trim().replace('`', "");
    lines.take_while(|line| line.starts_with('|')).map(|line| (cell(line, 1), cell(line, 2))).collect()
}

fn check(guide: &str, workflow: &str, plan: &[StepInfo]) {
    let plan: Vec<_> = plan.iter().map(|step| (step.weight.to_string(), step.name.clone())).collect();
    assert_eq!(table(guide, workflow), plan, "{guide}");
}

#[test]
fn the_tables_in_the_guides_are_the_plans() {
    let dir = TempDir::new().unwrap();
    let drivers = with_all_steps(dir.path());
    check("runtimes.md", "runtime.provision", &provision::plan(&drivers).describe());
    let settings = ServerlessSettings { sr_auth: SrAuth::Token, ..ServerlessSettings::default() };
    let serverless = Serverless::new(&OpenNebulaOptions::beside("http://127.0.0.1:1"), settings).unwrap();
    check("serverless.md", "serverless.create", &create::plan(&serverless.into()).describe());
}

//! The JSON Schema of a workflow lets its params through.

use engine::Engine;

use super::WorkflowTest;

/// What forms and command lines are made from must let the params through that the workflow takes.
pub(super) fn fits_schema<T: WorkflowTest>(engine: &Engine, workflow_test: &T) {
    let kind = workflow_test.plan().kind().to_owned();
    let info = engine.workflows().into_iter().find(|info| info.workflow == kind).expect("it is registered");
    let validator = jsonschema::validator_for(&info.schema).expect("the schema of a workflow compiles");
    let params = workflow_test.params();
    let faults: Vec<String> = validator.iter_errors(&params).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "params of {kind} do not fit its schema: {faults:?}");
}

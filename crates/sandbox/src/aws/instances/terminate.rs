//! `TerminateInstances`: all that are named, or none.

use super::describe::write_state;
use super::instance::{Next, State};
use crate::aws::call_error::AwsError;
use crate::aws::faults::FaultView;
use crate::aws::form::AwsForm;
use crate::aws::world::{AwsCall, AwsState, INSTANCE};
use crate::aws::xml::Xml;
use crate::delays::later;

pub(in crate::aws) fn terminate(
    aws_state: &mut AwsState,
    call: &AwsCall,
    mut form: AwsForm,
) -> Result<String, AwsError> {
    let ids = form.list("InstanceId")?;
    form.finish()?;
    if ids.is_empty() {
        return Err(AwsError::missing("InstanceId"));
    }
    call.allow()?;
    let numbers = aws_state.instances.named(call, &ids)?;
    call.end_dry_run()?;
    let changes: Vec<(String, State, State)> =
        numbers.into_iter().filter_map(|number| aws_state.shut_down(call, number)).collect();
    Ok(Xml::of(|xml| {
        xml.items("instancesSet", changes, |xml, (id, before, now)| {
            xml.leaf("instanceId", id);
            write_state(xml, "currentState", now);
            write_state(xml, "previousState", before);
        });
    }))
}

impl AwsState {
    /// Its id, and its state before and now. What is ending already goes on as it was.
    fn shut_down(&mut self, call: &AwsCall, number: u64) -> Option<(String, State, State)> {
        let lasts_ms = self.controls.delay_times.terminate_ms;
        let instance = self.instances.by_number.get_mut(&number)?;
        let (id, before) = (instance.id.clone(), instance.state);
        if !instance.is_living() {
            return Some((id, before, before));
        }
        instance.state = State::ShuttingDown;
        instance.reason = Some(FaultView {
            code: "Client.UserInitiatedShutdown".into(),
            message: "a user asked for the end of this instance".into(),
        });
        self.instances.reschedule(number, later(call.now, lasts_ms), Next::End);
        // There is no way back from here, so the end need not be waited for.
        self.ledger.take_back(INSTANCE, &call.site.ledger_token(&id));
        Some((id, before, State::ShuttingDown))
    }
}

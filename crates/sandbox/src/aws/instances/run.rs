//! `RunInstances`: once for each client token, all that fit, or none.

use super::describe::write_reservation;
use super::instance::{Ec2Instance, Next, State};
use super::instance_request::{RunInstances, Sound};
use super::{Instances, RecordedLaunch};
use crate::aws::call_error::AwsError;
use crate::aws::faults::{AwsFaultKind, FaultOdds};
use crate::aws::form::AwsForm;
use crate::aws::limits::Living;
use crate::aws::world::{AwsCall, AwsState, INSTANCE};
use crate::aws::xml::Xml;
use crate::delays::later;

pub(in crate::aws) fn run(
    aws_state: &mut AwsState,
    call: &AwsCall,
    form: AwsForm,
) -> Result<String, AwsError> {
    let instance_request = RunInstances::read(form)?;
    call.allow()?;
    if !call.is_dry_run
        && !aws_state.controls.ignores_tokens
        && let Some(numbers) = aws_state.instances.launched(call, &instance_request)?
    {
        return Ok(answer(&aws_state.instances, &numbers));
    }
    let sound = instance_request.check(aws_state, call)?;
    call.end_dry_run()?;
    let count = aws_state.room(call, &instance_request, &sound)?;
    let numbers = aws_state.make(call, &instance_request, &sound, count);
    let xml = answer(&aws_state.instances, &numbers);
    if let Some(token) = instance_request.client_token {
        let launch = RecordedLaunch { instance_request: instance_request.outline, numbers };
        aws_state.instances.launches.insert((call.site.clone(), token), launch);
    }
    Ok(xml)
}

fn answer(instances: &Instances, numbers: &[u64]) -> String {
    let made: Vec<&Ec2Instance> =
        numbers.iter().filter_map(|number| instances.by_number.get(number)).collect();
    Xml::of(|xml| write_reservation(xml, &made))
}

impl Instances {
    /// What was made for the token of this order before.
    fn launched(
        &self,
        call: &AwsCall,
        instance_request: &RunInstances,
    ) -> Result<Option<Vec<u64>>, AwsError> {
        let Some(token) = &instance_request.client_token else { return Ok(None) };
        let Some(launch) = self.launches.get(&(call.site.clone(), token.clone())) else { return Ok(None) };
        if launch.instance_request != instance_request.outline {
            let message = "this client token was used before, with other parameters";
            return Err(AwsError::new("IdempotentParameterMismatch", message));
        }
        let lives = |number: &u64| self.by_number.get(number).is_some_and(Ec2Instance::is_living);
        if !launch.numbers.iter().all(lives) {
            let message = "an instance that was made with this client token has been terminated";
            return Err(AwsError::new("IdempotentInstanceTerminated", message));
        }
        Ok(Some(launch.numbers.clone()))
    }
}

impl AwsState {
    /// How many are made: as many as fit, if they are enough.
    fn room(
        &self,
        call: &AwsCall,
        instance_request: &RunInstances,
        sound: &Sound,
    ) -> Result<usize, AwsError> {
        let living = self.instances.by_number.values().filter(|instance| instance.is_living());
        let living = living.map(|instance| Living {
            region: &instance.site.region,
            account: &instance.site.account,
            kind: instance.kind,
        });
        let wanted = Living { region: &call.site.region, account: &call.site.account, kind: sound.kind };
        let limits = &self.controls.limits;
        let room = limits.room(&wanted, &living);
        if room.by_quota < instance_request.least {
            let vcpus = limits.quota_of(&call.site.account).unwrap_or_default();
            let message = format!("this account may have {vcpus} vCPUs in this region, and that is too few");
            return Err(AwsError::new("VcpuLimitExceeded", message));
        }
        if room.by_capacity < instance_request.least {
            let message =
                format!("there is no room for {} of {} now", instance_request.least, sound.kind.name);
            return Err(AwsError::new("InsufficientInstanceCapacity", message));
        }
        Ok(instance_request.most.min(room.by_quota).min(room.by_capacity))
    }

    fn make(
        &mut self,
        call: &AwsCall,
        instance_request: &RunInstances,
        sound: &Sound,
        count: usize,
    ) -> Vec<u64> {
        let reservation = self.ids.make("r");
        let mut numbers = Vec::new();
        for index in 0..count {
            let instance = self.bear(call, instance_request, sound, (&reservation, index));
            let token = call.site.ledger_token(&instance.id);
            numbers.push(self.instances.add(|number| Ec2Instance { number, ..instance }));
            self.ledger.make(INSTANCE, &token, "");
        }
        numbers
    }

    fn bear(
        &mut self,
        call: &AwsCall,
        instance_request: &RunInstances,
        sound: &Sound,
        (reservation, index): (&str, usize),
    ) -> Ec2Instance {
        let chance = FaultOdds {
            action: call.action,
            account: &call.site.account,
            region: &call.site.region,
            is_dry_run: false,
        };
        let delay_times = self.controls.delay_times;
        let next = self.faults.hits(AwsFaultKind::Die, &chance).map_or(Next::Run, Next::Die);
        Ec2Instance {
            number: 0,
            id: self.ids.make("i"),
            site: call.site.clone(),
            reservation: reservation.to_owned(),
            index,
            image: sound.image.clone(),
            kind: sound.kind,
            details: sound.details.clone(),
            client_token: instance_request.client_token.clone(),
            launched_at: call.now,
            delay_times,
            never_gets_address: self.faults.hits(AwsFaultKind::NoAddress, &chance).is_some(),
            state: State::Pending,
            reason: None,
            address: None,
            next: Some((later(call.now, delay_times.running_ms), next)),
        }
    }
}

//! `RunInstances`: once for each client token, all that fit, or none.

use super::describe::write_reservation;
use super::instance::{Instance, Next, State};
use super::order::{Order, Sound};
use super::{Instances, Launch};
use crate::aws::faults::{AwsFaultKind, Chance};
use crate::aws::form::Form;
use crate::aws::limits::Living;
use crate::aws::refusal::Refusal;
use crate::aws::world::{Call, Estate, INSTANCE};
use crate::aws::xml::Xml;
use crate::delays::later;

pub(in crate::aws) fn run(estate: &mut Estate, call: &Call, form: Form) -> Result<String, Refusal> {
    let order = Order::read(form)?;
    call.allow()?;
    if !call.is_dry_run
        && !estate.knobs.ignores_tokens
        && let Some(numbers) = estate.instances.launched(call, &order)?
    {
        return Ok(answer(&estate.instances, &numbers));
    }
    let sound = order.check(estate, call)?;
    call.end_rehearsal()?;
    let count = estate.room(call, &order, &sound)?;
    let numbers = estate.make(call, &order, &sound, count);
    let xml = answer(&estate.instances, &numbers);
    if let Some(token) = order.client_token {
        let launch = Launch { order: order.outline, numbers };
        estate.instances.launches.insert((call.site.clone(), token), launch);
    }
    Ok(xml)
}

fn answer(instances: &Instances, numbers: &[u64]) -> String {
    let made: Vec<&Instance> = numbers.iter().filter_map(|number| instances.by_number.get(number)).collect();
    Xml::of(|xml| write_reservation(xml, &made))
}

impl Instances {
    /// What was made for the token of this order before.
    fn launched(&self, call: &Call, order: &Order) -> Result<Option<Vec<u64>>, Refusal> {
        let Some(token) = &order.client_token else { return Ok(None) };
        let Some(launch) = self.launches.get(&(call.site.clone(), token.clone())) else { return Ok(None) };
        if launch.order != order.outline {
            let message = "this client token was used before, with other parameters";
            return Err(Refusal::new("IdempotentParameterMismatch", message));
        }
        let lives = |number: &u64| self.by_number.get(number).is_some_and(Instance::is_living);
        if !launch.numbers.iter().all(lives) {
            let message = "an instance that was made with this client token has been terminated";
            return Err(Refusal::new("IdempotentInstanceTerminated", message));
        }
        Ok(Some(launch.numbers.clone()))
    }
}

impl Estate {
    /// How many are made: as many as fit, if they are enough.
    fn room(&self, call: &Call, order: &Order, sound: &Sound) -> Result<usize, Refusal> {
        let living = self.instances.by_number.values().filter(|instance| instance.is_living());
        let living = living.map(|instance| Living {
            region: &instance.site.region,
            account: &instance.site.account,
            kind: instance.kind,
        });
        let wanted = Living { region: &call.site.region, account: &call.site.account, kind: sound.kind };
        let limits = &self.knobs.limits;
        let room = limits.room(&wanted, &living);
        if room.by_quota < order.least {
            let vcpus = limits.quota_of(&call.site.account).unwrap_or_default();
            let message = format!("this account may have {vcpus} vCPUs in this region, and that is too few");
            return Err(Refusal::new("VcpuLimitExceeded", message));
        }
        if room.by_capacity < order.least {
            let message = format!("there is no room for {} of {} now", order.least, sound.kind.name);
            return Err(Refusal::new("InsufficientInstanceCapacity", message));
        }
        Ok(order.most.min(room.by_quota).min(room.by_capacity))
    }

    fn make(&mut self, call: &Call, order: &Order, sound: &Sound, count: usize) -> Vec<u64> {
        let reservation = self.ids.make("r");
        let mut numbers = Vec::new();
        for index in 0..count {
            let instance = self.bear(call, order, sound, (&reservation, index));
            let token = call.site.ledger_token(&instance.id);
            numbers.push(self.instances.add(|number| Instance { number, ..instance }));
            self.ledger.make(INSTANCE, &token, "");
        }
        numbers
    }

    fn bear(
        &mut self,
        call: &Call,
        order: &Order,
        sound: &Sound,
        (reservation, index): (&str, usize),
    ) -> Instance {
        let chance = Chance {
            action: call.action,
            account: &call.site.account,
            region: &call.site.region,
            is_dry_run: false,
        };
        let pace = self.knobs.pace;
        let next = self.faults.hits(AwsFaultKind::Die, &chance).map_or(Next::Run, Next::Die);
        Instance {
            number: 0,
            id: self.ids.make("i"),
            site: call.site.clone(),
            reservation: reservation.to_owned(),
            index,
            image: sound.image.clone(),
            kind: sound.kind,
            details: sound.details.clone(),
            client_token: order.client_token.clone(),
            launched_at: call.now,
            pace,
            never_gets_address: self.faults.hits(AwsFaultKind::NoAddress, &chance).is_some(),
            state: State::Pending,
            reason: None,
            address: None,
            next: Some((later(call.now, pace.running_ms), next)),
        }
    }
}

//! What can be done to a machine by a word or a number: `one.vm.action` and `one.vm.recover`.

use time::OffsetDateTime;

use super::life::{StartOutcome, Turn};
use super::machine::SimulatedVm;
use super::state::{Lcm, State};
use super::{Machines, NebulaError, NebulaRight};
use crate::delays::later;
use crate::opennebula::call_error::ACTION;
use crate::opennebula::delay_times::NebulaDelays;
use crate::opennebula::users::AuthenticatedUser;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SimulatedAction {
    Terminate { hard: bool },
    Hold,
    Release,
    PowerOff,
    Suspend,
    Resume,
    Resched(bool),
}

impl SimulatedAction {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "terminate" => SimulatedAction::Terminate { hard: false },
            "terminate-hard" => SimulatedAction::Terminate { hard: true },
            "hold" => SimulatedAction::Hold,
            "release" => SimulatedAction::Release,
            "poweroff" | "poweroff-hard" => SimulatedAction::PowerOff,
            "suspend" => SimulatedAction::Suspend,
            "resume" => SimulatedAction::Resume,
            "resched" => SimulatedAction::Resched(true),
            "unresched" => SimulatedAction::Resched(false),
            _ => return None,
        })
    }

    fn right(self) -> NebulaRight {
        if matches!(self, SimulatedAction::Resched(_)) { NebulaRight::Admin } else { NebulaRight::Manage }
    }
}

impl Machines {
    pub(crate) fn act(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        name: &str,
        delay_times: &NebulaDelays,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        let action = SimulatedAction::named(name)
            .ok_or_else(|| NebulaError::new(ACTION, format!("Action \"{name}\" is not supported")))?;
        let machine = self.change(caller, id, action.right())?;
        let done = match action {
            SimulatedAction::Terminate { hard } => machine.terminate(hard, delay_times, at),
            _ => machine.carry_out(action, delay_times, at),
        };
        done.map_err(|why| NebulaError::new(ACTION, format!("Error performing action \"{name}\": {why}")))
    }

    /// Helps a machine that is stuck: 0 failure, 1 success, 2 retry, 3 delete.
    pub(crate) fn recover(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        operation: i32,
        outcome: impl FnOnce(&str) -> StartOutcome,
        delay_times: &NebulaDelays,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        let machine = self.change(caller, id, NebulaRight::Admin)?;
        match (operation, machine.state()) {
            (0, State::Active(Lcm::Boot)) => {
                machine.agenda.clear();
                machine.agenda.add(at, Turn::FailBoot);
            }
            (1, State::Active(Lcm::Boot)) => {
                machine.agenda.clear();
                machine.agenda.add(at, Turn::Enter(State::Active(Lcm::Running)));
            }
            (2, State::Active(Lcm::BootFailure)) => {
                machine.enter(State::Active(Lcm::Boot), at);
                let outcome = outcome(&machine.name);
                machine.plan_boot(delay_times, at, outcome);
            }
            // Where there is nothing to try again, it succeeds all the same.
            (2, State::Active(_)) | (3, State::Done) => {}
            (2, state) => {
                let why = format!("Could not perform a retry on VM {id}, wrong state {}.", state.name());
                return Err(NebulaError::new(ACTION, why));
            }
            (3, _) => machine.plan_delete(delay_times, at),
            (0..=1, state) => {
                let why = format!("Could not perform recover on VM {id}, wrong state {}.", state.name());
                return Err(NebulaError::new(ACTION, why));
            }
            _ => return Err(NebulaError::new(ACTION, "Wrong recovery operation code")),
        }
        machine.settle(at);
        Ok(())
    }
}

impl SimulatedVm {
    fn terminate(
        &mut self,
        hard: bool,
        delay_times: &NebulaDelays,
        at: OffsetDateTime,
    ) -> Result<(), String> {
        match self.state() {
            State::Done => {}
            // It is about to shut down, and does not show it yet.
            State::Active(Lcm::Running) if self.is_ending() => {}
            // The hard end takes the place of the gentle one, and needs no longer.
            State::Active(Lcm::Shutdown) if hard => {}
            State::Pending | State::Hold => {
                self.agenda.clear();
                self.agenda.add(at, Turn::Enter(State::Done));
            }
            State::Suspended | State::PowerOff | State::Active(Lcm::Running) => {
                self.plan_shutdown(delay_times, at);
            }
            State::Active(Lcm::BootFailure) => self.plan_delete(delay_times, at),
            state @ State::Active(_) => {
                return Err(format!("Could not terminate VM {}, wrong state {}.", self.id, state.name()));
            }
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        action: SimulatedAction,
        delay_times: &NebulaDelays,
        at: OffsetDateTime,
    ) -> Result<(), String> {
        let ends = later(at, delay_times.poweroff_ms);
        let running = State::Active(Lcm::Running);
        match (action, self.state_for_change()) {
            (SimulatedAction::Hold, State::Pending) => {
                self.agenda.clear();
                self.enter(State::Hold, at);
            }
            (SimulatedAction::Release, State::Hold) => {
                self.enter(State::Pending, at);
                self.plan_new_machine(delay_times, at, StartOutcome::Runs);
            }
            (SimulatedAction::PowerOff, State::Active(Lcm::Running)) => {
                self.agenda.clear();
                self.enter(State::Active(Lcm::ShutdownPoweroff), at);
                self.agenda.add(ends, Turn::Enter(State::PowerOff));
            }
            (SimulatedAction::Suspend, State::Active(Lcm::Running)) => {
                self.agenda.clear();
                self.enter(State::Active(Lcm::SaveSuspend), at);
                self.agenda.add(ends, Turn::Enter(State::Suspended));
            }
            (SimulatedAction::Resume, State::PowerOff) => {
                self.enter(State::Active(Lcm::BootPoweroff), at);
                self.agenda.add(ends, Turn::Enter(running));
            }
            (SimulatedAction::Resume, State::Suspended) => {
                self.enter(State::Active(Lcm::BootSuspended), at);
                self.agenda.add(ends, Turn::Enter(running));
            }
            (SimulatedAction::Resched(is_to_resched), State::PowerOff | State::Active(Lcm::Running)) => {
                self.is_to_resched = is_to_resched;
                self.agenda.add(later(at, delay_times.pending_in(self.release)), Turn::Rescheduled);
            }
            (_, state) => return Err(format!("This action is not available for state {}", state.name())),
        }
        Ok(())
    }
}

//! What can be done to a machine by a word or a number: `one.vm.action` and `one.vm.recover`.

use time::OffsetDateTime;

use super::life::{Fate, Turn};
use super::machine::Machine;
use super::state::{Lcm, State};
use super::{Machines, Refusal, Right};
use crate::delays::later;
use crate::opennebula::pace::Pace;
use crate::opennebula::refusal::ACTION;
use crate::opennebula::users::Caller;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Terminate { hard: bool },
    Hold,
    Release,
    PowerOff,
    Suspend,
    Resume,
    Resched(bool),
}

impl Action {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "terminate" => Action::Terminate { hard: false },
            "terminate-hard" => Action::Terminate { hard: true },
            "hold" => Action::Hold,
            "release" => Action::Release,
            "poweroff" | "poweroff-hard" => Action::PowerOff,
            "suspend" => Action::Suspend,
            "resume" => Action::Resume,
            "resched" => Action::Resched(true),
            "unresched" => Action::Resched(false),
            _ => return None,
        })
    }

    fn right(self) -> Right {
        if matches!(self, Action::Resched(_)) { Right::Admin } else { Right::Manage }
    }
}

impl Machines {
    pub(crate) fn act(
        &mut self,
        caller: &Caller,
        id: i32,
        name: &str,
        pace: &Pace,
        at: OffsetDateTime,
    ) -> Result<(), Refusal> {
        let action = Action::named(name)
            .ok_or_else(|| Refusal::new(ACTION, format!("Action \"{name}\" is not supported")))?;
        let machine = self.change(caller, id, action.right())?;
        let done = match action {
            Action::Terminate { hard } => machine.terminate(hard, pace, at),
            _ => machine.carry_out(action, pace, at),
        };
        done.map_err(|why| Refusal::new(ACTION, format!("Error performing action \"{name}\": {why}")))
    }

    /// Helps a machine that is stuck: 0 failure, 1 success, 2 retry, 3 delete.
    pub(crate) fn recover(
        &mut self,
        caller: &Caller,
        id: i32,
        operation: i32,
        fate: impl FnOnce(&str) -> Fate,
        pace: &Pace,
        at: OffsetDateTime,
    ) -> Result<(), Refusal> {
        let machine = self.change(caller, id, Right::Admin)?;
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
                let fate = fate(&machine.name);
                machine.plan_boot(pace, at, fate);
            }
            // Where there is nothing to try again, it succeeds all the same.
            (2, State::Active(_)) | (3, State::Done) => {}
            (2, state) => {
                let why = format!("Could not perform a retry on VM {id}, wrong state {}.", state.name());
                return Err(Refusal::new(ACTION, why));
            }
            (3, _) => machine.plan_delete(pace, at),
            (0..=1, state) => {
                let why = format!("Could not perform recover on VM {id}, wrong state {}.", state.name());
                return Err(Refusal::new(ACTION, why));
            }
            _ => return Err(Refusal::new(ACTION, "Wrong recovery operation code")),
        }
        machine.settle(at);
        Ok(())
    }
}

impl Machine {
    fn terminate(&mut self, hard: bool, pace: &Pace, at: OffsetDateTime) -> Result<(), String> {
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
                self.plan_shutdown(pace, at);
            }
            State::Active(Lcm::BootFailure) => self.plan_delete(pace, at),
            state @ State::Active(_) => {
                return Err(format!("Could not terminate VM {}, wrong state {}.", self.id, state.name()));
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, action: Action, pace: &Pace, at: OffsetDateTime) -> Result<(), String> {
        let ends = later(at, pace.poweroff_ms);
        let running = State::Active(Lcm::Running);
        match (action, self.state_for_change()) {
            (Action::Hold, State::Pending) => {
                self.agenda.clear();
                self.enter(State::Hold, at);
            }
            (Action::Release, State::Hold) => {
                self.enter(State::Pending, at);
                self.plan_birth(pace, at, Fate::Runs);
            }
            (Action::PowerOff, State::Active(Lcm::Running)) => {
                self.agenda.clear();
                self.enter(State::Active(Lcm::ShutdownPoweroff), at);
                self.agenda.add(ends, Turn::Enter(State::PowerOff));
            }
            (Action::Suspend, State::Active(Lcm::Running)) => {
                self.agenda.clear();
                self.enter(State::Active(Lcm::SaveSuspend), at);
                self.agenda.add(ends, Turn::Enter(State::Suspended));
            }
            (Action::Resume, State::PowerOff) => {
                self.enter(State::Active(Lcm::BootPoweroff), at);
                self.agenda.add(ends, Turn::Enter(running));
            }
            (Action::Resume, State::Suspended) => {
                self.enter(State::Active(Lcm::BootSuspended), at);
                self.agenda.add(ends, Turn::Enter(running));
            }
            (Action::Resched(is_to_resched), State::PowerOff | State::Active(Lcm::Running)) => {
                self.is_to_resched = is_to_resched;
                self.agenda.add(later(at, pace.pending_in(self.release)), Turn::Rescheduled);
            }
            (_, state) => return Err(format!("This action is not available for state {}", state.name())),
        }
        Ok(())
    }
}

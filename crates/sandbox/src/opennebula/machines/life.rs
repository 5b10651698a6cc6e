//! The life of a machine: what happens to it next, and when.

use std::collections::VecDeque;

use time::OffsetDateTime;
use time::macros::format_description;

use super::machine::SimulatedVm;
use super::state::{Lcm, State};
use crate::delays::later;
use crate::opennebula::delay_times::NebulaDelays;
use crate::opennebula::template::{TemplateText, Vector};

/// A change that comes by itself.
#[derive(Debug, Clone)]
pub(super) enum Turn {
    Enter(State),
    FailBoot,
    /// The guest says that it is ready.
    Ready,
    /// The scheduler has looked at it again, and left it where it is.
    Rescheduled,
    /// The old values come back where the resize did nothing.
    EndResize {
        undo: Option<Vector>,
    },
}

/// What is to come, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    turns: VecDeque<(OffsetDateTime, Turn)>,
}

impl Agenda {
    pub(super) fn add(&mut self, at: OffsetDateTime, turn: Turn) {
        let position = self.turns.partition_point(|(when, _)| *when <= at);
        self.turns.insert(position, (at, turn));
    }

    pub(super) fn clear(&mut self) {
        self.turns.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    pub(super) fn ends(&self) -> bool {
        self.turns.iter().any(|(_, turn)| matches!(turn, Turn::Enter(State::Done)))
    }

    fn next_due(&mut self, now: OffsetDateTime) -> Option<(OffsetDateTime, Turn)> {
        self.turns.pop_front_if(|(at, _)| *at <= now)
    }
}

impl SimulatedVm {
    /// Lets it live on until then.
    pub(super) fn settle(&mut self, now: OffsetDateTime) {
        while let Some((at, turn)) = self.agenda.next_due(now) {
            match turn {
                Turn::Enter(state) => self.enter(state, at),
                Turn::FailBoot => self.fail_boot(at),
                Turn::Ready => self.user_template.set("READY", "YES"),
                Turn::Rescheduled => self.is_to_resched = false,
                Turn::EndResize { undo } => {
                    self.template.remove("RESIZE");
                    if let Some(old) = undo {
                        restore(&mut self.template, &old);
                    }
                    self.enter(State::Active(Lcm::Running), at);
                }
            }
        }
        self.explain(now);
    }

    /// The scheduler writes its message anew each time that it looks.
    fn explain(&mut self, now: OffsetDateTime) {
        if self.state != State::Pending {
            self.explained_from = None;
        }
        if self.explained_from.is_some_and(|from| from <= now) {
            let why = "Cannot dispatch VM: No host with enough capacity to deploy the VM";
            self.user_template.set("SCHED_MESSAGE", format!("{}: {why}", log_time(now)));
        }
    }

    /// From nothing to running.
    pub(super) fn plan_new_machine(
        &mut self,
        delay_times: &NebulaDelays,
        at: OffsetDateTime,
        outcome: StartOutcome,
    ) {
        let deployed = later(at, delay_times.pending_in(self.release));
        if outcome == StartOutcome::Waits {
            self.explained_from = Some(deployed);
            return;
        }
        self.agenda.add(deployed, Turn::Enter(State::Active(Lcm::Init)));
        self.agenda.add(deployed, Turn::Enter(State::Active(Lcm::Prolog)));
        let copied = later(deployed, delay_times.prolog_ms);
        self.agenda.add(copied, Turn::Enter(State::Active(Lcm::Boot)));
        self.plan_boot(delay_times, copied, outcome);
    }

    /// From booting to running.
    pub(super) fn plan_boot(
        &mut self,
        delay_times: &NebulaDelays,
        at: OffsetDateTime,
        outcome: StartOutcome,
    ) {
        let booted = later(at, delay_times.boot_ms);
        match outcome {
            StartOutcome::Runs => {
                self.agenda.add(booted, Turn::Enter(State::Active(Lcm::Running)));
                if self.reports_ready() && !self.is_ready() {
                    self.agenda.add(later(booted, delay_times.ready_ms), Turn::Ready);
                }
            }
            StartOutcome::FailsToBoot => self.agenda.add(booted, Turn::FailBoot),
            StartOutcome::BootsForEver | StartOutcome::Waits => {}
        }
    }

    /// The way out. The first look still sees it run, and the other states come one after the other. A machine that
    /// is off has nothing to shut down.
    pub(super) fn plan_shutdown(&mut self, delay_times: &NebulaDelays, at: OffsetDateTime) {
        self.agenda.clear();
        self.template.remove("RESIZE");
        let third = delay_times.terminate_ms / 3;
        if matches!(self.state, State::Active(_)) {
            self.agenda.add(later(at, third), Turn::Enter(State::Active(Lcm::Shutdown)));
        }
        self.agenda.add(later(at, 2 * third), Turn::Enter(State::Active(Lcm::Epilog)));
        self.agenda.add(later(at, delay_times.terminate_ms), Turn::Enter(State::Done));
    }

    /// The short way out. The state of the cleanup is over too soon to be seen.
    pub(super) fn plan_delete(&mut self, delay_times: &NebulaDelays, at: OffsetDateTime) {
        self.agenda.clear();
        self.template.remove("RESIZE");
        let is_active = matches!(self.state, State::Active(_));
        let end = if is_active { later(at, delay_times.terminate_ms) } else { at };
        self.agenda.add(end, Turn::Enter(State::Done));
    }

    fn fail_boot(&mut self, at: OffsetDateTime) {
        self.user_template.set("ERROR", format!("{}: DEPLOY: {}", log_time(at), self.deploy_id()));
        self.enter(State::Active(Lcm::BootFailure), at);
    }
}

/// How the life of a machine begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartOutcome {
    Runs,
    FailsToBoot,
    BootsForEver,
    /// No host is big enough.
    Waits,
}

/// As oned writes it before a message, such as `Mon Nov 16 17:47:52 2026`.
fn log_time(at: OffsetDateTime) -> String {
    let format = format_description!(
        "[weekday repr:short] [month repr:short] [day padding:space] [hour]:[minute]:[second] [year]"
    );
    at.format(&format).unwrap_or_default()
}

fn restore(template: &mut TemplateText, old: &Vector) {
    for (name, value) in old {
        template.set(name, value.as_str());
    }
}

//! What the state of a VM means for its function.

use std::fmt;

use opennebula::VirtualMachine;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RuntimeState {
    Pending,
    Running,
    Updating,
    Error,
}

impl RuntimeState {
    pub fn as_str(self) -> &'static str {
        match self {
            RuntimeState::Pending => "PENDING",
            RuntimeState::Running => "RUNNING",
            RuntimeState::Updating => "UPDATING",
            RuntimeState::Error => "ERROR",
        }
    }

    pub fn parse(text: &str) -> Option<RuntimeState> {
        use RuntimeState::{Error, Pending, Running, Updating};
        [Pending, Running, Updating, Error].into_iter().find(|state| state.as_str() == text)
    }
}

impl fmt::Display for RuntimeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// States of a VM in which its second state counts, or which others ask about.
pub(crate) const ACTIVE: i32 = 3;
pub(crate) const DONE: i32 = 6;
const LCM_RUNNING: i32 = 3;

/// Where nothing better is known.
const NO_ERROR_TEXT: &str = "No VM Error from Cloud Edge Manager";

/// The state of a function, and why, where that needs an explanation.
pub(crate) fn of(machine: &VirtualMachine) -> (RuntimeState, Option<String>) {
    let state = match machine.state {
        ACTIVE if machine.lcm_state == LCM_RUNNING && !is_ready(machine) => RuntimeState::Pending,
        state => of_numbers(state, machine.lcm_state),
    };
    let why = match state {
        RuntimeState::Error => Some(error(machine)),
        RuntimeState::Pending => said(machine, "SCHED_MESSAGE").map(|text| waiting(machine, text)),
        RuntimeState::Running | RuntimeState::Updating => None,
    };
    (state, why)
}

/// A VM that reports when it is ready runs only once it has done so.
fn is_ready(machine: &VirtualMachine) -> bool {
    let is_yes = |text: Option<&str>| text.is_some_and(|text| text.eq_ignore_ascii_case("yes"));
    let context = machine.template.vectors("CONTEXT").next();
    let reports = is_yes(context.and_then(|context| context.get("REPORT_READY")));
    !reports || is_yes(machine.user_template.get("READY"))
}

fn of_numbers(state: i32, lcm_state: i32) -> RuntimeState {
    match state {
        // Init, pending, hold, cloning.
        0..=2 | 10 => RuntimeState::Pending,
        ACTIVE => of_lcm_state(lcm_state),
        // Stopped, suspended, powered off, undeployed.
        4 | 5 | 8 | 9 => RuntimeState::Updating,
        // Done, failed, cloning failed, and states that are not known yet.
        _ => RuntimeState::Error,
    }
}

fn of_lcm_state(lcm_state: i32) -> RuntimeState {
    match lcm_state {
        LCM_RUNNING => RuntimeState::Running,
        // On its way up: prolog, boot and their likes.
        0..=2 | 15 | 19..=22 | 31 | 32 => RuntimeState::Pending,
        // Every failure, and a VM whose host does not answer.
        14 | 16 | 36..=42 | 44 | 46..=50 | 61 => RuntimeState::Error,
        _ => RuntimeState::Updating,
    }
}

/// What OpenNebula wrote down about the trouble.
fn error(machine: &VirtualMachine) -> String {
    let said = said(machine, "ERROR").or_else(|| said(machine, "SCHED_MESSAGE"));
    match said {
        Some(text) => text.to_owned(),
        None if machine.state == DONE => format!("VM {} was terminated", machine.id),
        None => NO_ERROR_TEXT.to_owned(),
    }
}

/// What the scheduler said, and what it does not say by itself.
fn waiting(machine: &VirtualMachine, said: &str) -> String {
    match machine.user_template.get("SCHED_REQUIREMENTS").filter(|text| asks_for_name(text)) {
        Some(_) => format!("{said}; {NAME_ON_SEVEN}"),
        None => said.to_owned(),
    }
}

const NAME_ON_SEVEN: &str = "a requirement on the NAME of a host works with OpenNebula 6 and not with OpenNebula 7: \
    there, ask for the ID of the host or for another attribute of it";

/// Whether a requirement compares the attribute NAME, and not one whose name only ends like that.
fn asks_for_name(requirements: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-');
    requirements.match_indices("NAME").any(|(at, word)| {
        let after = requirements[at + word.len()..].trim_start();
        !requirements[..at].ends_with(is_of_name) && after.starts_with(['=', '!'])
    })
}

fn said<'a>(machine: &'a VirtualMachine, name: &str) -> Option<&'a str> {
    machine.user_template.get(name).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use opennebula::{AttributeName, NebulaTemplate, Text};

    use super::RuntimeState::{Error, Pending, Running, Updating};
    use super::*;

    fn machine(state: i32, lcm_state: i32) -> VirtualMachine {
        let (template, user_template) = (NebulaTemplate::new(), NebulaTemplate::new());
        VirtualMachine {
            id: 7,
            uid: 2,
            name: "FAAS_0".into(),
            state,
            lcm_state,
            resched: false,
            template,
            user_template,
        }
    }

    #[test]
    fn every_state_of_a_machine_means_one_of_ours() {
        let by_state = [
            Pending, Pending, Pending, Pending, Updating, Updating, Error, Error, Updating, Updating,
            Pending, Error,
        ];
        for (number, expected) in (0..).zip(by_state) {
            assert_eq!(of(&machine(number, 0)).0, expected, "state {number}");
        }
        assert_eq!(of(&machine(99, 0)).0, Error);
    }

    #[test]
    fn every_state_of_an_active_machine_means_one_of_ours() {
        let pending = [0, 1, 2, 15, 19, 20, 21, 22, 31, 32];
        let error = [14, 16, 36, 37, 38, 39, 40, 41, 42, 44, 46, 47, 48, 49, 50, 61];
        for number in 0..=71 {
            let expected = match number {
                3 => Running,
                number if pending.contains(&number) => Pending,
                number if error.contains(&number) => Error,
                _ => Updating,
            };
            assert_eq!(of(&machine(ACTIVE, number)).0, expected, "LCM state {number}");
        }
        // What an older mapping had wrong.
        for (number, expected) in [(40, Error), (41, Error), (42, Error), (60, Updating)] {
            assert_eq!(of_lcm_state(number), expected, "LCM state {number}");
        }
    }

    #[test]
    fn the_second_state_counts_for_active_machines_only() {
        assert_eq!(of(&machine(8, 3)).0, Updating);
        assert_eq!(of(&machine(6, 3)).0, Error);
    }

    #[test]
    fn a_machine_that_reports_runs_once_it_has_reported() {
        let mut machine = machine(ACTIVE, LCM_RUNNING);
        let yes = |name| (AttributeName::of(name), Text::ours("YES"));
        machine.template.push_vector(AttributeName::of("CONTEXT"), vec![yes("REPORT_READY")]);
        assert_eq!(of(&machine).0, Pending);
        machine.user_template.set(AttributeName::of("READY"), "YES");
        assert_eq!(of(&machine).0, Running);
    }

    #[test]
    fn failure_is_told_in_the_words_of_opennebula() {
        let mut failed = machine(ACTIVE, 36);
        assert_eq!(of(&failed).1.as_deref(), Some("No VM Error from Cloud Edge Manager"));
        failed.user_template.set(AttributeName::of("SCHED_MESSAGE"), "no host");
        assert_eq!(of(&failed).1.as_deref(), Some("no host"));
        failed.user_template.set(AttributeName::of("ERROR"), "cannot boot");
        assert_eq!(of(&failed).1.as_deref(), Some("cannot boot"));
        assert_eq!(of(&machine(6, 0)).1.as_deref(), Some("VM 7 was terminated"));
    }

    #[test]
    fn a_machine_that_finds_no_place_says_why_and_one_that_runs_says_nothing() {
        let mut waiting = machine(1, 0);
        waiting.user_template.set(AttributeName::of("SCHED_MESSAGE"), "no host");
        assert_eq!(of(&waiting), (Pending, Some("no host".into())));
        let requirements = AttributeName::of("SCHED_REQUIREMENTS");
        for (asked, explains) in [
            ("NAME=\"x\"", true),
            ("(FREE_CPU > 1) & !(NAME = x)", true),
            ("HOSTNAME=\"x\"", false),
            ("CLUSTER/NAME = x", false),
            ("NAME_X = 1", false),
        ] {
            waiting.user_template.set(requirements.clone(), Text::ours(asked));
            let why = of(&waiting).1.unwrap();
            assert_eq!(why.contains("not with OpenNebula 7"), explains, "{asked}: {why}");
        }
        waiting.user_template.set(AttributeName::of("ERROR"), "old");
        assert_eq!(of(&VirtualMachine { state: ACTIVE, lcm_state: 3, ..waiting }), (Running, None));
    }
}

//! What all pages of one process share.

use std::sync::Arc;
use std::time::Duration;

use doors::{CodeFlow, Inside, Meter};
use engine::PeopleStore;

use crate::pulse::Pulse;

/// Everything the console needs to open.
#[derive(Clone)]
pub struct Console {
    pub inside: Inside,
    pub people: Arc<dyn PeopleStore>,
    pub meter: Arc<Meter>,
    /// Where people may sign in who have no password here.
    pub code_flow: Option<Arc<CodeFlow>>,
    pub settings: ConsoleSettings,
}

/// How the console behaves; every value has a default that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleSettings {
    /// Where browsers find it, such as `https://engine.example.com`. With https, cookies go over https alone.
    pub public_url: Option<String>,
    /// After this time without a click somebody has to sign in again.
    pub idle: Duration,
    /// And after this time in any case.
    pub session: Duration,
    /// So many wrong passwords lock a user.
    pub attempts: u32,
    /// For how long.
    pub locked: Duration,
    /// The far sides are our own, on this machine.
    pub is_sandbox: bool,
}

impl Default for ConsoleSettings {
    fn default() -> Self {
        ConsoleSettings {
            public_url: None,
            idle: Duration::from_mins(60),
            session: Duration::from_hours(12),
            attempts: 10,
            locked: Duration::from_mins(5),
            is_sandbox: false,
        }
    }
}

pub(crate) struct Hub {
    pub(crate) inside: Inside,
    pub(crate) people: Arc<dyn PeopleStore>,
    pub(crate) code_flow: Option<Arc<CodeFlow>>,
    pub(crate) settings: ConsoleSettings,
    pub(crate) pulse: Pulse,
}

/// How handlers get it.
pub(crate) type Desk = Arc<Hub>;

impl Hub {
    pub(crate) fn new(console: Console) -> Desk {
        let Console { inside, people, meter, code_flow, settings } = console;
        let pulse = Pulse::start(&inside, meter);
        Arc::new(Hub { inside, people, code_flow, settings, pulse })
    }

    /// Whether browsers reach us over https, as far as we were told.
    pub(crate) fn is_https(&self) -> bool {
        self.settings.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }
}

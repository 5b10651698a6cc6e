//! The world of EC2 and STS behind one lock.
//!
//! Time passes without anybody watching: every look at it first lets the instances live on until now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;
use tokio::sync::Notify;

use super::action::Action;
use super::callers::{Caller, Callers};
use super::calls::Calls;
use super::faults::{AwsFault, Throttle};
use super::ids::Ids;
use super::images::Images;
use super::instances::Instances;
use super::key_pairs::KeyPairs;
use super::limits::Limits;
use super::pace::Pace;
use super::refusal::Refusal;
use super::templates::Templates;
use crate::clock::Clock;
use crate::ledger::{Deed, Ledger, System};
use crate::loopback::Network;
use crate::script::Script;

pub(super) const INSTANCE: Deed = Deed { system: System::Ec2, kind: "instance" };
pub(super) const KEY_PAIR: Deed = Deed { system: System::Ec2, kind: "key_pair" };
pub(super) const LAUNCH_TEMPLATE: Deed = Deed { system: System::Ec2, kind: "launch_template" };

/// The shared handle to the world.
#[derive(Debug)]
pub(super) struct Cloud {
    clock: Arc<Clock>,
    pub(super) images: Arc<Images>,
    /// Somebody called, so there may be more or less to serve.
    pub(super) woken: Notify,
    estate: Mutex<Estate>,
}

impl Cloud {
    pub(super) fn new(clock: Arc<Clock>, ledger: Arc<Ledger>, network: Arc<Network>) -> Self {
        let images = Arc::<Images>::default();
        let estate = Estate {
            ids: Ids::new(),
            callers: Callers::default(),
            key_pairs: KeyPairs::default(),
            templates: Templates::default(),
            instances: Instances::new(network),
            knobs: Knobs::default(),
            faults: Arc::default(),
            calls: Calls::default(),
            images: Arc::clone(&images),
            ledger,
        };
        Cloud { clock, images, woken: Notify::new(), estate: Mutex::new(estate) }
    }

    pub(super) fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    /// The world as it is now. Nothing may wait while it is held.
    pub(super) fn estate(&self) -> MutexGuard<'_, Estate> {
        // Plain data, and each change is made in one go, so a panic elsewhere leaves nothing half done.
        let mut estate = self.estate.lock().unwrap_or_else(PoisonError::into_inner);
        estate.settle(self.now());
        estate
    }
}

/// All that EC2 and STS know.
#[derive(Debug)]
pub(super) struct Estate {
    pub(super) ids: Ids,
    pub(super) callers: Callers,
    pub(super) key_pairs: KeyPairs,
    pub(super) templates: Templates,
    pub(super) instances: Instances,
    pub(super) knobs: Knobs,
    pub(super) faults: Arc<Script<AwsFault>>,
    pub(super) calls: Calls,
    pub(super) images: Arc<Images>,
    pub(super) ledger: Arc<Ledger>,
}

impl Estate {
    fn settle(&mut self, now: OffsetDateTime) {
        for token in self.instances.settle(now) {
            self.ledger.take_back(INSTANCE, &token);
        }
    }
}

/// What people set to see how a caller copes.
#[derive(Debug, Default)]
pub(super) struct Knobs {
    /// A client token means nothing.
    pub(super) ignores_tokens: bool,
    pub(super) pace: Pace,
    pub(super) limits: Limits,
    pub(super) throttle: Throttle,
    /// What a role demands of whoever takes it, by the name of the role.
    pub(super) external_ids: BTreeMap<String, String>,
    /// How many things are at most on one page.
    pub(super) page_items: Option<usize>,
}

/// Where things are: no account sees those of another, and no region those of the next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Site {
    pub(super) account: String,
    pub(super) region: String,
}

impl Site {
    /// How the ledger calls a thing at this site.
    pub(super) fn ledger_token(&self, id: &str) -> String {
        format!("{}/{}/{id}", self.account, self.region)
    }
}

/// A call by somebody who is known.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) action: Action,
    pub(super) caller: Caller,
    pub(super) site: Site,
    pub(super) is_dry_run: bool,
    pub(super) now: OffsetDateTime,
}

impl Call {
    /// Whether the caller may do this at all.
    pub(super) fn allow(&self) -> Result<(), Refusal> {
        self.caller.require(self.action)
    }

    /// Ends a rehearsal, as late as possible.
    pub(super) fn end_rehearsal(&self) -> Result<(), Refusal> {
        if self.is_dry_run { Err(Refusal::rehearsed()) } else { Ok(()) }
    }

    /// Both, where nothing else could be wrong.
    pub(super) fn admit(&self) -> Result<(), Refusal> {
        self.allow()?;
        self.end_rehearsal()
    }
}

//! The world of EC2 and STS behind one lock.
//!
//! Time passes without any client watching: every look at it first lets the instances live on until now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use time::OffsetDateTime;
use tokio::sync::Notify;

use super::action::AwsAction;
use super::call_error::AwsError;
use super::callers::{AwsIdentity, Identities};
use super::calls::Calls;
use super::delay_times::AwsDelays;
use super::faults::{AwsFault, Throttle};
use super::ids::Ids;
use super::images::Images;
use super::instances::Instances;
use super::key_pairs::KeyPairs;
use super::limits::AwsLimits;
use super::templates::Templates;
use crate::clock::Clock;
use crate::guests::{Guest, GuestHost};
use crate::ledger::{Effect, Ledger, LedgerSystem};
use crate::loopback::Network;
use crate::script::Script;

pub(super) const INSTANCE: Effect = Effect { system: LedgerSystem::Ec2, kind: "instance" };
pub(super) const KEY_PAIR: Effect = Effect { system: LedgerSystem::Ec2, kind: "key_pair" };
pub(super) const LAUNCH_TEMPLATE: Effect = Effect { system: LedgerSystem::Ec2, kind: "launch_template" };

/// The shared handle to the world.
#[derive(Debug)]
pub(super) struct AwsCloud {
    clock: Arc<Clock>,
    pub(super) images: Arc<Images>,
    /// A client called, so there may be more or less to serve.
    pub(super) woken: Notify,
    aws_state: Mutex<AwsState>,
}

impl AwsCloud {
    pub(super) fn new(clock: Arc<Clock>, ledger: Arc<Ledger>, network: Arc<Network>) -> Self {
        let images = Arc::<Images>::default();
        let aws_state = AwsState {
            ids: Ids::new(),
            callers: Identities::default(),
            key_pairs: KeyPairs::default(),
            templates: Templates::default(),
            instances: Instances::new(network),
            controls: AwsControls::default(),
            faults: Arc::default(),
            calls: Calls::default(),
            images: Arc::clone(&images),
            ledger,
        };
        AwsCloud { clock, images, woken: Notify::new(), aws_state: Mutex::new(aws_state) }
    }

    pub(super) fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    /// The world as it is now. Nothing may wait while it is held.
    pub(super) fn aws_state(&self) -> MutexGuard<'_, AwsState> {
        // Plain data, and each change is made in one go, so a panic elsewhere leaves nothing half done.
        let mut aws_state = self.aws_state.lock().unwrap_or_else(PoisonError::into_inner);
        aws_state.settle(self.now());
        aws_state
    }
}

impl GuestHost for AwsCloud {
    fn guests(&self, most: usize) -> (Vec<Guest>, Option<Duration>) {
        let aws_state = self.aws_state();
        let next = aws_state.instances.next_due();
        let rest = next.map(|at| Duration::try_from(at - self.now()).unwrap_or_default());
        (aws_state.instances.guests(most), rest)
    }

    fn woken(&self) -> &Notify {
        &self.woken
    }
}

/// All that EC2 and STS know.
#[derive(Debug)]
pub(super) struct AwsState {
    pub(super) ids: Ids,
    pub(super) callers: Identities,
    pub(super) key_pairs: KeyPairs,
    pub(super) templates: Templates,
    pub(super) instances: Instances,
    pub(super) controls: AwsControls,
    pub(super) faults: Arc<Script<AwsFault>>,
    pub(super) calls: Calls,
    pub(super) images: Arc<Images>,
    pub(super) ledger: Arc<Ledger>,
}

impl AwsState {
    fn settle(&mut self, now: OffsetDateTime) {
        for token in self.instances.settle(now) {
            self.ledger.take_back(INSTANCE, &token);
        }
    }
}

/// What people set to see how a caller copes.
#[derive(Debug, Default)]
pub(super) struct AwsControls {
    /// A client token means nothing.
    pub(super) ignores_tokens: bool,
    pub(super) delay_times: AwsDelays,
    pub(super) limits: AwsLimits,
    pub(super) throttle: Throttle,
    /// The external id that a role demands, by the name of the role.
    pub(super) external_ids: BTreeMap<String, String>,
    /// How many things are at most on one page.
    pub(super) page_items: Option<usize>,
}

/// Where things are: no account sees those of another, and no region those of the next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RegionSite {
    pub(super) account: String,
    pub(super) region: String,
}

impl RegionSite {
    /// How the ledger calls a thing at this site.
    pub(super) fn ledger_token(&self, id: &str) -> String {
        format!("{}/{}/{id}", self.account, self.region)
    }
}

/// A call by a user who is known.
#[derive(Debug)]
pub(super) struct AwsCall {
    pub(super) action: AwsAction,
    pub(super) caller: AwsIdentity,
    pub(super) site: RegionSite,
    pub(super) is_dry_run: bool,
    pub(super) now: OffsetDateTime,
}

impl AwsCall {
    /// Whether the caller may do this at all.
    pub(super) fn allow(&self) -> Result<(), AwsError> {
        self.caller.require(self.action)
    }

    /// Ends a rehearsal, as late as possible.
    pub(super) fn end_dry_run(&self) -> Result<(), AwsError> {
        if self.is_dry_run { Err(AwsError::dry_run()) } else { Ok(()) }
    }

    /// Both, where nothing else could be wrong.
    pub(super) fn admit(&self) -> Result<(), AwsError> {
        self.allow()?;
        self.end_dry_run()
    }
}

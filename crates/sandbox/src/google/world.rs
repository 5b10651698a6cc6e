//! The world of Compute Engine behind one lock.
//!
//! Time passes without any client watching: every look at it first lets everything happen whose time has come.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;
use tokio::sync::Notify;

use super::bulk::BulkOrder;
use super::calls::GceCalls;
use super::delay_times::GceDelays;
use super::faults::GceFault;
use super::images::GceImages;
use super::instances::{GceDisk, GceInstance, GcePlace};
use super::limits::GceLimits;
use super::operations::GceOperation;
use super::page::PageControls;
use super::projects::{self, GceProject};
use super::templates::GceTemplate;
use super::tokens::GoogleTokens;
use crate::clock::Clock;
use crate::delays::later;
use crate::ledger::{Effect, Ledger, LedgerSystem};
use crate::loopback::Network;
use crate::script::Script;

pub(super) const INSTANCE: Effect = Effect { system: LedgerSystem::Gce, kind: "instance" };
pub(super) const DISK: Effect = Effect { system: LedgerSystem::Gce, kind: "disk" };

/// The shared handle to the world.
#[derive(Debug)]
pub(super) struct GoogleCloud {
    clock: Arc<Clock>,
    /// A client called, so there may be more or less to serve.
    pub(super) woken: Notify,
    google_state: Mutex<GoogleState>,
}

impl GoogleCloud {
    pub(super) fn new(clock: Arc<Clock>, ledger: Arc<Ledger>, network: Arc<Network>) -> Self {
        let google_state = GoogleState {
            projects: projects::first(),
            images: GceImages::default(),
            templates: Vec::new(),
            instances: BTreeMap::new(),
            disks: BTreeMap::new(),
            operations: BTreeMap::new(),
            requests: HashMap::new(),
            events: BTreeMap::new(),
            controls: GceControls::default(),
            faults: Arc::default(),
            tokens: GoogleTokens::default(),
            calls: GceCalls::default(),
            ledger,
            network,
            last_id: 0,
        };
        GoogleCloud { clock, woken: Notify::new(), google_state: Mutex::new(google_state) }
    }

    pub(super) fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    /// The world as it is now. Nothing may wait while it is held.
    pub(super) fn google_state(&self) -> MutexGuard<'_, GoogleState> {
        // Plain data, and each change is made in one go, so a panic elsewhere leaves nothing half done.
        let mut google_state = self.google_state.lock().unwrap_or_else(PoisonError::into_inner);
        google_state.settle(self.now());
        google_state
    }
}

/// All that Compute Engine knows.
#[derive(Debug)]
pub(super) struct GoogleState {
    pub(super) projects: BTreeMap<String, GceProject>,
    pub(super) images: GceImages,
    pub(super) templates: Vec<GceTemplate>,
    pub(super) instances: BTreeMap<GcePlace, GceInstance>,
    pub(super) disks: BTreeMap<GcePlace, GceDisk>,
    /// By their ids, which ascend.
    pub(super) operations: BTreeMap<u64, GceOperation>,
    /// By project and request id.
    pub(super) requests: HashMap<(String, String), RememberedRequest>,
    events: BTreeMap<(OffsetDateTime, u64), Event>,
    pub(super) controls: GceControls,
    pub(super) faults: Arc<Script<GceFault>>,
    pub(super) tokens: GoogleTokens,
    pub(super) calls: GceCalls,
    pub(super) ledger: Arc<Ledger>,
    pub(super) network: Arc<Network>,
    last_id: u64,
}

/// What people set to see how a caller copes.
#[derive(Debug, Default)]
pub(super) struct GceControls {
    pub(super) delay_times: GceDelays,
    pub(super) limits: GceLimits,
    pub(super) pages: PageControls,
}

/// What a request id stands for.
#[derive(Debug)]
pub(super) struct RememberedRequest {
    pub(super) at: OffsetDateTime,
    pub(super) body: String,
    pub(super) operation: u64,
}

/// What happens by itself. An instance is known by its place and number: its name may be given again.
#[derive(Debug)]
pub(super) enum Event {
    Make {
        operation: u64,
        number: usize,
        order: Arc<BulkOrder>,
    },
    Stage {
        place: GcePlace,
        id: u64,
        operation: u64,
    },
    Run {
        place: GcePlace,
        id: u64,
        operation: u64,
    },
    /// All instances of a bulk call run, or have failed.
    EndBulk(u64),
    TakeBack(u64),
    Remove {
        place: GcePlace,
        id: u64,
        operation: u64,
    },
    RemoveDisk {
        place: GcePlace,
        operation: u64,
    },
}

impl GoogleState {
    fn settle(&mut self, now: OffsetDateTime) {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((at, _), event) = entry.remove_entry();
            match event {
                Event::Make { operation, number, order } => self.make(operation, number, &order, at),
                Event::Stage { place, id, operation } => self.stage(place, id, operation, at),
                Event::Run { place, id, operation } => self.run(&place, id, operation, at),
                Event::EndBulk(operation) => self.end_bulk(operation, at),
                Event::TakeBack(operation) => self.take_back(operation, at),
                Event::Remove { place, id, operation } => self.finish_removal(&place, id, operation, at),
                Event::RemoveDisk { place, operation } => {
                    self.remove_disk(&place);
                    self.end(operation, at);
                }
            }
        }
        let kept_ms = self.controls.delay_times.operation_ms;
        self.operations.retain(|_, one| one.done_at.is_none_or(|at| later(at, kept_ms) > now));
    }

    pub(super) fn schedule(&mut self, at: OffsetDateTime, event: Event) {
        let number = self.next_id();
        self.events.insert((at, number), event);
    }

    /// When something happens next, if anything does.
    pub(super) fn next_due(&self) -> Option<OffsetDateTime> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        4_006_034_190_819_000_000 + self.last_id
    }

    /// An operation is over, badly where it has errors.
    pub(super) fn end(&mut self, operation: u64, at: OffsetDateTime) {
        if let Some(operation) = self.operations.get_mut(&operation) {
            operation.done_at = Some(at);
        }
    }

    pub(super) fn is_listed(&self, created_at: OffsetDateTime, now: OffsetDateTime) -> bool {
        later(created_at, self.controls.delay_times.visible_ms) <= now
    }
}

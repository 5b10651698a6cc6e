//! Long random lives, lived twice: once in the store and once in memory.

use engine::store::{
    Append, Claimed, ControlRequest, Create, Expect, Finish, MemoryStore, OperationQuery, Ownership, Park,
    Receipt, RecordUpdate, ResourceQuery, ResourceWrite, SignalLimit, Store, StoreError, Summary,
    TakenSignal, Write,
};
use engine::{Body, NodeId, OperationId, Phase, PhaseVerb};

use crate::fixture::*;
use crate::resources::{record_update, resource_write};
use crate::store_fixture::FullStore;

/// A row of numbers that is the same in every run.
pub(crate) struct StoreRandom(pub(crate) u64);

impl StoreRandom {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }

    pub(crate) fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.roll(things.len())]
    }
}

const NAMES: [&str; 4] = ["vm-1", "vm-2", "vm-3", "vm-4"];

/// Two stores that must not be told apart.
struct Twins<'a> {
    store: &'a dyn FullStore,
    memory: MemoryStore,
    dice: StoreRandom,
    node: NodeId,
    held: Vec<OwnedOperations>,
    ids: Vec<OperationId>,
    second: i64,
}

/// What the current node owns.
struct OwnedOperations {
    hold: Ownership,
    /// The number of the last event.
    seq: u32,
    /// The signal that the claim found, in the store and in memory: the numbers differ.
    signals: [Option<TakenSignal>; 2],
}

pub(crate) async fn random_lives_are_the_same_as_in_memory(store: &dyn FullStore) {
    let memory = MemoryStore::new();
    let node = joined(store).await;
    memory.join(node, None, LEASE).await.unwrap();
    let mut twins =
        Twins { store, memory, dice: StoreRandom(42), node, held: Vec::new(), ids: Vec::new(), second: 1 };
    for round in 0..1500 {
        twins.second += 1;
        match twins.dice.roll(13) {
            0..3 => twins.create().await,
            3..5 => twins.append().await,
            5..7 => twins.park().await,
            7 => twins.finish().await,
            8 => twins.control().await,
            9 => twins.signal().await,
            10 => twins.claim().await,
            11 => twins.write_resource().await,
            _ if round % 5 == 0 => twins.rejoin().await,
            _ => twins.stale().await,
        }
        if round % 100 == 0 {
            twins.compare().await;
        }
    }
    twins.compare().await;
}

impl Twins<'_> {
    async fn both(&self, write: Write) -> Result<Receipt, StoreError> {
        let expect = self.memory.commit(write.clone()).await;
        assert_eq!(self.store.commit(write.clone()).await, expect, "{write:?}");
        expect
    }

    /// Two writes that are the same but for the numbers that each store gave.
    async fn each(&self, [write, in_memory]: [Write; 2]) -> Result<Receipt, StoreError> {
        let expect = self.memory.commit(in_memory).await;
        assert_eq!(self.store.commit(write.clone()).await, expect, "{write:?}");
        expect
    }

    /// The number of the control request for this operation, in the store and in memory.
    async fn numbers(&self, id: OperationId) -> [i64; 2] {
        let found = [
            self.store.heartbeat(self.node, LEASE).await.unwrap(),
            self.memory.heartbeat(self.node, LEASE).await.unwrap(),
        ];
        let number = |controls: &Vec<(OperationId, ControlRequest)>| {
            controls.iter().find(|(of, _)| *of == id).map(|w| w.1.number)
        };
        found.map(|controls| number(&controls).unwrap_or_default())
    }

    fn key(&mut self) -> Option<String> {
        self.dice.chance(40).then(|| format!("key/{}", self.dice.roll(5)))
    }

    async fn create(&mut self) {
        let tenant = self.dice.one_of(&["acme", "beta"]);
        let mut new = Create { created_at: at(self.second), queue: self.dice.chance(50), ..plain(tenant) };
        new.owner = self.dice.chance(50).then_some(self.node);
        if self.dice.chance(60) {
            new = on(self.dice.one_of(&NAMES), new);
        }
        if self.dice.chance(30) {
            new = keyed(&format!("{}", self.dice.roll(30)), self.dice.one_of(&["one", "two"]), new);
        }
        if let (Some(name), true) = (new.resource.clone(), self.dice.chance(60)) {
            new.subject = Some(self.resource_write(&name).await);
        }
        if self.dice.chance(10) {
            let name = self.dice.one_of(&NAMES);
            let beside = self.resource_write(name).await;
            new.beside =
                Some(ResourceWrite { record_update: None, ..beside }).filter(|write| write.check().is_ok());
        }
        if !self.ids.is_empty() && self.dice.chance(10) {
            let verb = self.dice.one_of(&[PhaseVerb::Cancel, PhaseVerb::Cancel, PhaseVerb::Retry]);
            new.supersedes = Some((self.dice.one_of(&self.ids), control_of(verb, self.second)));
        }
        let (id, owner) = (new.id, new.owner);
        if self.both(Write::Create(Box::new(new))).await == Ok(Receipt::Saved) {
            self.ids.push(id);
            let is_queued = self.memory.show(id).await.unwrap().unwrap().summary.owner.is_none();
            if let (Some(node), false) = (owner, is_queued) {
                self.held.push(OwnedOperations {
                    hold: Ownership { id, node, epoch: 1 },
                    seq: 1,
                    signals: [None, None],
                });
            }
        }
    }

    fn record_update(&mut self) -> RecordUpdate {
        let mut record_update =
            record_update(&self.second.to_string(), &[("size", self.dice.one_of(&["small", "big"]))]);
        record_update.gone_at = self.dice.chance(10).then(|| at(self.second));
        record_update.due_at = self.dice.chance(30).then(|| at(self.second + 9));
        record_update
    }

    /// Mostly by a user who knows what is there.
    async fn resource_write(&mut self, name: &str) -> ResourceWrite {
        let version = self.memory.resource(name).await.unwrap().map(|row| row.version);
        let lags = i64::from(self.dice.chance(10));
        let expect = version.map_or(Expect::Absent, |version| Expect::Version(version - lags));
        let record_update = (version.is_none() || self.dice.chance(50)).then(|| self.record_update());
        ResourceWrite { at: at(self.second), ..resource_write(name, expect, record_update) }
    }

    async fn record_update_of(&mut self, hold: Ownership) -> Option<(String, RecordUpdate)> {
        let resource = self.memory.show(hold.id).await.unwrap().unwrap().summary.resource?;
        self.dice.chance(40).then(|| (resource, self.record_update()))
    }

    async fn write_resource(&mut self) {
        let name = self.dice.one_of(&NAMES);
        let write = self.resource_write(name).await;
        self.both(Write::Resource(Box::new(write))).await.unwrap();
    }

    async fn append(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let n = self.dice.roll(self.held.len());
        self.held[n].seq += 1;
        let OwnedOperations { hold, seq, .. } = self.held[n];
        let phase = self.dice.chance(20).then_some(Phase::Undoing);
        let processed =
            if self.dice.chance(20) { self.numbers(hold.id).await.map(Some) } else { [None, None] };
        let takes = self.dice.chance(60);
        let signals = if takes { std::mem::take(&mut self.held[n].signals) } else { [None, None] };
        let record_update = self.record_update_of(hold).await.map(Box::new);
        let write = |(processed, consumes): (_, Option<TakenSignal>)| {
            let consumes = consumes.map(Box::new);
            let (event, record_update) = (stepped(seq).into(), record_update.clone());
            Write::Append(Append { id: hold.id, event, phase, processed, consumes, record_update })
        };
        let [one, two] = signals;
        self.each([(processed[0], one), (processed[1], two)].map(write)).await.unwrap();
    }

    fn random_park(&mut self, hold: Ownership, seq: u32) -> Park {
        let phase = self.dice.one_of(&[Phase::Waiting, Phase::Undoing, Phase::Paused, Phase::Stuck]);
        Park {
            event: Some(stepped(seq + 1)).filter(|_| self.dice.chance(50)),
            phase,
            due_at: self.dice.chance(70).then(|| at(self.second + 5)),
            key: self.key(),
            step: Some(format!("step {seq}")),
            reason: self.dice.chance(50).then(|| "it takes a while".into()),
            memory: self.dice.chance(50).then(|| (format!("memory {seq}"), seq)),
            not_before: self.dice.chance(30).then(|| at(self.second + 2)),
            ..park_of(hold)
        }
    }

    async fn park(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let n = self.dice.roll(self.held.len());
        let OwnedOperations { hold, seq, .. } = self.held.swap_remove(n);
        let mut park = self.random_park(hold, seq);
        park.record_update = self.record_update_of(hold).await;
        let processed = if self.dice.chance(50) { self.numbers(hold.id).await } else { [0, 0] };
        self.each(processed.map(|processed| Write::Park(Box::new(Park { processed, ..park.clone() }))))
            .await
            .unwrap();
    }

    async fn finish(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let n = self.dice.roll(self.held.len());
        let OwnedOperations { hold, seq, .. } = self.held.swap_remove(n);
        let phase = self.dice.one_of(&[Phase::Succeeded, Phase::Failed, Phase::Undone, Phase::Cancelled]);
        let cause = self.dice.chance(50).then(|| "because".into());
        let record_update = self.record_update_of(hold).await;
        let settles = self.memory.show(hold.id).await.unwrap().unwrap().summary.resource;
        let end =
            Finish { phase, cause, at: at(self.second), settles, record_update, ..finish_of(hold, seq + 1) };
        self.both(Write::Finish(Box::new(end))).await.unwrap();
    }

    async fn control(&mut self) {
        if self.ids.is_empty() {
            return;
        }
        let verb =
            self.dice.one_of(&[PhaseVerb::Cancel, PhaseVerb::Pause, PhaseVerb::Resume, PhaseVerb::Retry]);
        let id = self.dice.one_of(&self.ids);
        self.both(Write::Wish { id, control: control_of(verb, self.second) }).await.unwrap();
    }

    async fn signal(&mut self) {
        let key = format!("key/{}", self.dice.roll(5));
        let payload = self.second.into();
        let limit = SignalLimit { prefix: "key/".into(), signals_max: 3, bytes_max: 8 };
        let limit = self.dice.chance(50).then_some(limit);
        self.both(Write::Signal { key, payload, at: at(self.second), limit }).await.unwrap();
    }

    /// Everything that is due: whose turn it is differs between stores, what there is does not.
    async fn claim(&mut self) {
        let now = if self.dice.chance(20) { LATE } else { at(self.second) };
        let expect = self.memory.claim(self.node, now, 10_000).await.unwrap();
        let found = self.store.claim(self.node, now, 10_000).await.unwrap();
        assert_eq!(found.next_due, expect.next_due);
        self.hold(found.operations, expect.operations);
    }

    /// Both stores have claimed the same.
    fn hold(&mut self, mut found: Vec<Claimed>, mut expect: Vec<Claimed>) {
        expect.sort_by_key(|claimed| claimed.id);
        found.sort_by_key(|claimed| claimed.id);
        assert_eq!(found.len(), expect.len());
        for (mut claimed, mut wanted) in found.into_iter().zip(expect) {
            let signals = [&mut claimed, &mut wanted].map(|claimed| {
                claimed.control = claimed.control.take().map(unnumbered);
                let signal = claimed.signal.as_mut()?;
                let number = std::mem::take(&mut signal.number);
                Some(TakenSignal { key: signal.key.clone(), number })
            });
            assert_eq!(format!("{claimed:?}"), format!("{wanted:?}"));
            self.held.push(OwnedOperations { hold: hold_of(&claimed, self.node), seq: claimed.seq, signals });
        }
    }

    /// The node dies with everything that it owns.
    async fn rejoin(&mut self) {
        let (old, new) = (self.node, new_node());
        for store in [self.store as &dyn Store, &self.memory] {
            store.join(new, Some(old), LEASE).await.unwrap();
            assert_eq!(store.heartbeat(new, LEASE).await.unwrap(), []);
        }
        self.node = new;
        self.held.clear();
        // All that is free is claimed at once, so that the times at which it became free do not matter.
        let expect = self.memory.claim(new, LATE, 10_000).await.unwrap().operations;
        let found = self.store.claim(new, LATE, 10_000).await.unwrap().operations;
        self.hold(found, expect);
    }

    /// A user who does not know what happened meanwhile.
    async fn stale(&mut self) {
        if self.ids.is_empty() {
            return;
        }
        let id = self.dice.one_of(&self.ids);
        let hold = Ownership { id, node: self.dice.one_of(&[self.node, new_node()]), epoch: 0 };
        let write = match self.dice.roll(3) {
            0 => append_of(id, event(1, Body::Adopted { node: self.node })),
            1 => Write::Park(Box::new(Park { event: None, ..self.random_park(hold, 1) })),
            _ => Write::Finish(Box::new(Finish { event: None, ..finish_of(hold, 1) })),
        };
        assert_eq!(self.both(write).await, Err(StoreError::Fenced));
    }

    /// Numbers may have gaps; their order is the same.
    async fn compare_resources(&self) {
        for also_gone in [false, true] {
            let labels = vec![("size".to_owned(), vec!["small".to_owned()])];
            for labels in [vec![], labels] {
                let kind = "runtime".to_owned();
                let query =
                    ResourceQuery { kind, labels, also_gone, limit: 10, counts: true, ..Default::default() };
                let mut found = self.store.resources(&query).await.unwrap();
                let mut expect = self.memory.resources(&query).await.unwrap();
                for row in found.rows.iter_mut().chain(&mut expect.rows) {
                    row.number = 0;
                }
                assert_eq!(found, expect);
            }
        }
    }

    async fn compare(&self) {
        let query = OperationQuery { limit: 10_000, ..OperationQuery::default() };
        let expect = self.memory.list(&query).await.unwrap();
        assert_eq!(self.store.list(&query).await.unwrap(), expect);
        for Summary { id, .. } in expect {
            let (shown, wanted) = (show(self.store, id).await, show(&self.memory, id).await);
            assert_eq!((shown.memory, shown.memory_seq), (wanted.memory, wanted.memory_seq));
            let journals = (self.store.journal(id, 0, 1000).await, self.memory.journal(id, 0, 1000).await);
            assert_eq!(journals.0, journals.1);
        }
        self.compare_resources().await;
        let now = at(self.second);
        let (stats, wanted) = (self.store.stats(now).await.unwrap(), self.memory.stats(now).await.unwrap());
        assert_eq!((stats.owned, stats.waiting, stats.due), (wanted.owned, wanted.waiting, wanted.due));
        assert_eq!((stats.stuck, stats.oldest_due), (wanted.stuck, wanted.oldest_due));
    }
}

//! Being alive, and what becomes free when a transaction is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use engine::store::{ControlRequest, StoreError};
use engine::{Clock, NodeId, OperationId, Timestamp, WallClock};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tracing::warn;
use uuid::Uuid;

use super::clock_skew::ClockSkew;
use super::connection::{BATCH_TIMEOUT, BY_KEY, Connection, ConnectionRole, Param, SessionOptions};
use super::failure::TransactionFailure;
use super::statements as sql;
use super::target::DatabaseTarget;
use crate::rows;

/// The renewal of the lease, and nothing else.
pub(super) const RENEWER: ConnectionRole = ConnectionRole { settings: BY_KEY, statements: &[sql::RENEW] };
pub(super) const HEARTBEAT: ConnectionRole = ConnectionRole {
    settings: BY_KEY,
    statements: &[sql::JOIN, sql::FORGET, sql::FREE, sql::RELEASE, sql::FREE_DEAD, sql::CONTROLS, sql::OWNS],
};

const TRIES_MAX: usize = 4;

/// A statement and its parameters, or nothing.
type HeartbeatStatement<'a> = Option<(&'static str, &'a [Param<'a>])>;

pub(super) struct Heartbeat {
    /// A connection of its own, so that nothing else delays a renewal.
    renewal: Connection,
    skew: ClockSkew,
    wire: Arc<HeartbeatConnection>,
}

/// The connection for everything but the renewal.
struct HeartbeatConnection {
    line: Connection,
    wake_up: Arc<Notify>,
    /// What is sent in one go must not be mixed with what another task sends.
    turn: Mutex<()>,
    /// Held while a task looks for dead nodes and control requests.
    attending: Mutex<()>,
    /// This node may own something. One that owns nothing gets no control requests and looks less often.
    is_busy: AtomicBool,
    looked_at: std::sync::Mutex<Option<Instant>>,
}

impl Heartbeat {
    pub(super) fn new(target: &Arc<DatabaseTarget>, wake_up: &Arc<Notify>) -> Heartbeat {
        let wire = HeartbeatConnection {
            line: Connection::new(target, HEARTBEAT),
            wake_up: Arc::clone(wake_up),
            turn: Mutex::default(),
            attending: Mutex::default(),
            is_busy: AtomicBool::new(false),
            looked_at: std::sync::Mutex::default(),
        };
        let renewal = Connection::new(target, RENEWER);
        Heartbeat { renewal, skew: ClockSkew::default(), wire: Arc::new(wire) }
    }

    pub(super) async fn join(
        &self,
        node: NodeId,
        previous: Option<NodeId>,
        lease: Duration,
    ) -> Result<(), StoreError> {
        let (lease, dead) = (rows::lease_micros(lease), previous.map(|node| node.0));
        let (row, gone): ([Param<'_>; 2], [Param<'_>; 1]) = ([&node.0, &lease], [&dead]);
        let free = [(sql::FORGET, gone.as_slice()), (sql::FREE, &gone)];
        let [forget, free] = free.map(|step| dead.and(Some(step)));
        let [_, _, freed] = self.wire.run([Some((sql::JOIN, &row)), forget, free]).await?;
        self.wire.notify_for(&freed);
        Ok(())
    }

    pub(super) async fn heartbeat(
        &self,
        node: NodeId,
        lease: Duration,
    ) -> Result<Vec<(OperationId, ControlRequest)>, StoreError> {
        let sent = WallClock.now();
        let renewed = self.renewal.write(sql::RENEW, &[&node.0, &rows::lease_micros(lease)]).await?;
        let Some(row) = renewed.first() else { return Err(StoreError::Fenced) };
        self.skew.note(sent, WallClock.now(), Timestamp(row.get(1)));
        let is_late = self.wire.looked_at().is_none_or(|at| at.elapsed() >= lease / 2);
        if !row.get::<_, bool>(0) && !self.wire.is_busy.load(Ordering::Acquire) && !is_late {
            return Ok(Vec::new());
        }
        // The lease is renewed, whatever becomes of the rest; and the next renewal does not wait for it.
        let wire = Arc::clone(&self.wire);
        let attending = tokio::spawn(async move { wire.attend(node).await });
        match timeout(lease / 5, attending).await {
            Ok(Ok(Ok(controls))) => return Ok(controls),
            Ok(Ok(Err(error))) => warn!(%error, "cannot look for dead nodes and control requests, retrying"),
            Ok(Err(_)) | Err(_) => warn!("looking for dead nodes and control requests takes long, retrying"),
        }
        Ok(Vec::new())
    }

    /// This node has got an operation.
    pub(super) fn owns(&self) {
        self.wire.is_busy.store(true, Ordering::Release);
    }

    pub(super) async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        let mine: [Param<'_>; 1] = [&node.0];
        let [_, freed, _] =
            self.wire.run([Some((sql::FORGET, &mine)), Some((sql::FREE, &mine)), None]).await?;
        self.wire.notify_for(&freed);
        Ok(())
    }

    pub(super) async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
        let [answer, _, _] = self.wire.run([Some((sql::RELEASE, &[&node.0, &ids])), None, None]).await?;
        self.wire.wake_up.notify_one();
        released(&answer)
    }
}

impl HeartbeatConnection {
    /// Frees what dead nodes owned, and reads the control requests for operations of this node.
    async fn attend(&self, node: NodeId) -> Result<Vec<(OperationId, ControlRequest)>, StoreError> {
        let Ok(_alone) = self.attending.try_lock() else {
            return Err(StoreError::Unavailable("the look before is still under way".into()));
        };
        // What becomes ours from now on is not overlooked.
        self.is_busy.store(false, Ordering::Release);
        let mine: [Param<'_>; 1] = [&node.0];
        let steps =
            [Some((sql::FREE_DEAD, [].as_slice())), Some((sql::CONTROLS, &mine)), Some((sql::OWNS, &mine))];
        let found = self.run(steps).await;
        let is_busy = found.as_ref().map_or(true, |[_, _, owned]| !owned.is_empty());
        self.is_busy.fetch_or(is_busy, Ordering::AcqRel);
        let [freed, controls, _] = found?;
        *self.looked_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.notify_for(&freed);
        Ok(rows::controls(controls.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()))
    }

    fn looked_at(&self) -> Option<Instant> {
        *self.looked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify_for(&self, freed: &[Row]) {
        if !freed.is_empty() {
            self.wake_up.notify_one();
        }
    }

    /// One transaction. When others are in the way, nothing has happened and it is done again.
    async fn run(&self, steps: [HeartbeatStatement<'_>; 3]) -> Result<[Vec<Row>; 3], StoreError> {
        let _turn = self.turn.lock().await;
        let mut tries = 0;
        loop {
            tries += 1;
            let session = self.line.session().await?;
            match session.in_time(BATCH_TIMEOUT, transaction(&session, steps)).await.flatten() {
                Err(TransactionFailure::Clash(_) | TransactionFailure::Locked(_)) if tries < TRIES_MAX => {}
                done => return Ok(done?),
            }
        }
    }
}

/// What `RELEASE` has to say.
pub(super) fn released(answer: &[Row]) -> Result<(), StoreError> {
    let count = |column| answer.first().map_or(0, |row| row.get::<_, i64>(column));
    match count(0) - count(1) {
        0 => Ok(()),
        held => Err(StoreError::Unavailable(format!("others hold the rows of {held} operations"))),
    }
}

/// All is sent before the first answer is awaited, and the first error is the one that counts.
async fn transaction(
    session: &SessionOptions,
    steps: [HeartbeatStatement<'_>; 3],
) -> Result<[Vec<Row>; 3], TransactionFailure> {
    let step = async |step: HeartbeatStatement<'_>| match step {
        Some((sql, params)) => session.query(sql, params).await,
        None => Ok(Vec::new()),
    };
    let (begun, first, second, third, committed) = tokio::join!(
        biased;
        session.say(sql::BEGIN),
        step(steps[0]),
        step(steps[1]),
        step(steps[2]),
        session.say(sql::COMMIT),
    );
    begun?;
    let found = [first?, second?, third?];
    committed?;
    Ok(found)
}

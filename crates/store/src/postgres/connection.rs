//! Connections that come back by themselves.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use engine::store::StoreError;
use futures_util::future::try_join_all;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};
use tracing::{info, warn};

use super::failure::{TransactionFailure, fault};
use super::target::DatabaseTarget;

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a transaction may take, and a batch with it.
pub(super) const BATCH_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

pub(super) type Param<'a> = &'a (dyn ToSql + Sync);

/// For all: no transaction waits for ever, and what a lost client left behind is not locked for long. An
/// acknowledgement is a promise, so a server that commits lazily is asked not to.
const SETTINGS: &str = "
    set statement_timeout = '10s';
    set idle_in_transaction_session_timeout = '15s';
    set jit = off;
    select set_config('synchronous_commit', 'on', false)
        where current_setting('synchronous_commit') = 'off';
";

/// What a connection is for.
#[derive(Clone, Copy)]
pub(super) struct ConnectionRole {
    pub(super) settings: &'static str,
    pub(super) statements: &'static [&'static str],
}

// A plan that had to take what is switched off looks so dear that the server would compile it first, for longer
// than it runs. So that is off everywhere.

/// For statements over arrays of keys. No lock is waited for longer than this: who waits holds up others. Plans are made once, while tables are empty, and must be right for
/// full ones too: go through the array and look each key up.
pub(super) const BY_KEY: &str = "
    set lock_timeout = '250ms';
    set plan_cache_mode = force_generic_plan;
    set jit = off;
    set enable_seqscan = off;
    set enable_hashjoin = off;
    set enable_mergejoin = off;
";
/// For searches that say themselves where to begin: go through an index in its order and look the rest up.
pub(super) const IN_ORDER: &str = "
    set plan_cache_mode = force_custom_plan;
    set jit = off;
    set enable_seqscan = off;
    set enable_bitmapscan = off;
    set enable_hashjoin = off;
    set enable_mergejoin = off;
    set enable_sort = off;
    set max_parallel_workers_per_gather = 0;
";
/// For lists, where the best plan depends on the filters.
pub(super) const BY_FILTER: &str = "
    set plan_cache_mode = force_custom_plan;
    set jit = off;
    set enable_seqscan = off;
";

/// One open connection with its prepared statements.
pub(super) struct SessionOptions {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    driver: JoinHandle<()>,
}

#[cfg(test)]
impl SessionOptions {
    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

impl SessionOptions {
    pub(super) async fn open(
        target: &DatabaseTarget,
        role: ConnectionRole,
        wake_up: Option<Arc<Notify>>,
    ) -> Result<SessionOptions, StoreError> {
        let opening = async {
            let (client, driver) = target.connect(wake_up).await?;
            client.batch_execute(SETTINGS).await.map_err(fault)?;
            client.batch_execute(role.settings).await.map_err(fault)?;
            let prepared = try_join_all(role.statements.iter().map(|sql| client.prepare(sql)));
            let prepared = prepared.await.map_err(fault)?;
            let statements = role.statements.iter().copied().zip(prepared).collect();
            Ok(SessionOptions { client, statements, driver })
        };
        let late = |_| StoreError::Unavailable("it does not let us in".into());
        timeout(CONNECT_TIMEOUT, opening).await.map_err(late)?
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Ends the connection at once. What it was doing may or may not have happened.
    pub(super) fn kill(&self) {
        self.driver.abort();
    }

    pub(super) async fn closed(&mut self) {
        let _ = (&mut self.driver).await;
    }

    fn statement(&self, sql: &'static str) -> &Statement {
        self.statements.get(sql).expect("a role names all statements that it runs")
    }

    pub(super) async fn query(&self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        self.client.query(self.statement(sql), params).await
    }

    pub(super) async fn execute(&self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, Error> {
        self.client.execute(self.statement(sql), params).await
    }

    /// For pipelines: asks only when there is something to ask.
    pub(super) async fn query_if(
        &self,
        wanted: bool,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Error> {
        if wanted { self.query(sql, params).await } else { Ok(Vec::new()) }
    }

    /// What does not come back in time is given up together with the connection.
    pub(super) async fn in_time<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, TransactionFailure> {
        timeout(limit, work).await.map_err(|_| {
            self.kill();
            let text = format!("it takes more than {} seconds to answer", limit.as_secs());
            TransactionFailure::Down(StoreError::Unavailable(text))
        })
    }

    /// A statement that is run once and not worth preparing.
    pub(super) async fn query_text(
        &self,
        sql: &str,
        params: &[(Param<'_>, Type)],
    ) -> Result<Vec<Row>, Error> {
        self.client.query_typed(sql, params).await
    }

    /// A statement without parameters or answer.
    pub(super) async fn say(&self, sql: &'static str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }
}

/// Kills the session when the node that works on a transaction goes away in the middle of it, because the next one
/// would find itself in that transaction.
pub(super) struct Unfinished<'a>(Option<&'a SessionOptions>);

impl<'a> Unfinished<'a> {
    pub(super) fn new(session: &'a SessionOptions) -> Unfinished<'a> {
        Unfinished(Some(session))
    }

    pub(super) fn finished(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.0 {
            session.kill();
        }
    }
}

/// A place for one connection, which is opened when a transaction needs it and is not open.
pub(super) struct Connection {
    target: Arc<DatabaseTarget>,
    role: ConnectionRole,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<Arc<SessionOptions>>,
    connect_error: Option<ConnectError>,
}

/// While this lasts, everybody gets the same answer at once.
struct ConnectError {
    error: StoreError,
    until: Instant,
    pause: Duration,
}

impl Connection {
    pub(super) fn new(target: &Arc<DatabaseTarget>, role: ConnectionRole) -> Connection {
        Connection { target: Arc::clone(target), role, state: Mutex::default() }
    }

    pub(super) async fn session(&self) -> Result<Arc<SessionOptions>, StoreError> {
        let mut state = self.state.lock().await;
        if let Some(session) = state.session.take_if(|session| session.is_closed()) {
            drop(session);
            info!("lost a connection to the database, opening another one");
        }
        if let Some(session) = &state.session {
            return Ok(Arc::clone(session));
        }
        if let Some(connect_error) =
            state.connect_error.as_ref().filter(|connect_error| Instant::now() < connect_error.until)
        {
            return Err(connect_error.error.clone());
        }
        match SessionOptions::open(&self.target, self.role, None).await {
            Ok(session) => {
                let session = Arc::new(session);
                *state = State { session: Some(Arc::clone(&session)), connect_error: None };
                Ok(session)
            }
            Err(error) => {
                // It let us in before, so this is not the last word, whatever it says.
                let error = StoreError::Unavailable(reason(error));
                let pause = state
                    .connect_error
                    .as_ref()
                    .map_or(PAUSE_MIN, |connect_error| next_pause(connect_error.pause));
                warn!(%error, "connecting to the database failed");
                state.connect_error =
                    Some(ConnectError { error: error.clone(), until: Instant::now() + pause, pause });
                Err(error)
            }
        }
    }

    /// Asks, and asks once more on a new connection when the old one breaks: asking changes nothing.
    pub(super) async fn read(&self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let session = self.session().await?;
        match session.in_time(READ_TIMEOUT, session.query(sql, params)).await? {
            Err(error) if error.as_db_error().is_none() && session.is_closed() => {}
            answer => return answer.map_err(fault),
        }
        let session = self.session().await?;
        session.in_time(READ_TIMEOUT, session.query(sql, params)).await?.map_err(fault)
    }

    /// Asks what was put together for this one question, in one round trip.
    pub(super) async fn ask(&self, sql: &str, params: &[(Param<'_>, Type)]) -> Result<Vec<Row>, StoreError> {
        let session = self.session().await?;
        match session.in_time(READ_TIMEOUT, session.query_text(sql, params)).await? {
            Err(error) if error.as_db_error().is_none() && session.is_closed() => {}
            answer => return answer.map_err(fault),
        }
        let session = self.session().await?;
        session.in_time(READ_TIMEOUT, session.query_text(sql, params)).await?.map_err(fault)
    }

    /// One statement that changes something.
    pub(super) async fn write(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let session = self.session().await?;
        session.in_time(BATCH_TIMEOUT, session.query(sql, params)).await?.map_err(fault)
    }
}

pub(super) fn reason(error: StoreError) -> String {
    match error {
        StoreError::Unavailable(text) | StoreError::Full(text) | StoreError::Refused(text) => text,
        StoreError::Fenced => error.to_string(),
    }
}

pub(super) fn next_pause(pause: Duration) -> Duration {
    (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX)
}

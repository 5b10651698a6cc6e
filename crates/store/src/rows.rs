//! What rows of both databases become.

use std::time::Duration;

use engine::store::{
    Claimed, ControlRequest, EndedOperations, ResourceRow, RowKey, SealedColumn, SealedPage, SealedRow,
    Signal, StoreError, Summary, Total,
};
use engine::{
    Event, Grant, NodeId, OperationId, Organisation, Phase, Proof, ProofKind, Role, SessionRow, Timestamp,
    TokenRow, UserRow, grants_text, parse_grants,
};
use uuid::Uuid;

use crate::SEALED_PAGE;

/// A row of a list, as the database has it.
pub(crate) struct SummaryRow {
    pub(crate) id: Uuid,
    pub(crate) workflow: String,
    pub(crate) name: Option<String>,
    pub(crate) tenant: String,
    pub(crate) resource: Option<String>,
    pub(crate) phase: String,
    pub(crate) step: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) due_at: Option<i64>,
    pub(crate) created_at: i64,
    pub(crate) deadline_at: i64,
    pub(crate) finished_at: Option<i64>,
    pub(crate) owner: Option<Uuid>,
    pub(crate) control: Option<String>,
}

impl SummaryRow {
    pub(crate) fn read(self) -> Result<Summary, StoreError> {
        Ok(Summary {
            name: self.name,
            id: OperationId(self.id),
            workflow: self.workflow,
            tenant: self.tenant,
            resource: self.resource,
            phase: phase(&self.phase)?,
            step: self.step,
            reason: self.reason,
            due_at: self.due_at.map(Timestamp),
            created_at: Timestamp(self.created_at),
            deadline_at: Timestamp(self.deadline_at),
            finished_at: self.finished_at.map(Timestamp),
            owner: self.owner.map(NodeId),
            // A list has to stay readable with a broken row in it; the next claim of the row says what is
            // wrong with it.
            control: self.control.and_then(|text| serde_json::from_str(&text).ok()),
        })
    }
}

/// An event, as the database has it.
pub(crate) struct EventRow {
    pub(crate) seq: u32,
    pub(crate) at: i64,
    pub(crate) body: String,
}

impl EventRow {
    pub(crate) fn read(&self) -> Result<Event, StoreError> {
        let body = serde_json::from_str(&self.body)
            .map_err(|error| StoreError::Refused(format!("event {} cannot be read: {error}", self.seq)))?;
        Ok(Event { seq: self.seq, at: Timestamp(self.at), body })
    }
}

/// An operation that a claim took, as the database has it.
pub(crate) struct ClaimedRow {
    pub(crate) id: Uuid,
    pub(crate) workflow: String,
    pub(crate) tenant: String,
    pub(crate) resource: Option<String>,
    pub(crate) params: String,
    pub(crate) phase: String,
    pub(crate) created_at: i64,
    pub(crate) deadline_at: i64,
    pub(crate) epoch: i64,
    pub(crate) memory: Option<String>,
    pub(crate) memory_seq: u32,
    pub(crate) orphaned: bool,
    pub(crate) control: Option<String>,
    pub(crate) control_number: i64,
    pub(crate) signal: Option<SignalText>,
    pub(crate) events: Vec<EventRow>,
}

/// A signal, as the database has it.
pub(crate) struct SignalText {
    pub(crate) key: String,
    pub(crate) payload: String,
    pub(crate) number: i64,
}

/// An operation that no transaction can run, because what the database has of it makes no sense.
pub(crate) struct RowError {
    pub(crate) id: Uuid,
    pub(crate) reason: String,
}

impl ClaimedRow {
    pub(crate) fn read(self) -> Result<Claimed, RowError> {
        let id = self.id;
        self.try_read().map_err(|error| RowError { id, reason: error })
    }

    fn try_read(self) -> Result<Claimed, String> {
        let broken =
            |what: &str, error: &dyn std::fmt::Display| format!("its {what} cannot be read: {error}");
        let (mut events, mut unreadable) = (Vec::with_capacity(self.events.len()), None);
        for row in &self.events {
            match serde_json::from_str(&row.body) {
                Ok(body) => events.push(Event { seq: row.seq, at: Timestamp(row.at), body }),
                // Whole, but not as this release writes it: a newer one can go on.
                Err(error) if error.is_data() => {
                    unreadable.get_or_insert(format!("its event {} cannot be read: {error}", row.seq));
                }
                Err(error) => return Err(broken("journal", &error)),
            }
        }
        let control = self.control.as_deref().map(serde_json::from_str::<ControlRequest>).transpose();
        let signal = match self.signal {
            Some(SignalText { key, payload, number }) => {
                let payload = serde_json::from_str(&payload).map_err(|error| broken("signal", &error))?;
                Some(Signal { key, payload, number })
            }
            None => None,
        };
        let number = self.control_number;
        let control = control.map_err(|error| broken("wish", &error))?;
        Ok(Claimed {
            id: OperationId(self.id),
            workflow: self.workflow,
            tenant: self.tenant,
            resource: self.resource,
            params: self.params,
            phase: self.phase.parse().map_err(|error: String| broken("phase", &error))?,
            created_at: Timestamp(self.created_at),
            deadline_at: Timestamp(self.deadline_at),
            epoch: self.epoch,
            memory: self.memory,
            // A memory knows all events up to its number, so without later ones that number is the last.
            seq: self.events.last().map_or(self.memory_seq, |event| event.seq),
            events,
            orphaned: self.orphaned,
            control: control.map(|control| ControlRequest { number, ..control }),
            signal,
            unreadable,
        })
    }
}

/// A row that was looked at, and its tenant, resource, workflow and text where the text is wanted.
pub(crate) type ClaimCandidate = (RowKey, Option<(String, Option<String>, String, String)>);

pub(crate) fn sealed_page(column: SealedColumn, found: Vec<ClaimCandidate>) -> SealedPage {
    let next = found.last().filter(|_| found.len() == SEALED_PAGE).map(|(key, _)| key.clone());
    let wanted = found.into_iter().filter_map(|(key, wanted)| {
        let (tenant, resource, workflow, text) = wanted?;
        Some(SealedRow { column, key, tenant, resource, workflow, text })
    });
    SealedPage { rows: wanted.collect(), next }
}

/// A resource, as the database has it.
pub(crate) struct ResourceText {
    pub(crate) number: i64,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) tenant: String,
    pub(crate) version: i64,
    pub(crate) record: String,
    pub(crate) operation: Option<Uuid>,
    pub(crate) workflow: Option<String>,
    pub(crate) phase: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) gone_at: Option<i64>,
    pub(crate) due_at: Option<i64>,
}

impl ResourceText {
    pub(crate) fn read(self) -> Result<ResourceRow, StoreError> {
        Ok(ResourceRow {
            number: self.number,
            name: self.name,
            kind: self.kind,
            tenant: self.tenant,
            version: self.version,
            record: self.record,
            operation: self.operation.map(OperationId),
            workflow: self.workflow,
            phase: self.phase.as_deref().map(phase).transpose()?,
            created_at: Timestamp(self.created_at),
            updated_at: Timestamp(self.updated_at),
            gone_at: self.gone_at.map(Timestamp),
            due_at: self.due_at.map(Timestamp),
        })
    }
}

pub(crate) struct TokenText {
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) digest: String,
    pub(crate) created_at: i64,
    pub(crate) expires_at: Option<i64>,
    pub(crate) platform: Option<String>,
    pub(crate) grants: Option<String>,
}

impl TokenText {
    pub(crate) fn read(self) -> Result<TokenRow, StoreError> {
        Ok(TokenRow {
            grants: grants(self.grants.as_deref())?,
            role: self.role.parse::<Role>().map_err(StoreError::Refused)?,
            name: self.name,
            digest: self.digest,
            platform: self.platform,
            created_at: Timestamp(self.created_at),
            expires_at: self.expires_at.map(Timestamp),
        })
    }
}

pub(crate) struct UserText {
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) hash: String,
    pub(crate) created_at: i64,
    pub(crate) failures: i64,
    pub(crate) locked_until: Option<i64>,
    pub(crate) grants: Option<String>,
}

impl UserText {
    pub(crate) fn read(self) -> Result<UserRow, StoreError> {
        Ok(UserRow {
            grants: grants(self.grants.as_deref())?,
            role: self.role.parse::<Role>().map_err(StoreError::Refused)?,
            name: self.name,
            hash: self.hash,
            created_at: Timestamp(self.created_at),
            failures: unsigned(self.failures),
            locked_until: self.locked_until.map(Timestamp),
        })
    }
}

/// The columns `role`, `org` and `proof` are what the release before knows; it refuses a role `none` and an organisation
/// without a name.
pub(crate) struct SessionText {
    pub(crate) digest: String,
    pub(crate) user: String,
    pub(crate) role: String,
    pub(crate) org: Option<String>,
    pub(crate) proof: String,
    pub(crate) created_at: i64,
    pub(crate) seen_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) roles: Option<String>,
    pub(crate) permissions: Option<String>,
    pub(crate) proof_digest: Option<String>,
    pub(crate) proof_expires_at: Option<i64>,
    pub(crate) device: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) grants: Option<String>,
}

impl SessionText {
    pub(crate) fn write(row: &SessionRow) -> SessionText {
        let roles: Vec<&str> = row.roles.iter().map(|role| role.as_str()).collect();
        let proof_digest = match &row.proof {
            Proof::Password { digest } | Proof::Token { digest } => Some(digest.clone()),
            Proof::Bearer { .. } | Proof::CodeFlow | Proof::Header => None,
        };
        SessionText {
            digest: row.digest.clone(),
            user: row.user.clone(),
            role: row.roles.iter().max().map_or("none", |role| role.as_str()).to_owned(),
            org: match &row.organisation {
                Organisation::Server => None,
                Organisation::Named(id) => Some(id.clone()),
                Organisation::Missing => Some(String::new()),
            },
            proof: row.proof.kind().as_str().to_owned(),
            created_at: row.created_at.0,
            seen_at: row.seen_at.0,
            expires_at: row.expires_at.0,
            roles: Some(roles.join(" ")),
            permissions: Some(row.permissions.join(" ")),
            proof_digest,
            proof_expires_at: row.proof.expires_at().map(|at| at.0),
            device: Some(row.device.clone()),
            address: Some(row.address.clone()),
            grants: Some(grants_text(&row.grants)),
        }
    }

    pub(crate) fn read(self) -> Result<SessionRow, StoreError> {
        let kind = self.proof.parse().map_err(StoreError::Refused)?;
        let roles = self.roles.as_deref().unwrap_or(&self.role).split_ascii_whitespace();
        let roles = roles.map(str::parse).collect::<Result<_, _>>().map_err(StoreError::Refused)?;
        // The release before wrote no permissions, and called some bearers of issuers tokens of this server: whatever
        // opened such a session proves nothing any more.
        let is_whole = self.permissions.is_some();
        let digest = self.proof_digest.unwrap_or_default();
        let proof = match (kind, self.proof_expires_at) {
            (ProofKind::Password, _) => Proof::Password { digest },
            (ProofKind::Token, _) => Proof::Token { digest },
            (ProofKind::Oidc, None) if is_whole => Proof::CodeFlow,
            (ProofKind::Oidc, at) => Proof::Bearer { expires_at: Timestamp(at.unwrap_or_default()) },
        };
        let organisation = match (kind, self.org.filter(|org| !org.is_empty())) {
            (ProofKind::Password | ProofKind::Token, _) => Organisation::Server,
            (ProofKind::Oidc, Some(id)) => Organisation::Named(id),
            (ProofKind::Oidc, None) => Organisation::Missing,
        };
        let permissions = self.permissions.unwrap_or_default();
        Ok(SessionRow {
            grants: grants(self.grants.as_deref())?,
            digest: self.digest,
            user: self.user,
            roles,
            organisation,
            permissions: permissions.split_ascii_whitespace().map(str::to_owned).collect(),
            proof,
            created_at: Timestamp(self.created_at),
            seen_at: Timestamp(self.seen_at),
            expires_at: Timestamp(self.expires_at),
            device: self.device.unwrap_or_default(),
            address: self.address.unwrap_or_default(),
        })
    }
}

/// Rows of earlier releases have none. What cannot be read grants nothing, and the row is refused as a whole.
fn grants(text: Option<&str>) -> Result<Vec<Grant>, StoreError> {
    parse_grants(text.unwrap_or_default()).map_err(StoreError::Refused)
}

pub(crate) fn phase(text: &str) -> Result<Phase, StoreError> {
    text.parse().map_err(StoreError::Refused)
}

/// A line of totals, as the database has it.
pub(crate) fn total((workflow, phase_name, count): (String, String, i64)) -> Result<Total, StoreError> {
    Ok(Total { workflow, phase: phase(&phase_name)?, count: u64::from(unsigned(count)) })
}

/// What ended in one span of time, as the database has it.
pub(crate) fn ended((nth, count, failed, micros): (i64, i64, i64, i64)) -> EndedOperations {
    EndedOperations {
        nth: unsigned(nth),
        count: u64::from(unsigned(count)),
        failed: u64::from(unsigned(failed)),
        took: Duration::from_micros(u64::try_from(micros).unwrap_or_default()),
    }
}

pub(crate) fn control_text(control: &ControlRequest) -> Result<String, StoreError> {
    serde_json::to_string(control).map_err(|error| StoreError::Refused(error.to_string()))
}

/// Databases count with a sign.
pub(crate) fn signed(seq: u32) -> Result<i32, StoreError> {
    i32::try_from(seq).map_err(|_| StoreError::Refused(format!("{seq} events are more than a journal holds")))
}

/// A count or number that came back from a database.
pub(crate) fn unsigned(number: i64) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

/// How many rows a transaction asked for.
pub(crate) fn rows(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A lease in microseconds. A century is for ever, and does not overflow.
pub(crate) fn lease_micros(lease: Duration) -> i64 {
    const CENTURY: i64 = 100 * 365 * 24 * 3600 * 1_000_000;
    i64::try_from(lease.as_micros()).unwrap_or(CENTURY).min(CENTURY)
}

/// What a heartbeat brings. A control request that cannot be read is no control request; the next claim says what is wrong with it.
pub(crate) fn controls(found: Vec<(Uuid, String, i64)>) -> Vec<(OperationId, ControlRequest)> {
    let read = |(id, text, number): (Uuid, String, i64)| {
        let control: ControlRequest = serde_json::from_str(&text).ok()?;
        Some((OperationId(id), ControlRequest { number, ..control }))
    };
    found.into_iter().filter_map(read).collect()
}

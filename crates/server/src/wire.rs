//! Conversion of engine types to wire types.

pub(crate) use api::ProblemBody as Problem;
pub(crate) use api::types::*;
use engine::store::{ControlRequest, Summary};
use engine::{Organisation, ProofKind, SessionRow, StepInfo, Timestamp, UserRow, WorkflowInfo};

use crate::grants;
use crate::sentence::describe;

/// So many digits tell sessions apart.
const SESSION_ID_CHARS: usize = 16;

/// A row or a value of the engine that has a type on the wire.
pub trait ToWire {
    type Wire;

    fn to_wire(self) -> Self::Wire;
}

impl<T: ToWire> ToWire for Option<T> {
    type Wire = Option<T::Wire>;

    fn to_wire(self) -> Option<T::Wire> {
        self.map(T::to_wire)
    }
}

impl<T: ToWire> ToWire for Vec<T> {
    type Wire = Vec<T::Wire>;

    fn to_wire(self) -> Vec<T::Wire> {
        self.into_iter().map(T::to_wire).collect()
    }
}

impl ToWire for Timestamp {
    type Wire = WireTime;

    fn to_wire(self) -> WireTime {
        WireTime::from_unix_micros(self.0)
    }
}

impl ToWire for engine::Role {
    type Wire = Role;

    fn to_wire(self) -> Role {
        self.as_str().parse().expect("a role of the engine has the same name on the wire")
    }
}

/// The role of the engine with this name on the wire.
pub(crate) fn role(role: Role) -> engine::Role {
    role.as_str().parse().expect("a role on the wire has the same name in the engine")
}

impl ToWire for engine::Phase {
    type Wire = Phase;

    fn to_wire(self) -> Phase {
        match self {
            engine::Phase::Pending => Phase::Pending,
            engine::Phase::Running => Phase::Running,
            engine::Phase::Waiting => Phase::Waiting,
            engine::Phase::Undoing => Phase::Undoing,
            engine::Phase::Paused => Phase::Paused,
            engine::Phase::Stuck => Phase::Stuck,
            engine::Phase::Succeeded => Phase::Succeeded,
            engine::Phase::Failed => Phase::Failed,
            engine::Phase::Undone => Phase::Undone,
            engine::Phase::Cancelled => Phase::Cancelled,
        }
    }
}

impl ToWire for engine::PhaseVerb {
    type Wire = Verb;

    fn to_wire(self) -> Verb {
        match self {
            engine::PhaseVerb::Cancel => Verb::Cancel,
            engine::PhaseVerb::Pause => Verb::Pause,
            engine::PhaseVerb::Resume => Verb::Resume,
            engine::PhaseVerb::Retry => Verb::Retry,
        }
    }
}

impl ToWire for ControlRequest {
    type Wire = PendingRequest;

    fn to_wire(self) -> PendingRequest {
        PendingRequest { verb: self.verb.to_wire(), by: self.by, reason: self.reason, at: self.at.to_wire() }
    }
}

impl ToWire for Summary {
    type Wire = Operation;

    fn to_wire(self) -> Operation {
        Operation {
            id: self.id.0,
            workflow: self.workflow,
            name: self.name,
            tenant: self.tenant,
            resource: self.resource,
            phase: self.phase.to_wire(),
            step: self.step,
            reason: self.reason,
            due_at: self.due_at.to_wire(),
            created_at: self.created_at.to_wire(),
            deadline_at: self.deadline_at.to_wire(),
            finished_at: self.finished_at.to_wire(),
            node: self.owner.map(|node| node.0),
            asked: self.control.to_wire(),
            progress: None,
        }
    }
}

impl ToWire for &engine::LastError {
    type Wire = LastError;

    fn to_wire(self) -> LastError {
        LastError { step: self.step.clone(), cause: self.cause.to_string(), at: self.at.to_wire() }
    }
}

impl ToWire for &engine::Event {
    type Wire = JournalEntry;

    fn to_wire(self) -> JournalEntry {
        let mut data = engine::masked(serde_json::to_value(&self.body).unwrap_or_default());
        if let Some(members) = data.as_object_mut() {
            members.remove("kind");
        }
        JournalEntry {
            seq: self.seq,
            at: self.at.to_wire(),
            kind: self.body.kind().to_owned(),
            step: step_of(&self.body).map(str::to_owned),
            text: describe(self),
            data,
        }
    }
}

fn step_of(body: &engine::Body) -> Option<&str> {
    use engine::Body;
    match body {
        Body::Created { started, .. } | Body::Stepped { started, .. } => started.as_deref(),
        Body::Waited { step, .. } | Body::Retried { step, .. } | Body::Stuck { step, .. } => Some(step),
        Body::Turned { step, .. } | Body::Finished { step, .. } => step.as_deref(),
        Body::Adopted { .. } | Body::Asked { .. } | Body::Signalled { .. } => None,
    }
}

impl ToWire for WorkflowInfo {
    type Wire = Workflow;

    fn to_wire(self) -> Workflow {
        Workflow {
            workflow: self.workflow,
            version: self.version,
            source: WorkflowSource::default(),
            changed_by: None,
            changed_at: None,
            about: self.about,
            on_failure: self.on_failure.to_owned(),
            deadline_seconds: self.deadline_seconds,
            housekeeping: self.housekeeping,
            steps: self.steps.to_wire(),
            params: (*self.schema).clone(),
        }
    }
}

impl ToWire for StepInfo {
    type Wire = WorkflowStep;

    fn to_wire(self) -> WorkflowStep {
        WorkflowStep {
            weight: self.weight,
            name: self.name,
            title: self.title,
            effect: self.effect.to_owned(),
            driver: self.driver,
            conditional: self.conditional,
            clean_up: self.clean_up,
        }
    }
}

impl ToWire for engine::TokenRow {
    type Wire = Token;

    fn to_wire(self) -> Token {
        Token {
            name: self.name,
            role: self.role.to_wire(),
            platform: self.platform,
            grants: grants::texts(&self.grants),
            created_at: self.created_at.to_wire(),
            expires_at: self.expires_at.to_wire(),
        }
    }
}

impl ToWire for engine::AuditRow {
    type Wire = AuditEntry;

    fn to_wire(self) -> AuditEntry {
        let engine::AuditRow { at, who, action, target, result, request } = self;
        AuditEntry { at: at.to_wire(), who, action, target, result, request }
    }
}

/// A user at this moment; a lock that is over is none.
pub(crate) fn user_at(now: Timestamp, row: UserRow) -> User {
    User {
        name: row.name,
        role: row.role.to_wire(),
        grants: grants::texts(&row.grants),
        created_at: row.created_at.to_wire(),
        locked_until: row.locked_until.filter(|until| *until > now).to_wire(),
    }
}

/// The beginning of the digest: what the browser holds cannot be found from it.
pub(crate) fn session_id(row: &SessionRow) -> &str {
    row.digest.get(..SESSION_ID_CHARS).unwrap_or(&row.digest)
}

impl ToWire for SessionRow {
    type Wire = Session;

    fn to_wire(self) -> Session {
        Session {
            id: session_id(&self).to_owned(),
            role: self.roles.iter().copied().max().to_wire(),
            proof: match self.proof.kind() {
                ProofKind::Password => Proof::Password,
                ProofKind::Token => Proof::Token,
                ProofKind::Oidc => Proof::Oidc,
            },
            user: self.user,
            org: match self.organisation {
                Organisation::Named(id) => Some(id),
                Organisation::Server | Organisation::Missing => None,
            },
            created_at: self.created_at.to_wire(),
            seen_at: self.seen_at.to_wire(),
            expires_at: self.expires_at.to_wire(),
            device: self.device,
            address: self.address,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_on_the_wire_and_in_the_engine() {
        for one in engine::Role::ALL {
            assert_eq!(role(one.to_wire()), one);
        }
        assert_eq!(Role::ALL.len(), engine::Role::ALL.len());
        for phase in engine::Phase::ALL {
            let wire = phase.to_wire();
            assert_eq!((wire.as_str(), wire.is_final()), (phase.as_str(), phase.is_final()));
            assert_eq!(serde_json::to_value(wire).unwrap(), phase.as_str());
        }
    }
}

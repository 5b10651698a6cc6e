//! People and their sessions.

use async_trait::async_trait;
use engine::store::StoreError;
use engine::{
    AdminChange, DRAFTS_MAX, DraftRow, PeopleStore, ProofKind, Role, SessionRow, Timestamp, UserChange,
    UserRow, grants_text,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::access::admin_change;
use super::people_statements as sql;
use crate::rows::{self, SessionText, UserText};

#[async_trait]
impl PeopleStore for PostgresStore {
    async fn add_user(&self, user: &UserRow) -> Result<bool, StoreError> {
        let (created_at, locked_until) = (user.created_at.0, user.locked_until.map(|at| at.0));
        let (role, failures) = (user.role.as_str(), i64::from(user.failures));
        let grants = grants_text(&user.grants);
        let added = self
            .queued_writes
            .write(
                sql::ADD_USER,
                &[&user.name, &role, &user.hash, &created_at, &failures, &locked_until, &grants],
            )
            .await?;
        Ok(!added.is_empty())
    }

    async fn find_user(&self, name: &str) -> Result<Option<UserRow>, StoreError> {
        self.reads.read(sql::FIND_USER, &[&name]).await?.first().map(user).transpose()
    }

    async fn users(&self) -> Result<Vec<UserRow>, StoreError> {
        self.reads.read(sql::USERS, &[]).await?.iter().map(user).collect()
    }

    async fn change_user(&self, name: &str, change: &UserChange) -> Result<AdminChange, StoreError> {
        let (role, proof) = (change.role.map(Role::as_str), ProofKind::Password.as_str());
        let grants = change.grants.as_deref().map(grants_text);
        let changed = self
            .queued_writes
            .write(sql::CHANGE_USER, &[&name, &role, &change.hash, &proof, &grants])
            .await?;
        Ok(admin_change(&changed))
    }

    async fn remove_user(&self, name: &str) -> Result<AdminChange, StoreError> {
        let proof = ProofKind::Password.as_str();
        Ok(admin_change(&self.queued_writes.write(sql::REMOVE_USER, &[&name, &proof]).await?))
    }

    async fn begin_attempt(
        &self,
        name: &str,
        limit: u32,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<UserRow>, StoreError> {
        let limit = i64::from(limit);
        let before = self.queued_writes.write(sql::BEGIN_ATTEMPT, &[&name, &limit, &now.0, &until.0]).await?;
        before.first().map(user).transpose()
    }

    async fn clear_attempts(&self, name: &str) -> Result<(), StoreError> {
        self.queued_writes.write(sql::CLEAR_ATTEMPTS, &[&name]).await.map(drop)
    }

    async fn add_session(&self, session: &SessionRow) -> Result<(), StoreError> {
        let session = SessionText::write(session);
        let added = self
            .queued_writes
            .write(
                sql::ADD_SESSION,
                &[
                    &session.digest,
                    &session.user,
                    &session.role,
                    &session.org,
                    &session.proof,
                    &session.created_at,
                    &session.seen_at,
                    &session.expires_at,
                    &session.roles,
                    &session.permissions,
                    &session.proof_digest,
                    &session.proof_expires_at,
                    &session.device,
                    &session.address,
                    &session.grants,
                ],
            )
            .await;
        added.map(drop)
    }

    async fn find_session(&self, digest: &str) -> Result<Option<SessionRow>, StoreError> {
        self.reads.read(sql::FIND_SESSION, &[&digest]).await?.first().map(session).transpose()
    }

    async fn sessions(&self, user: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let found = self.reads.read(sql::SESSIONS, &[&rows::rows(limit), &user]).await?;
        found.iter().map(session).collect()
    }

    async fn touch_session(
        &self,
        digest: &str,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.queued_writes.write(sql::TOUCH_SESSION, &[&digest, &seen_at.0, &expires_at.0]).await.map(drop)
    }

    async fn remove_session(&self, digest: &str) -> Result<bool, StoreError> {
        Ok(!self.queued_writes.write(sql::REMOVE_SESSION, &[&digest]).await?.is_empty())
    }

    async fn remove_sessions(&self, user: &str, proof: ProofKind) -> Result<u64, StoreError> {
        let gone = self.queued_writes.write(sql::REMOVE_SESSIONS, &[&user, &proof.as_str()]).await?;
        Ok(count(&gone))
    }

    async fn prune_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        Ok(count(&self.queued_writes.write(sql::PRUNE_SESSIONS, &[&now.0]).await?))
    }

    async fn save_draft(&self, draft: &DraftRow) -> Result<(), StoreError> {
        // The others of the session; the statement does not see the one that it saves.
        let others = rows::rows(DRAFTS_MAX - 1);
        let saved = [&draft.saved_at.0 as &(dyn ToSql + Sync), &draft.expires_at.0, &others];
        let row = [&draft.session as &(dyn ToSql + Sync), &draft.id, &draft.value];
        self.queued_writes.write(sql::SAVE_DRAFT, &[row, saved].concat()).await.map(drop)
    }

    async fn find_draft(&self, session: &str, id: &str) -> Result<Option<DraftRow>, StoreError> {
        let found = self.reads.read(sql::FIND_DRAFT, &[&session, &id]).await?;
        Ok(found.first().map(|row| DraftRow {
            session: row.get(0),
            id: row.get(1),
            value: row.get(2),
            saved_at: Timestamp(row.get(3)),
            expires_at: Timestamp(row.get(4)),
        }))
    }
}

fn count(gone: &[Row]) -> u64 {
    gone.first().map_or(0, |row| rows::unsigned(row.get(0))).into()
}

fn user(row: &Row) -> Result<UserRow, StoreError> {
    let found = UserText {
        name: row.get(0),
        role: row.get(1),
        hash: row.get(2),
        created_at: row.get(3),
        failures: row.get(4),
        locked_until: row.get(5),
        grants: row.get(6),
    };
    found.read()
}

fn session(row: &Row) -> Result<SessionRow, StoreError> {
    let found = SessionText {
        digest: row.get(0),
        user: row.get(1),
        role: row.get(2),
        org: row.get(3),
        proof: row.get(4),
        created_at: row.get(5),
        seen_at: row.get(6),
        expires_at: row.get(7),
        roles: row.get(8),
        permissions: row.get(9),
        proof_digest: row.get(10),
        proof_expires_at: row.get(11),
        device: row.get(12),
        address: row.get(13),
        grants: row.get(14),
    };
    found.read()
}

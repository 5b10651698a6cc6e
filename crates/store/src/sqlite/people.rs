//! People and their sessions.

use async_trait::async_trait;
use engine::store::StoreError;
use engine::{
    AdminChange, DRAFTS_MAX, DraftRow, PeopleStore, ProofKind, Role, SessionRow, Timestamp, UserChange,
    UserRow, grants_text,
};
use rusqlite::{Row, params};

use super::SqliteStore;
use super::apply::{all, execute, one};
use super::people_statements as sql;
use super::writer::Transaction;
use crate::rows::{self, SessionText, UserText};
use crate::rules;

#[async_trait]
impl PeopleStore for SqliteStore {
    async fn add_user(&self, user: &UserRow) -> Result<bool, StoreError> {
        let user = user.clone();
        let add = move |transaction: &Transaction<'_>| {
            let (created_at, locked_until) = (user.created_at.0, user.locked_until.map(|at| at.0));
            let role = user.role.as_str();
            let grants = grants_text(&user.grants);
            let row = params![user.name, role, user.hash, created_at, user.failures, locked_until, grants];
            Ok(execute(transaction.db, sql::ADD_USER, row)? > 0)
        };
        self.writer.run(add).await
    }

    async fn find_user(&self, name: &str) -> Result<Option<UserRow>, StoreError> {
        let name = name.to_owned();
        let found = self.readers.run(move |db: &_| one(db, sql::FIND_USER, [name], user_text)).await?;
        found.map(UserText::read).transpose()
    }

    async fn users(&self) -> Result<Vec<UserRow>, StoreError> {
        let found = self.readers.run(|db| all(db, sql::USERS, [], user_text)).await?;
        found.into_iter().map(UserText::read).collect()
    }

    async fn change_user(&self, name: &str, change: &UserChange) -> Result<AdminChange, StoreError> {
        let (name, change) = (name.to_owned(), change.clone());
        let change = move |transaction: &Transaction<'_>| {
            let stays_admin = change.role.is_none_or(|role| role == Role::Admin);
            if !stays_admin && is_last_admin(transaction, &name)? {
                return Ok(AdminChange::LastAdmin);
            }
            let grants = change.grants.as_deref().map(grants_text);
            let row = params![name, change.role.map(Role::as_str), change.hash, grants];
            if execute(transaction.db, sql::CHANGE_USER, row)? == 0 {
                return Ok(AdminChange::Missing);
            }
            sign_out(transaction, &name, ProofKind::Password)?;
            Ok(AdminChange::Done)
        };
        self.writer.run(change).await
    }

    async fn remove_user(&self, name: &str) -> Result<AdminChange, StoreError> {
        let name = name.to_owned();
        let remove = move |transaction: &Transaction<'_>| {
            if is_last_admin(transaction, &name)? {
                return Ok(AdminChange::LastAdmin);
            }
            if execute(transaction.db, sql::REMOVE_USER, [&name])? == 0 {
                return Ok(AdminChange::Missing);
            }
            sign_out(transaction, &name, ProofKind::Password)?;
            Ok(AdminChange::Done)
        };
        self.writer.run(remove).await
    }

    async fn begin_attempt(
        &self,
        name: &str,
        limit: u32,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<UserRow>, StoreError> {
        let name = name.to_owned();
        let begin = move |transaction: &Transaction<'_>| {
            let before = one(transaction.db, sql::FIND_USER, [&name], user_text)?;
            execute(transaction.db, sql::COUNT_ATTEMPT, params![name, limit, now.0, until.0])?;
            before.map(UserText::read).transpose()
        };
        self.writer.run(begin).await
    }

    async fn clear_attempts(&self, name: &str) -> Result<(), StoreError> {
        let name = name.to_owned();
        let clear = move |transaction: &Transaction<'_>| {
            execute(transaction.db, sql::CLEAR_ATTEMPTS, [&name]).map(drop)
        };
        self.writer.run(clear).await
    }

    async fn add_session(&self, session: &SessionRow) -> Result<(), StoreError> {
        let session = SessionText::write(session);
        let add = move |transaction: &Transaction<'_>| {
            let row = params![
                session.digest,
                session.user,
                session.role,
                session.org,
                session.proof,
                session.created_at,
                session.seen_at,
                session.expires_at,
                session.roles,
                session.permissions,
                session.proof_digest,
                session.proof_expires_at,
                session.device,
                session.address,
                session.grants,
            ];
            execute(transaction.db, sql::ADD_SESSION, row).map(drop)
        };
        self.writer.run(add).await
    }

    async fn find_session(&self, digest: &str) -> Result<Option<SessionRow>, StoreError> {
        let digest = digest.to_owned();
        let find = move |db: &_| one(db, sql::FIND_SESSION, [digest], session_text);
        self.readers.run(find).await?.map(SessionText::read).transpose()
    }

    async fn sessions(&self, user: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let (user, limit) = (user.map(str::to_owned), rows::rows(limit));
        let read = move |db: &_| match user {
            Some(user) => all(db, sql::SESSIONS_OF, params![limit, user], session_text),
            None => all(db, sql::SESSIONS, [limit], session_text),
        };
        self.readers.run(read).await?.into_iter().map(SessionText::read).collect()
    }

    async fn touch_session(
        &self,
        digest: &str,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let digest = digest.to_owned();
        let touch = move |transaction: &Transaction<'_>| {
            execute(transaction.db, sql::TOUCH_SESSION, params![digest, seen_at.0, expires_at.0]).map(drop)
        };
        self.writer.run(touch).await
    }

    async fn remove_session(&self, digest: &str) -> Result<bool, StoreError> {
        let digest = digest.to_owned();
        let remove = move |transaction: &Transaction<'_>| {
            Ok(execute(transaction.db, sql::REMOVE_SESSION, [&digest])? > 0)
        };
        self.writer.run(remove).await
    }

    async fn remove_sessions(&self, user: &str, proof: ProofKind) -> Result<u64, StoreError> {
        let user = user.to_owned();
        self.writer.run(move |transaction: &Transaction<'_>| sign_out(transaction, &user, proof)).await
    }

    async fn prune_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        let prune = move |transaction: &Transaction<'_>| {
            execute(transaction.db, sql::PRUNE_DRAFTS, [now.0])?;
            Ok(execute(transaction.db, sql::PRUNE_SESSIONS, [now.0])? as u64)
        };
        self.writer.run(prune).await
    }

    async fn save_draft(&self, draft: &DraftRow) -> Result<(), StoreError> {
        let draft = draft.clone();
        let save = move |transaction: &Transaction<'_>| {
            let row = params![draft.session, draft.id, draft.value, draft.saved_at.0, draft.expires_at.0];
            execute(transaction.db, sql::SAVE_DRAFT, row)?;
            execute(transaction.db, sql::CROWDED_DRAFTS, params![draft.session, rows::rows(DRAFTS_MAX)])
                .map(drop)
        };
        self.writer.run(save).await
    }

    async fn find_draft(&self, session: &str, id: &str) -> Result<Option<DraftRow>, StoreError> {
        let (session, id) = (session.to_owned(), id.to_owned());
        let read = |row: &Row<'_>| {
            Ok(DraftRow {
                session: row.get(0)?,
                id: row.get(1)?,
                value: row.get(2)?,
                saved_at: Timestamp(row.get(3)?),
                expires_at: Timestamp(row.get(4)?),
            })
        };
        self.readers.run(move |db: &_| one(db, sql::FIND_DRAFT, [session, id], read)).await
    }
}

fn is_last_admin(transaction: &Transaction<'_>, name: &str) -> Result<bool, StoreError> {
    let admins: Vec<String> = all(transaction.db, sql::ADMINS, [], |row| row.get(0))?;
    Ok(rules::is_last(&admins, name))
}

fn sign_out(transaction: &Transaction<'_>, user: &str, proof: ProofKind) -> Result<u64, StoreError> {
    Ok(execute(transaction.db, sql::REMOVE_SESSIONS, [user, proof.as_str()])? as u64)
}

fn user_text(row: &Row<'_>) -> rusqlite::Result<UserText> {
    Ok(UserText {
        name: row.get(0)?,
        role: row.get(1)?,
        hash: row.get(2)?,
        created_at: row.get(3)?,
        failures: row.get(4)?,
        locked_until: row.get(5)?,
        grants: row.get(6)?,
    })
}

fn session_text(row: &Row<'_>) -> rusqlite::Result<SessionText> {
    Ok(SessionText {
        digest: row.get(0)?,
        user: row.get(1)?,
        role: row.get(2)?,
        org: row.get(3)?,
        proof: row.get(4)?,
        created_at: row.get(5)?,
        seen_at: row.get(6)?,
        expires_at: row.get(7)?,
        roles: row.get(8)?,
        permissions: row.get(9)?,
        proof_digest: row.get(10)?,
        proof_expires_at: row.get(11)?,
        device: row.get(12)?,
        address: row.get(13)?,
        grants: row.get(14)?,
    })
}

//! Tokens and the audit log.

use async_trait::async_trait;
use engine::store::StoreError;
use engine::{AccessStore, AdminChange, AuditRow, Timestamp, TokenRow, grants_text};
use tokio_postgres::Row;

use super::PostgresStore;
use super::questions as sql;
use super::work::Work;
use crate::rows::{self, TokenText};

#[async_trait]
impl AccessStore for PostgresStore {
    async fn add_token(&self, token: &TokenRow) -> Result<bool, StoreError> {
        let (created_at, expires_at) = (token.created_at.0, token.expires_at.map(|at| at.0));
        let (role, grants) = (token.role.as_str(), grants_text(&token.grants));
        let added = self
            .queued_writes
            .write(
                sql::ADD_TOKEN,
                &[&token.name, &role, &token.digest, &created_at, &expires_at, &token.platform, &grants],
            )
            .await?;
        Ok(!added.is_empty())
    }

    async fn find_token(&self, digest: &str) -> Result<Option<TokenRow>, StoreError> {
        self.reads.read(sql::FIND_TOKEN, &[&digest]).await?.first().map(token).transpose()
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.reads.read(sql::TOKENS, &[]).await?.iter().map(token).collect()
    }

    async fn remove_token(&self, name: &str, now: Timestamp) -> Result<AdminChange, StoreError> {
        Ok(admin_change(&self.queued_writes.write(sql::REMOVE_TOKEN, &[&name, &now.0]).await?))
    }

    async fn shared(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.reads.read(sql::SHARED, &[&name]).await?.first().map(|row| row.get(0)))
    }

    async fn share(&self, name: &str, before: Option<&str>, value: &str) -> Result<bool, StoreError> {
        let changed = match before {
            Some(before) => self.queued_writes.write(sql::SHARE_CHANGED, &[&name, &value, &before]).await?,
            None => self.queued_writes.write(sql::SHARE_NEW, &[&name, &value]).await?,
        };
        Ok(!changed.is_empty())
    }

    /// Goes the way of all writes, because there may be as many of them.
    async fn audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.committers.save(Work::Audit(row.clone())).await.map(drop)
    }

    async fn audit_page(&self, below: Option<i64>, limit: usize) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        let below = below.unwrap_or(i64::MAX);
        let found = self.reads.read(sql::AUDIT_PAGE, &[&below, &rows::rows(limit)]).await?;
        Ok(found.iter().map(audit_row).collect())
    }
}

/// Of a statement that answers whether it was about the last admin, and whether it changed anything.
pub(super) fn admin_change(rows: &[Row]) -> AdminChange {
    match rows.first().map(|row| (row.get(0), row.get(1))) {
        Some((true, _)) => AdminChange::LastAdmin,
        Some((false, true)) => AdminChange::Done,
        Some((false, false)) | None => AdminChange::Missing,
    }
}

fn token(row: &Row) -> Result<TokenRow, StoreError> {
    let found = TokenText {
        name: row.get(0),
        role: row.get(1),
        digest: row.get(2),
        created_at: row.get(3),
        expires_at: row.get(4),
        platform: row.get(5),
        grants: row.get(6),
    };
    found.read()
}

fn audit_row(row: &Row) -> (i64, AuditRow) {
    let entry = AuditRow {
        at: Timestamp(row.get(1)),
        who: row.get(2),
        action: row.get(3),
        target: row.get(4),
        result: row.get(5),
        request: row.get(6),
    };
    (row.get(0), entry)
}

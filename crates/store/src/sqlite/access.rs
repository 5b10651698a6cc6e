//! Tokens and the audit log.

use async_trait::async_trait;
use engine::store::StoreError;
use engine::{AccessStore, AdminChange, AuditRow, Timestamp, TokenRow, grants_text};
use rusqlite::{Row, params};

use super::SqliteStore;
use super::apply::{all, execute, one};
use super::statements as sql;
use crate::rows::{self, TokenText};
use crate::rules;

#[async_trait]
impl AccessStore for SqliteStore {
    async fn add_token(&self, token: &TokenRow) -> Result<bool, StoreError> {
        let token = token.clone();
        let add = move |transaction: &super::Transaction<'_>| {
            let (created_at, expires_at) = (token.created_at.0, token.expires_at.map(|at| at.0));
            let role = token.role.as_str();
            let grants = grants_text(&token.grants);
            let row = params![token.name, role, token.digest, created_at, expires_at, token.platform, grants];
            Ok(execute(transaction.db, sql::ADD_TOKEN, row)? > 0)
        };
        self.writer.run(add).await
    }

    async fn find_token(&self, digest: &str) -> Result<Option<TokenRow>, StoreError> {
        let digest = digest.to_owned();
        let find = move |db: &_| one(db, sql::FIND_TOKEN, [digest], token_text);
        self.readers.run(find).await?.map(TokenText::read).transpose()
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let found = self.readers.run(|db| all(db, sql::TOKENS, [], token_text)).await?;
        found.into_iter().map(TokenText::read).collect()
    }

    async fn remove_token(&self, name: &str, now: Timestamp) -> Result<AdminChange, StoreError> {
        let name = name.to_owned();
        let remove = move |transaction: &super::Transaction<'_>| {
            let admins: Vec<String> = all(transaction.db, sql::ADMIN_TOKENS, [now.0], |row| row.get(0))?;
            if rules::is_last(&admins, &name) {
                return Ok(AdminChange::LastAdmin);
            }
            let is_removed = execute(transaction.db, sql::REMOVE_TOKEN, [&name])? > 0;
            Ok(if is_removed { AdminChange::Done } else { AdminChange::Missing })
        };
        self.writer.run(remove).await
    }

    async fn shared(&self, name: &str) -> Result<Option<String>, StoreError> {
        let name = name.to_owned();
        self.readers.run(move |db: &_| one(db, sql::SHARED, [name], |row| row.get(0))).await
    }

    async fn share(&self, name: &str, before: Option<&str>, value: &str) -> Result<bool, StoreError> {
        let (name, before, value) = (name.to_owned(), before.map(str::to_owned), value.to_owned());
        let share = move |transaction: &super::Transaction<'_>| {
            let changed = match &before {
                Some(before) => execute(transaction.db, sql::SHARE_CHANGED, [&name, &value, before])?,
                None => execute(transaction.db, sql::SHARE_NEW, [&name, &value])?,
            };
            Ok(changed > 0)
        };
        self.writer.run(share).await
    }

    async fn audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        let row = row.clone();
        let write = move |transaction: &super::Transaction<'_>| {
            let line = params![row.at.0, row.who, row.action, row.target, row.result, row.request];
            execute(transaction.db, sql::AUDIT, line).map(drop)
        };
        self.writer.run(write).await
    }

    async fn audit_page(&self, below: Option<i64>, limit: usize) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        let below = below.unwrap_or(i64::MAX);
        let read = move |db: &_| all(db, sql::AUDIT_PAGE, [below, rows::rows(limit)], audit_row);
        self.readers.run(read).await
    }
}

fn token_text(row: &Row<'_>) -> rusqlite::Result<TokenText> {
    Ok(TokenText {
        name: row.get(0)?,
        role: row.get(1)?,
        digest: row.get(2)?,
        created_at: row.get(3)?,
        expires_at: row.get(4)?,
        platform: row.get(5)?,
        grants: row.get(6)?,
    })
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<(i64, AuditRow)> {
    let entry = AuditRow {
        at: Timestamp(row.get(1)?),
        who: row.get(2)?,
        action: row.get(3)?,
        target: row.get(4)?,
        result: row.get(5)?,
        request: row.get(6)?,
    };
    Ok((row.get(0)?, entry))
}

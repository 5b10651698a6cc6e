//! API tokens, the audit log and shared values, in memory.

use async_trait::async_trait;

use super::MemoryStore;
use crate::access::{AccessStore, AdminChange, AuditRow, Role, TokenRow};
use crate::clock::Timestamp;
use crate::store::StoreError;

#[async_trait]
impl AccessStore for MemoryStore {
    async fn add_token(&self, token: &TokenRow) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let taken = tables.tokens.iter().any(|other| other.name == token.name);
        if !taken {
            tables.tokens.push(token.clone());
        }
        Ok(!taken)
    }

    async fn find_token(&self, digest: &str) -> Result<Option<TokenRow>, StoreError> {
        Ok(self.tables().tokens.iter().find(|token| token.digest == digest).cloned())
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        Ok(self.tables().tokens.clone())
    }

    async fn remove_token(&self, name: &str, now: Timestamp) -> Result<AdminChange, StoreError> {
        let tokens = &mut self.tables().tokens;
        if !tokens.iter().any(|token| token.name == name) {
            return Ok(AdminChange::Missing);
        }
        let is_good = |token: &&TokenRow| token.expires_at.is_none_or(|expires_at| expires_at > now);
        let mut admins = tokens.iter().filter(is_good).filter(|token| token.role == Role::Admin);
        if admins.clone().count() == 1 && admins.all(|token| token.name == name) {
            return Ok(AdminChange::LastAdmin);
        }
        tokens.retain(|token| token.name != name);
        Ok(AdminChange::Done)
    }

    async fn shared(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.tables().shared.get(name).cloned())
    }

    async fn share(&self, name: &str, before: Option<&str>, value: &str) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let is_same = tables.shared.get(name).map(String::as_str) == before;
        if is_same {
            tables.shared.insert(name.to_owned(), value.to_owned());
        }
        Ok(is_same)
    }

    async fn audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.tables().audit.push(row.clone());
        Ok(())
    }

    async fn audit_page(&self, below: Option<i64>, limit: usize) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        let tables = self.tables();
        let numbered = (0_i64..).zip(&tables.audit);
        let mut rows: Vec<(i64, AuditRow)> = numbered.map(|(n, row)| (n, row.clone())).collect();
        rows.retain(|(n, _)| below.is_none_or(|below| *n < below));
        rows.reverse();
        rows.truncate(limit);
        Ok(rows)
    }
}

//! People and their sessions, in memory.

use async_trait::async_trait;

use super::MemoryStore;
use crate::access::{AdminChange, Role};
use crate::clock::Timestamp;
use crate::people::{DRAFTS_MAX, DraftRow, PeopleStore, ProofKind, SessionRow, UserChange, UserRow};
use crate::store::StoreError;

#[derive(Default)]
pub(super) struct People {
    users: Vec<UserRow>,
    sessions: Vec<SessionRow>,
    drafts: Vec<DraftRow>,
}

impl People {
    fn user(&mut self, name: &str) -> Option<&mut UserRow> {
        self.users.iter_mut().find(|user| user.name == name)
    }

    fn is_last_admin(&self, name: &str) -> bool {
        let mut admins = self.users.iter().filter(|user| user.role == Role::Admin);
        admins.clone().count() == 1 && admins.all(|user| user.name == name)
    }

    fn sign_out(&mut self, name: &str, proof: ProofKind) -> u64 {
        let before = self.sessions.len();
        self.sessions.retain(|session| session.user != name || session.proof.kind() != proof);
        (before - self.sessions.len()) as u64
    }
}

#[async_trait]
impl PeopleStore for MemoryStore {
    async fn add_user(&self, user: &UserRow) -> Result<bool, StoreError> {
        let people = &mut self.tables().people;
        let is_taken = people.user(&user.name).is_some();
        if !is_taken {
            people.users.push(user.clone());
            people.users.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Ok(!is_taken)
    }

    async fn find_user(&self, name: &str) -> Result<Option<UserRow>, StoreError> {
        Ok(self.tables().people.user(name).cloned())
    }

    async fn users(&self) -> Result<Vec<UserRow>, StoreError> {
        Ok(self.tables().people.users.clone())
    }

    async fn change_user(&self, name: &str, change: &UserChange) -> Result<AdminChange, StoreError> {
        let people = &mut self.tables().people;
        let is_last_admin = people.is_last_admin(name);
        let Some(found) = people.user(name) else { return Ok(AdminChange::Missing) };
        if is_last_admin && change.role.is_some_and(|role| role != Role::Admin) {
            return Ok(AdminChange::LastAdmin);
        }
        found.role = change.role.unwrap_or(found.role);
        found.grants = change.grants.clone().unwrap_or_else(|| found.grants.clone());
        found.hash = change.hash.clone().unwrap_or_else(|| found.hash.clone());
        (found.failures, found.locked_until) = (0, None);
        people.sign_out(name, ProofKind::Password);
        Ok(AdminChange::Done)
    }

    async fn remove_user(&self, name: &str) -> Result<AdminChange, StoreError> {
        let people = &mut self.tables().people;
        if people.user(name).is_none() {
            return Ok(AdminChange::Missing);
        }
        if people.is_last_admin(name) {
            return Ok(AdminChange::LastAdmin);
        }
        people.users.retain(|user| user.name != name);
        people.sign_out(name, ProofKind::Password);
        Ok(AdminChange::Done)
    }

    async fn begin_attempt(
        &self,
        name: &str,
        limit: u32,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<UserRow>, StoreError> {
        let people = &mut self.tables().people;
        let Some(user) = people.user(name) else { return Ok(None) };
        let before = user.clone();
        if user.locked_until.is_none_or(|until| until <= now) {
            let is_last = user.failures + 1 >= limit;
            (user.failures, user.locked_until) =
                if is_last { (0, Some(until)) } else { (user.failures + 1, None) };
        }
        Ok(Some(before))
    }

    async fn clear_attempts(&self, name: &str) -> Result<(), StoreError> {
        if let Some(user) = self.tables().people.user(name) {
            (user.failures, user.locked_until) = (0, None);
        }
        Ok(())
    }

    async fn add_session(&self, session: &SessionRow) -> Result<(), StoreError> {
        self.tables().people.sessions.push(session.clone());
        Ok(())
    }

    async fn find_session(&self, digest: &str) -> Result<Option<SessionRow>, StoreError> {
        Ok(self.tables().people.sessions.iter().find(|session| session.digest == digest).cloned())
    }

    async fn sessions(&self, user: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let tables = self.tables();
        let of_user = |session: &&SessionRow| user.is_none_or(|user| session.user == user);
        Ok(tables.people.sessions.iter().rev().filter(of_user).take(limit).cloned().collect())
    }

    async fn touch_session(
        &self,
        digest: &str,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tables = self.tables();
        if let Some(found) = tables.people.sessions.iter_mut().find(|session| session.digest == digest) {
            (found.seen_at, found.expires_at) = (seen_at, expires_at);
        }
        Ok(())
    }

    async fn remove_session(&self, digest: &str) -> Result<bool, StoreError> {
        let sessions = &mut self.tables().people.sessions;
        let before = sessions.len();
        sessions.retain(|session| session.digest != digest);
        Ok(sessions.len() < before)
    }

    async fn remove_sessions(&self, user: &str, proof: ProofKind) -> Result<u64, StoreError> {
        Ok(self.tables().people.sign_out(user, proof))
    }

    async fn prune_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        let people = &mut self.tables().people;
        let sessions = &mut people.sessions;
        let before = sessions.len();
        sessions.retain(|session| session.expires_at > now);
        let gone = (before - sessions.len()) as u64;
        people.drafts.retain(|draft| draft.expires_at > now);
        Ok(gone)
    }

    async fn save_draft(&self, draft: &DraftRow) -> Result<(), StoreError> {
        let drafts = &mut self.tables().people.drafts;
        drafts.retain(|known| (&known.session, &known.id) != (&draft.session, &draft.id));
        drafts.push(draft.clone());
        let mut own: Vec<(Timestamp, String)> = drafts
            .iter()
            .filter(|known| known.session == draft.session)
            .map(|known| (known.saved_at, known.id.clone()))
            .collect();
        own.sort_by(|a, b| b.cmp(a));
        for (_, id) in own.into_iter().skip(DRAFTS_MAX) {
            drafts.retain(|known| known.session != draft.session || known.id != id);
        }
        Ok(())
    }

    async fn find_draft(&self, session: &str, id: &str) -> Result<Option<DraftRow>, StoreError> {
        let tables = self.tables();
        Ok(tables.people.drafts.iter().find(|draft| draft.session == session && draft.id == id).cloned())
    }
}

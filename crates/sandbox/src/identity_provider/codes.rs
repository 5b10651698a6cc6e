//! Codes that people carry back to a client: each is good once, and for a minute.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use time::OffsetDateTime;
use uuid::Uuid;

use super::people::TestUser;
use super::request::AuthorizationRequest;

const LIFE: Duration = Duration::from_secs(60);
/// More than people can press buttons in a minute.
const CODES_MAX: usize = 10_000;

/// What a code stands for.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) test_user: TestUser,
    pub(super) asked: AuthorizationRequest,
    good_until: OffsetDateTime,
}

#[derive(Debug, Default)]
pub(super) struct Codes(Mutex<BTreeMap<String, Grant>>);

impl Codes {
    /// `None` when there are too many.
    pub(super) fn give(
        &self,
        test_user: TestUser,
        asked: AuthorizationRequest,
        now: OffsetDateTime,
    ) -> Option<String> {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, grant| grant.good_until > now);
        if codes.len() >= CODES_MAX {
            return None;
        }
        let code = Uuid::now_v7().simple().to_string();
        codes.insert(code.clone(), Grant { test_user, asked, good_until: now + LIFE });
        Some(code)
    }

    /// Whatever comes of the exchange, the code is used up.
    pub(super) fn take(&self, code: &str, now: OffsetDateTime) -> Option<Grant> {
        let grant = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(code)?;
        (grant.good_until > now).then_some(grant)
    }
}

//! Access that came through the one-click sign-in of the sandbox. It ends with the sandbox: every such person, token and
//! user has a name that begins with [`PREFIX`], and so has all that they create.

use api::Code;
use engine::store::StoreError;
use engine::{AccessStore, AdminChange, PeopleStore, Timestamp};

use crate::http::Failure;
use crate::principal::Principal;

/// No name that a user may choose has a `~`.
pub const PREFIX: &str = "sandbox~";
/// More sessions than any server has.
const SESSIONS_MAX: usize = 1_000_000;

fn is_of_sandbox(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The name of a token or user that this caller creates.
pub(crate) fn name_of_new(principal: &Principal, wanted: &str) -> String {
    if is_of_sandbox(&principal.name) { format!("{PREFIX}{wanted}") } else { wanted.to_owned() }
}

/// A password that a caller of the sandbox sets must not open a user that stays, and an admin of the sandbox must not
/// become the last one.
pub(crate) fn check_change(principal: &Principal, target: &str) -> Result<(), Failure> {
    if !is_of_sandbox(&principal.name) || is_of_sandbox(target) {
        return Ok(());
    }
    let detail = format!(
        "{} came through the sign-in of the sandbox and may change only users and tokens whose names begin with {PREFIX}",
        principal.name
    );
    Err(Failure::new(Code::Forbidden, detail))
}

/// What became of the access through the sandbox.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SessionEnd {
    /// How many sessions, tokens and users were removed.
    pub removed: usize,
    /// Tokens and users that stay because no other admin is left.
    pub last_admins: Vec<String>,
}

impl SessionEnd {
    fn count(&mut self, name: &str, change: AdminChange) {
        match change {
            AdminChange::Done => self.removed += 1,
            AdminChange::Missing => {}
            AdminChange::LastAdmin => self.last_admins.push(name.to_owned()),
        }
    }
}

/// Removes all sessions, tokens and users that came through the sandbox.
pub async fn end_sandbox_access(
    access: &dyn AccessStore,
    people: &dyn PeopleStore,
    now: Timestamp,
) -> Result<SessionEnd, StoreError> {
    let mut ended = SessionEnd::default();
    for session in people.sessions(None, SESSIONS_MAX).await?.iter().filter(|row| is_of_sandbox(&row.user)) {
        ended.removed += usize::from(people.remove_session(&session.digest).await?);
    }
    for token in access.tokens().await?.iter().filter(|row| is_of_sandbox(&row.name)) {
        ended.count(&token.name, access.remove_token(&token.name, now).await?);
    }
    for user in people.users().await?.iter().filter(|row| is_of_sandbox(&row.name)) {
        ended.count(&user.name, people.remove_user(&user.name).await?);
    }
    Ok(ended)
}

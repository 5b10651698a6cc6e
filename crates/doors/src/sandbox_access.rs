//! Access that came through the one-click sign-in of the sandbox. It ends with the sandbox: every such person, token and
//! user has a name that begins with [`PREFIX`], and so has all that they create.

use engine::store::StoreError;
use engine::{AccessStore, PeopleStore};

use crate::principal::Principal;
use crate::code::Code;
use crate::problem::Problem;

/// No name that a client may choose holds a `~`.
pub const PREFIX: &str = "sandbox~";
/// More sessions than any server has.
const SESSIONS_MAX: usize = 1_000_000;

fn is_of_sandbox(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The name of a token or user that this caller creates.
pub(crate) fn name_of_new(caller: &Principal, wanted: &str) -> String {
    if is_of_sandbox(&caller.name) { format!("{PREFIX}{wanted}") } else { wanted.to_owned() }
}

/// A password that a caller of the sandbox sets must not open a user that stays.
pub(crate) fn check_change(caller: &Principal, user: &str) -> Result<(), Problem> {
    if !is_of_sandbox(&caller.name) || is_of_sandbox(user) {
        return Ok(());
    }
    let detail = format!(
        "{} came through the sign-in of the sandbox and may change only users whose names begin with {PREFIX}",
        caller.name
    );
    Err(Problem::new(Code::Forbidden, detail))
}

/// Removes all sessions, tokens and users that came through the sandbox. Answers how many there were.
pub async fn end_sandbox_access(
    access: &dyn AccessStore,
    people: &dyn PeopleStore,
) -> Result<usize, StoreError> {
    let mut ended = 0;
    for session in people.sessions(None, SESSIONS_MAX).await?.iter().filter(|row| is_of_sandbox(&row.user)) {
        ended += usize::from(people.remove_session(&session.digest).await?);
    }
    for token in access.tokens().await?.iter().filter(|row| is_of_sandbox(&row.name)) {
        ended += usize::from(access.remove_token(&token.name).await?);
    }
    for user in people.users().await?.iter().filter(|row| is_of_sandbox(&row.name)) {
        ended += usize::from(people.remove_user(&user.name).await?);
    }
    Ok(ended)
}

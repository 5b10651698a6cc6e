//! The SQL of people and their sessions.

pub(super) const ADD_USER: &str = "
    insert into users (name, role, hash, created_at, failures, locked_until, grants)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    on conflict do nothing";
pub(super) const FIND_USER: &str =
    "select name, role, hash, created_at, failures, locked_until, grants from users where name = ?1";
pub(super) const USERS: &str =
    "select name, role, hash, created_at, failures, locked_until, grants from users order by name";
pub(super) const ADMINS: &str = "select name from users where role = 'admin'";
pub(super) const CHANGE_USER: &str = "
    update users set role = coalesce(?2, role), hash = coalesce(?3, hash), grants = coalesce(?4, grants),
        failures = 0, locked_until = null
    where name = ?1";
pub(super) const REMOVE_USER: &str = "delete from users where name = ?1";
pub(super) const COUNT_ATTEMPT: &str = "
    update users set
        failures = case when failures + 1 >= ?2 then 0 else failures + 1 end,
        locked_until = case when failures + 1 >= ?2 then ?4 end
    where name = ?1 and (locked_until is null or locked_until <= ?3)";
pub(super) const CLEAR_ATTEMPTS: &str = "update users set failures = 0, locked_until = null where name = ?1";

pub(super) const ADD_SESSION: &str = "
    insert into sessions
        (digest, person, role, org, proof, created_at, seen_at, expires_at,
         roles, permissions, proof_digest, proof_expires_at, device, address, grants)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
pub(super) const FIND_SESSION: &str = "
    select digest, person, role, org, proof, created_at, seen_at, expires_at,
        roles, permissions, proof_digest, proof_expires_at, device, address, grants
    from sessions where digest = ?1";
pub(super) const SESSIONS: &str = "
    select digest, person, role, org, proof, created_at, seen_at, expires_at,
        roles, permissions, proof_digest, proof_expires_at, device, address, grants
    from sessions order by n desc limit ?1";
pub(super) const SESSIONS_OF: &str = "
    select digest, person, role, org, proof, created_at, seen_at, expires_at,
        roles, permissions, proof_digest, proof_expires_at, device, address, grants
    from sessions where person = ?2 order by n desc limit ?1";
pub(super) const TOUCH_SESSION: &str = "update sessions set seen_at = ?2, expires_at = ?3 where digest = ?1";
pub(super) const REMOVE_SESSION: &str = "delete from sessions where digest = ?1";
pub(super) const REMOVE_SESSIONS: &str = "delete from sessions where person = ?1 and proof = ?2";
pub(super) const PRUNE_SESSIONS: &str = "delete from sessions where expires_at <= ?1";
pub(super) const PRUNE_DRAFTS: &str = "delete from drafts where expires_at <= ?1";
pub(super) const SAVE_DRAFT: &str = "
    insert into drafts (session, id, value, saved_at, expires_at) values (?1, ?2, ?3, ?4, ?5)
    on conflict (session, id) do update set
        value = excluded.value, saved_at = excluded.saved_at, expires_at = excluded.expires_at";
pub(super) const CROWDED_DRAFTS: &str = "
    delete from drafts where session = ?1 and id in (
        select id from drafts where session = ?1 order by saved_at desc, id desc limit -1 offset ?2)";
pub(super) const FIND_DRAFT: &str =
    "select session, id, value, saved_at, expires_at from drafts where session = ?1 and id = ?2";

/// For the test that each of them is understood.
#[cfg(test)]
pub(super) const ALL: &[&str] = &[
    ADD_USER,
    FIND_USER,
    USERS,
    ADMINS,
    CHANGE_USER,
    REMOVE_USER,
    COUNT_ATTEMPT,
    CLEAR_ATTEMPTS,
    ADD_SESSION,
    FIND_SESSION,
    SESSIONS,
    SESSIONS_OF,
    TOUCH_SESSION,
    REMOVE_SESSION,
    REMOVE_SESSIONS,
    PRUNE_SESSIONS,
    PRUNE_DRAFTS,
    SAVE_DRAFT,
    CROWDED_DRAFTS,
    FIND_DRAFT,
];

//! The SQL of people and their sessions. What changes two tables is one statement, and so one transaction.

pub(super) const ADD_USER: &str = "
    insert into users (name, role, hash, created_at, failures, locked_until, grants)
    values ($1, $2, $3, $4, $5, $6, $7)
    on conflict do nothing
    returning 1";
pub(super) const FIND_USER: &str =
    "select name, role, hash, created_at, failures, locked_until, grants from users where name = $1";
pub(super) const USERS: &str =
    "select name, role, hash, created_at, failures, locked_until, grants from users order by name";
/// The locks make changes of admins at all nodes come one after the other, each with the admins that the one before has
/// left.
pub(super) const CHANGE_USER: &str = "
    with admins as (
        select name from users where role = 'admin' order by name for update
    ), counted as (
        select count(*) filter (where name = $1) as own, count(*) filter (where name <> $1) as others from admins
    ), changed as (
        update users set
            role = coalesce($2::text, role), hash = coalesce($3::text, hash), grants = coalesce($5::text, grants),
            failures = 0, locked_until = null
        from counted
        where name = $1 and (own = 0 or others > 0 or coalesce($2::text, 'admin') = 'admin')
        returning 1
    ), signed_out as (
        delete from sessions where person = $1 and proof = $4 and exists (select 1 from changed)
    )
    select own > 0 and others = 0 and coalesce($2::text, 'admin') <> 'admin', exists (select 1 from changed)
    from counted";
pub(super) const REMOVE_USER: &str = "
    with admins as (
        select name from users where role = 'admin' order by name for update
    ), counted as (
        select count(*) filter (where name = $1) as own, count(*) filter (where name <> $1) as others from admins
    ), removed as (
        delete from users using counted where name = $1 and (own = 0 or others > 0) returning 1
    ), signed_out as (
        delete from sessions where person = $1 and proof = $2 and exists (select 1 from removed)
    )
    select own > 0 and others = 0, exists (select 1 from removed) from counted";
/// The lock makes attempts of all nodes come one after the other, each with the count of the one before.
pub(super) const BEGIN_ATTEMPT: &str = "
    with before as (
        select name, role, hash, created_at, failures, locked_until, grants from users where name = $1 for update
    ), counted as (
        update users u set
            failures = case when before.failures + 1 >= $2 then 0 else before.failures + 1 end,
            locked_until = case when before.failures + 1 >= $2 then $4::bigint end
        from before
        where u.name = before.name and (before.locked_until is null or before.locked_until <= $3)
    )
    select name, role, hash, created_at, failures, locked_until, grants from before";
pub(super) const CLEAR_ATTEMPTS: &str = "update users set failures = 0, locked_until = null where name = $1";

pub(super) const ADD_SESSION: &str = "
    insert into sessions
        (digest, person, role, org, proof, created_at, seen_at, expires_at,
         roles, permissions, proof_digest, proof_expires_at, device, address, grants)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
pub(super) const FIND_SESSION: &str = "
    select digest, person, role, org, proof, created_at, seen_at, expires_at,
        roles, permissions, proof_digest, proof_expires_at, device, address, grants
    from sessions where digest = $1";
pub(super) const SESSIONS: &str = "
    select digest, person, role, org, proof, created_at, seen_at, expires_at,
        roles, permissions, proof_digest, proof_expires_at, device, address, grants
    from sessions where $2::text is null or person = $2 order by n desc limit $1";
pub(super) const TOUCH_SESSION: &str = "update sessions set seen_at = $2, expires_at = $3 where digest = $1";
pub(super) const REMOVE_SESSION: &str = "delete from sessions where digest = $1 returning 1";
pub(super) const REMOVE_SESSIONS: &str = "
    with gone as (delete from sessions where person = $1 and proof = $2 returning 1)
    select count(*) from gone";
pub(super) const PRUNE_SESSIONS: &str = "
    with gone as (
        delete from sessions where expires_at <= $1 returning 1
    ), drafts as (
        delete from drafts where expires_at <= $1
    )
    select count(*) from gone";
pub(super) const SAVE_DRAFT: &str = "
    with saved as (
        insert into drafts (session, id, value, saved_at, expires_at) values ($1, $2, $3, $4, $5)
        on conflict (session, id) do update set
            value = excluded.value, saved_at = excluded.saved_at, expires_at = excluded.expires_at
    )
    delete from drafts where session = $1 and id in (
        select id from drafts where session = $1 and id <> $2 order by saved_at desc, id desc offset $6)";
pub(super) const FIND_DRAFT: &str =
    "select session, id, value, saved_at, expires_at from drafts where session = $1 and id = $2";

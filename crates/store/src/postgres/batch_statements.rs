//! The statements by which a batch creates operations, appends events and ends operations: one for each, and one for
//! all of it.

pub(super) const APPEND: &str = "
    insert into journal (operation, seq, at, body)
    select * from unnest($1::uuid[], $2::int4[], $3::int8[], $4::text[])";

/// The operations that were asked for, and those of them that were made. `is true` keeps a test of membership from becoming
/// a join: it is a lookup in a hash table, and with our settings a join would be a loop in a loop.
macro_rules! made {
    () => {
        "asked as materialized (
        select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[],
            $7::int8[], $8::uuid[], $9::int4[], $10::int8[], $11::text[], $12::text[], $13::text[],
            $14::text[], $15::text[])
        as a (id, workflow, tenant, resource, params, created_at, deadline_at, owner, seq, at, body, scope,
            key, digest, name)
    ), keyed as (
        insert into idempotency (scope, key, operation, digest, at)
        select scope, key, id, digest, created_at from asked where key is not null order by scope, key
        on conflict do nothing
        returning operation
    ), made as (
        insert into operations (id, workflow, tenant, resource, params, phase, owner, epoch, queued, orphaned,
            due_at, deadline_at, created_at, memory_seq, name, queue_number)
        select id, workflow, tenant, resource, params,
            case when owner is null then 'pending' else 'running' end, owner, 1, false, false,
            case when owner is null then created_at end, deadline_at, created_at, 0, name, null
        from asked where key is null or (id in (select operation from keyed)) is true
        order by resource
        on conflict (resource) where not queued and resource is not null do nothing
        returning id
    )"
    };
}

/// The operations that are over and leave the table of unfinished ones.
macro_rules! gone {
    ($ended:literal, $guard:literal) => {
        concat!(
            "gone as (
        delete from operations o
        using unnest(",
            $ended,
            ")
        where o.id = a.id and o.owner is not distinct from a.node and o.epoch = a.epoch",
            $guard,
            "
        returning o.id, o.workflow, o.tenant, o.resource, o.params, o.created_at, o.deadline_at, o.epoch,
            o.name, a.phase, a.at, a.cause, a.memory, a.seq"
        )
    };
}

macro_rules! archive {
    () => {
        "insert into archive (id, workflow, tenant, resource, params, phase, created_at, deadline_at, finished_at,
        reason, memory, memory_seq, epoch, name)
    select id, workflow, tenant, resource, params, phase, created_at, deadline_at, at, cause, memory, seq,
        epoch, name
    from gone
    returning id"
    };
}

/// Answers those that were made.
pub(super) const CREATE: &str = concat!(
    "with ",
    made!(),
    " insert into journal (operation, seq, at, body)
    select id, seq, at, body from asked where (id in (select id from made)) is true
    returning operation"
);

pub(super) const FINISH: &str = concat!(
    "with ",
    gone!(
        "$1::uuid[], $2::uuid[], $3::int8[], $4::text[], $5::int8[], $6::text[], $7::text[], $8::int4[])
        as a (id, node, epoch, phase, at, cause, memory, seq",
        ""
    ),
    ") ",
    archive!()
);

/// All three, and with them a whole transaction. Answers the operations that were made and those that are over. One on a
/// resource, for which others may queue, is left as it is, and so is one that another node may own: their events are not
/// written.
pub(super) const WRITE: &str = concat!(
    "with ",
    made!(),
    ", ",
    gone!(
        "$20::uuid[], $21::uuid[], $22::int8[], $23::text[], $24::int8[], $25::text[], $26::text[],
            $27::int4[], $28::int4[], $29::int8[], $30::text[])
        as a (id, node, epoch, phase, at, cause, memory, seq, event_seq, event_at, body",
        " and o.resource is null"
    ),
    ", a.event_seq, a.event_at, a.body), archived as (",
    archive!(),
    "), noted as (
        insert into journal (operation, seq, at, body)
        select * from unnest($16::uuid[], $17::int4[], $18::int8[], $19::text[])
        union all select id, seq, at, body from asked where (id in (select id from made)) is true
        union all select id, event_seq, event_at, body from gone where event_seq is not null
    )
    select id from made union all select id from archived"
);

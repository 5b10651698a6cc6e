//! Every statement by which people look at operations in `PostgreSQL`, and the few that keep house.

use super::statements::free;

pub(super) const SHOW: &str = "
    select id, workflow, tenant, resource, phase, step, reason, due_at, created_at, deadline_at,
        null::int8 as finished_at, owner, wish, name, params, memory, memory_seq
    from operations where id = $1
    union all
    select id, workflow, tenant, resource, phase, null, reason, null, created_at, deadline_at,
        finished_at, null, null, name, params, memory, memory_seq
    from archive where id = $1";
/// A page of what fits. The plan is made for the parameters at hand, so a filter that is not used costs
/// nothing.
macro_rules! page {
    ($table:literal) => {
        concat!(" and ($1::text is null or workflow = $1) and ($2::text[] is null or phase = any($2))
            and ($3::text is null or tenant = $3) and ($4::text is null or resource = $4)
            and ($11::text[] is null or resource = any($11))
            and ($5::uuid is null or id < $5) and ($6::uuid is null or id >= $6)
            and ($9::text is null or (right(replace(id::text, '-', ''), length($9)) = $9 and id > coalesce(
                (select n.id from ", $table, " n order by n.id desc limit 1 offset $10),
                '00000000-0000-0000-0000-000000000000')))
        order by id desc limit $7)")
    };
}

/// Active, queued and finished operations are looked for apart, because each has its own index by resource.
macro_rules! list {
    () => {
        concat!(
            "select * from (
        (select id, workflow, tenant, resource, phase, step, reason, due_at, created_at, deadline_at,
            null::int8 as finished_at, owner, wish, name
        from operations where not queued",
            page!("operations"),
            "
        union all
        (select id, workflow, tenant, resource, phase, step, reason, due_at, created_at, deadline_at,
            null, owner, wish, name
        from operations where queued",
            page!("operations"),
            "
        union all
        (select id, workflow, tenant, resource, phase, null, reason, null, created_at, deadline_at,
            finished_at, null, null, name
        from archive where ($8 or phase <> 'succeeded')",
            page!("archive"),
            "
    ) as found
    order by id desc limit $7"
        )
    };
}

pub(super) const LIST: &str = list!();
pub(super) const TOTALS: &str = concat!(
    "select workflow collate \"C\", phase, count(*) from (",
    list!(),
    ") as newest group by 1, 2 order by 1, 2"
);
/// The newest ends, in spans of `$2` microseconds from `$1` on.
pub(super) const HISTORY: &str = "
    select (finished_at - $1) / $2, count(*), count(*) filter (where phase <> 'succeeded'),
        sum(finished_at - created_at)::int8
    from (select finished_at, created_at, phase from archive where finished_at >= $1
        order by finished_at desc limit $3) as newest
    group by 1 order by 1";
pub(super) const JOURNAL: &str =
    "select seq, at, body from journal where operation = $1 and seq > $2 order by seq limit $3";
/// A row of a resource, as `resource_list` takes it apart.
macro_rules! resource {
    () => {
        "r.number, r.name, r.kind, r.tenant, r.version, r.record, r.operation, r.workflow, r.phase,
        r.created_at, r.updated_at, r.gone_at, r.due_at"
    };
}
pub(super) use resource;

pub(super) const RESOURCE: &str = concat!("select ", resource!(), " from resources r where r.name = $1");
/// How many resources each value of a label and each state fits, up to a limit. A state has no place.
pub(super) const SIZES: &str = "
    select a.place, s.size from unnest($3::int8[], $4::text[], $5::text[]) as a (place, key, value)
    cross join lateral (
        select count(*) as size from (
            select 1 from resource_labels l
            where l.kind = $1 and l.gone = any($2::bool[]) and l.key = a.key and l.value = a.value limit $6
        ) as few
    ) as s
    union all
    select null, s.size from unnest($7::text[], $8::text[]) as a (workflow, phase)
    cross join lateral (
        select count(*) as size from (
            select 1 from resources r
            where r.kind = $1 and r.gone_at is null and r.workflow = a.workflow and r.phase = a.phase limit $6
        ) as few
    ) as s";
/// One statement sees one moment, so what changes its value meanwhile counts once.
pub(super) const LABEL_COUNTS: &str = "
    select value, count(*) from resource_labels
    where kind = $1 and gone = any($2::bool[]) and key = $3 and value = any($4::text[]) group by value";
pub(super) const STATS: &str = concat!(
    "select
        (select count(*) from (select 1 from operations where owner is not null limit $2) as a),
        (select count(*) from (select 1 from operations where ",
    free!(),
    " and due_at <= $1 order by due_at limit $2) as b),
        (select count(*) from (select 1 from operations where ",
    free!(),
    " and due_at > $1 order by due_at limit $2) as c),
        (select count(*) from (select 1 from operations where owner is null and due_at is null limit $2) d),
        (select count(*) from (select 1 from operations where phase = 'stuck' limit $2) as e),
        (select due_at from operations where ",
    free!(),
    " and due_at <= $1 order by due_at limit 1),
        (select created_at from operations order by id limit 1)"
);
pub(super) const PING: &str = "select 1";
pub(super) const NOW: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::int8";
/// Changes a row of its own.
pub(super) const TRY_WRITING: &str = "
    insert into shared (name, value) values ('last-write-test', now()::text)
    on conflict (name) do update set value = excluded.value returning 1";
pub(super) const PRUNE: &str = "
    with old as (
        delete from archive where id in (
            select id from archive where finished_at < $1 order by finished_at limit $2 for update skip locked
        )
        returning id
    ), events as (
        delete from journal j using old where j.operation = old.id
    ), keys as (
        delete from idempotency i using old where i.operation = old.id
    ), inbox as (
        delete from signals where key in (select key from signals where at < $1 for update skip locked)
    ), log as (
        delete from audit where n in (select n from audit where at < $1 order by at limit $2)
    ), gone as (
        delete from resources where number in (
            select number from resources where gone_at < $1 order by gone_at limit $2 for update skip locked
        )
        returning number
    ), labels as (
        delete from resource_labels l using gone where l.number = gone.number
    )
    select count(*) from old";

pub(super) const ADD_TOKEN: &str = "
    insert into tokens (name, role, digest, created_at, expires_at, platform, grants)
    values ($1, $2, $3, $4, $5, $6, $7)
    on conflict do nothing
    returning 1";
pub(super) const FIND_TOKEN: &str =
    "select name, role, digest, created_at, expires_at, platform, grants from tokens where digest = $1";
pub(super) const TOKENS: &str = "select name, role, digest, created_at, expires_at, platform, grants from tokens order by created_at, name";
/// The locks make removals of all nodes come one after the other, each with the admins that the one before has left.
pub(super) const REMOVE_TOKEN: &str = "
    with admins as (
        select name from tokens where role = 'admin' and (expires_at is null or expires_at > $2)
        order by name for update
    ), counted as (
        select count(*) filter (where name = $1) as own, count(*) filter (where name <> $1) as others from admins
    ), removed as (
        delete from tokens using counted where name = $1 and (own = 0 or others > 0) returning 1
    )
    select own > 0 and others = 0, exists (select 1 from removed) from counted";
pub(super) const SHARED: &str = "select value from shared where name = $1";
pub(super) const SHARE_NEW: &str =
    "insert into shared (name, value) values ($1, $2) on conflict do nothing returning 1";
pub(super) const SHARE_CHANGED: &str =
    "update shared set value = $2 where name = $1 and value = $3 returning 1";
pub(super) const AUDIT_PAGE: &str =
    "select n, at, who, action, target, result, request from audit where n < $1 order by n desc limit $2";

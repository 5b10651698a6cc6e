//! Every statement that writes the records of resources in `PostgreSQL`.

/// Makes the labels of rows of `changed` (number, kind, gone, labels) what they are to be. What is removed and
/// what is added have nothing in common, so it does not matter which comes first.
macro_rules! relabel {
    () => {
        ", removed as (
            delete from resource_labels l using changed c
            where l.number = c.number and c.kind is not null and (
                l.kind <> c.kind or l.gone <> c.gone or not exists (
                    select 1 from jsonb_array_elements(c.labels) as n (pair)
                    where n.pair ->> 0 = l.key and n.pair ->> 1 = l.value
                )
            )
        )
        insert into resource_labels (kind, gone, key, value, number)
        select c.kind, c.gone, n.pair ->> 0, n.pair ->> 1, c.number
        from changed c cross join lateral jsonb_array_elements(c.labels) as n (pair)
        where c.kind is not null
        on conflict do nothing"
    };
}

/// No other transaction makes a resource of one of these names: what is absent stays absent. Always in the same order,
/// so that no transaction waits in a circle; the first number keeps them apart from the locks of keys.
pub(super) const LOCK_NAMES: &str = "
    select pg_advisory_xact_lock(7301947, bucket) from (
        select distinct hashtext(name) & 1023 as bucket from unnest($1::text[]) as name order by bucket
    ) as buckets";
/// Everybody locks the records before the operations, and records in the order of their names.
pub(super) const LOCK_RESOURCES: &str =
    "select 1 from resources where name = any($1::text[]) order by name for update";
pub(super) const VERSIONS: &str = "select name, version from resources where name = any($1::text[])";

pub(super) const ADD_RESOURCE: &str = concat!(
    "with changed as (
        insert into resources (name, tenant, kind, record, gone_at, due_at, operation, workflow, phase,
            version, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, case when $7::uuid is not null then 'running' end, 1, $9, $9)
        returning number, kind, gone_at is not null as gone, $10::text::jsonb as labels
    )",
    relabel!()
);
/// Without a record and without an operation only the version goes up.
pub(super) const CHANGE_RESOURCE: &str = concat!(
    "with changed as (
        update resources set
            kind = coalesce($2::text, kind),
            record = coalesce($3::text, record),
            gone_at = case when $2::text is null then gone_at else $4::int8 end,
            due_at = case when $2::text is null then due_at else $5::int8 end,
            operation = coalesce($6::uuid, operation),
            workflow = coalesce($7::text, workflow),
            phase = case when $6::uuid is null then phase else 'running' end,
            version = version + 1,
            updated_at = case when $2::text is null and $6::uuid is null then updated_at else $8::int8 end
        where name = $1
        returning number, $2::text as kind, gone_at is not null as gone, $9::text::jsonb as labels
    )",
    relabel!()
);
pub(super) const REVIVE_RESOURCE: &str = "
    update resources set
        operation = $2,
        workflow = (select workflow from operations where id = $2),
        phase = 'running',
        version = version + 1,
        updated_at = $3
    where name = $1 and gone_at is null";

/// A record counts in any case, the end of an operation only where that is still the newest. Parks and
/// finishes have to hold their operation, and keep it until they are written.
pub(super) const TOUCH: &str = concat!(
    "with asked as materialized (
        select * from unnest($1::text[], $2::uuid[], $3::uuid[], $4::int8[], $5::text[], $6::text[],
            $7::int8[], $8::int8[], $9::text[], $10::int8[], $11::text[])
        as a (name, id, node, epoch, kind, record, gone_at, due_at, phase, at, labels)
    ), held as materialized (
        select o.id from asked a join operations o on o.id = a.id
        where o.owner is not distinct from a.node and o.epoch = a.epoch
        for update of o
    ), changed as (
        update resources r set
            kind = coalesce(a.kind, r.kind),
            record = coalesce(a.record, r.record),
            gone_at = case when a.kind is null then r.gone_at else a.gone_at end,
            due_at = case when a.kind is null then r.due_at else a.due_at end,
            phase = case when r.operation = a.id then coalesce(a.phase, r.phase) else r.phase end,
            version = r.version + 1,
            updated_at = a.at
        from asked a
        where r.name = a.name and (a.kind is not null or r.operation = a.id)
            and (a.node is null or (a.id in (select id from held)) is true)
        returning r.number, a.kind, r.gone_at is not null as gone, a.labels::jsonb as labels
    )",
    relabel!()
);

//! Every statement by which operations live in `PostgreSQL`.

/// The database's clock in microseconds. A macro, because it is a part of constants.
macro_rules! now {
    () => {
        "(extract(epoch from clock_timestamp()) * 1000000)::int8"
    };
}

/// What makes an operation free to be claimed, in the words of the partial indexes.
macro_rules! free {
    () => {
        "owner is null and due_at is not null and not queued"
    };
}
pub(super) use free;

/// Tells the other processes, and only when there is a row in what comes before.
macro_rules! tell {
    () => {
        "select pg_notify('provision_engine', '')"
    };
}

pub(super) const LISTEN: &str = "listen provision_engine";
pub(super) const TELL: &str = tell!();
pub(super) const BEGIN: &str = "begin";
pub(super) const COMMIT: &str = "commit";
pub(super) const ROLLBACK: &str = "rollback";

pub(super) const GIVEN: &str = "
    select j.operation from unnest($1::uuid[], $2::int4[]) as a (id, seq)
    join journal j on j.operation = a.id and j.seq = a.seq";

/// Those whose row no transaction holds, or that have none.
pub(super) const UNLOCKED: &str = "
    with free as materialized (
        select id from operations where id = any($1::uuid[]) for update skip locked
    )
    select a.id from unnest($1::uuid[]) as a (id)
    where (a.id in (select id from free)) is true
        or not exists (select 1 from operations o where o.id = a.id)";

/// A key that was taken for an operation that was not made.
pub(super) const UNUSE_KEYS: &str = "
    delete from idempotency i using unnest($1::uuid[], $2::text[], $3::text[]) as a (id, scope, key)
    where i.scope = a.scope and i.key = a.key and i.operation = a.id
        and not exists (select 1 from journal j where j.operation = a.id)";

/// A control request that was dealt with is cleared in the same commit that says so; a later one stays.
pub(super) const SET_PHASES: &str = "
    update operations o set
        phase = coalesce(a.phase, o.phase),
        wish = case when o.wish_number <= a.heard then null else o.wish end,
        wish_at = case when o.wish_number <= a.heard then null else o.wish_at end
    from unnest($1::uuid[], $2::text[], $3::int8[]) as a (id, phase, heard)
    where o.id = a.id";
/// The number of a signal is the transaction that wrote it: a later signal of the same key has another one,
/// whichever release wrote it.
pub(super) const TAKE_SIGNALS: &str = "
    delete from signals s using unnest($1::text[], $2::int8[]) as a (key, number)
    where s.key = a.key and s.xmin::text::int8 = a.number";

/// `is not distinct from` is `=` that no index serves: each row has to be found by its id, and not among all
/// that the node owns.
///
/// A control request that has not been heard wakes at once, and any other is cleared. A signal that came before
/// the wait wakes too. The clock of the transaction that asked may be ahead, so the database's clock limits when that is.
pub(super) const PARK: &str = concat!(
    "update operations o set
        owner = null,
        phase = a.phase,
        due_at = coalesce(
            case when o.wish_number > a.heard and o.wish is not null
                then greatest(least(o.wish_at, ",
    now!(),
    "), a.not_before) end,
            (select greatest(least(s.at, ",
    now!(),
    "), a.not_before) from signals s where s.key = a.key),
            a.due_at),
        wait_key = a.key,
        step = a.step,
        reason = a.reason,
        wish = case when o.wish_number > a.heard then o.wish end,
        wish_at = case when o.wish_number > a.heard then o.wish_at end,
        memory = coalesce(a.memory, o.memory),
        memory_seq = coalesce(a.memory_seq, o.memory_seq)
    from unnest($1::uuid[], $2::uuid[], $3::int8[], $4::text[], $5::int8[], $6::text[], $7::int8[],
            $8::text[], $9::text[], $10::text[], $11::int4[], $12::int8[])
        as a (id, node, epoch, phase, heard, key, due_at, step, reason, memory, memory_seq, not_before)
    where o.id = a.id and o.owner is not distinct from a.node and o.epoch = a.epoch
    returning o.id, o.due_at is distinct from a.due_at"
);

/// A statement of its own after `FINISH`: only a new look sees who queued in the last moment.
pub(super) const PROMOTE: &str = concat!(
    "with next as (
        select n.id, a.finished_at
        from unnest($1::uuid[]) as f (id)
        join archive a on a.id = f.id
        cross join lateral (
            select q.id from operations q
            where q.queued and q.resource = a.resource
                and not exists (select 1 from operations h where h.resource = a.resource and not h.queued)
            order by q.queue_number nulls first, q.id limit 1 for update of q
        ) n
    ), promoted as (
        update operations o set queued = false, reason = null, due_at = next.finished_at
        from next where o.id = next.id
        returning o.id
    )
    ",
    tell!(),
    " from promoted limit 1"
);

pub(super) const AUDIT: &str = "
    insert into audit (at, who, action, target, result, request)
    select * from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])";

/// The locks of these keys. Always in the same order, so that no transaction waits in a circle; the first number
/// keeps them apart from any other transaction's locks.
macro_rules! locks {
    ($lock:literal) => {
        concat!(
            "select ",
            $lock,
            "(7301946, bucket) from (
                select distinct hashtext(key) & 63 as bucket from unnest($1::text[]) as key order by bucket
            ) as buckets"
        )
    };
}

/// Between an operation that begins to wait for a key and a signal for that key: one of them sees the other.
pub(super) const SHARE_KEYS: &str = locks!("pg_advisory_xact_lock_shared");
pub(super) const LOCK_KEYS: &str = locks!("pg_advisory_xact_lock");

pub(super) const KEY_USED: &str = "select operation, digest from idempotency where scope = $1 and key = $2";
pub(super) const USE_KEY: &str = "
    insert into idempotency (scope, key, operation, digest, at) values ($1, $2, $3, $4, $5)
    on conflict do nothing";
pub(super) const UNUSE_KEY: &str = "delete from idempotency where scope = $1 and key = $2 and operation = $3";
/// The transaction that holds the resource cannot finish before we have queued.
pub(super) const HOLDER: &str = "select id from operations where resource = $1 and not queued for share";
pub(super) const CREATE_ONE: &str = "
    insert into operations (id, workflow, tenant, resource, params, phase, owner, epoch, queued, orphaned,
        due_at, deadline_at, created_at, reason, memory_seq, name, queue_number)
    values ($1, $2, $3, $4, $5, $6, $7, 1, $8, false, $9, $10, $11, $12, 0, $13,
        case when $8 then nextval('queue_numbers') end)
    on conflict (resource) where not queued and resource is not null do nothing";

pub(super) const STANDING: &str =
    "select phase, queued, owner is not null from operations where id = $1 for update";
/// The row is locked when the number is given, so the order of numbers is the order of requests.
pub(super) const CONTROL: &str = concat!(
    "update operations set
        wish = $2,
        wish_at = $3,
        wish_number = nextval('control_request_numbers'),
        resource = case when $4 then null else resource end,
        queued = queued and not $4,
        due_at = case when $5 then least($3, ",
    now!(),
    ") else due_at end
    where id = $1"
);
/// Before it leaves the queue. Nothing begins to queue later, so this needs no lock.
pub(super) const QUEUES_FOR: &str = "select resource from operations where id = $1 and queued";
pub(super) const FINISHED: &str =
    "select phase, created_at, deadline_at, resource from archive where id = $1 for update";
pub(super) const IS_THERE: &str =
    "select 1 from operations where id = $1 union all select 1 from archive where id = $1";
pub(super) const REVIVE: &str = "
    insert into operations (id, workflow, tenant, resource, params, phase, epoch, queued, orphaned, due_at,
        deadline_at, created_at, wish, wish_at, wish_number, memory, memory_seq, name)
    select id, workflow, tenant, resource, params, $2, epoch + 1, false, false, $3, $4, created_at, $5, $3,
        nextval('control_request_numbers'), memory, memory_seq, name
    from archive where id = $1
    on conflict (resource) where not queued and resource is not null do nothing";
pub(super) const UNARCHIVE: &str = "delete from archive where id = $1";

pub(super) const WAKE: &str =
    concat!("update operations set due_at = least($2, ", now!(), ") where wait_key = $1 and owner is null");
pub(super) const SIGNAL: &str = "
    insert into signals (key, payload, at) values ($1, $2, $3)
    on conflict (key) do update set payload = excluded.payload, at = excluded.at";
/// All but the one that a new signal replaces.
pub(super) const UNREAD_SIGNALS: &str = "
    select count(*), coalesce(sum(octet_length(payload)), 0)::int8 from signals
    where key >= $1 and key < $2 and key <> $3";

pub(super) const JOIN: &str = concat!(
    "insert into nodes (id, lease_until) values ($1, ",
    now!(),
    " + $2) on conflict (id) do update set lease_until = excluded.lease_until"
);
// The operator who frees something never waits for a row that others hold. A node whose row is held is forgotten when its
// lease is over; an operation that was left out belongs to a node that is gone, and `FREE_DEAD` finds it.
pub(super) const FORGET: &str =
    "delete from nodes where id in (select id from nodes where id = $1 for update skip locked)";
pub(super) const FREE: &str = concat!(
    "with mine as (
        select id from operations where owner = $1 for update skip locked
    ), freed as (
        update operations o set owner = null, orphaned = true, due_at = ",
    now!(),
    " from mine where o.id = mine.id returning 1) ",
    tell!(),
    " from freed limit 1"
);
/// Answers how many of them the node owned, and how many of those are free now.
pub(super) const RELEASE: &str = concat!(
    "with mine as (
        select id from operations where id = any($2::uuid[]) and owner is not distinct from $1
        for update skip locked
    ), freed as (
        update operations o set owner = null, orphaned = true, due_at = ",
    now!(),
    " from mine where o.id = mine.id returning 1
    ), told as (",
    tell!(),
    " from freed limit 1)
    select (select count(*) from operations where id = any($2::uuid[]) and owner is not distinct from $1),
        (select count(*) from freed), (select count(*) from told)"
);
/// Answers also whether the lease of another node is over, and the time. It touches nothing but the nodes.
pub(super) const RENEW: &str = concat!(
    "update nodes set lease_until = ",
    now!(),
    " + $2 where id = $1
    returning exists (select 1 from nodes n where n.id <> $1 and n.lease_until < ",
    now!(),
    "), ",
    now!()
);
/// Frees what belongs to nodes whose lease is over, and to nodes that are gone: an operation may be created
/// or claimed by a node in the very moment in which it is declared dead. The owners are found with one step
/// in the index each.
pub(super) const FREE_DEAD: &str = concat!(
    "with recursive clock as materialized (select ",
    now!(),
    " as now), dead as (
        delete from nodes where id in (
            select id from nodes where lease_until < (select now from clock) for update skip locked
        )
        returning id
    ), owners (owner) as (
        (select owner from operations where owner is not null order by owner limit 1)
        union all
        select (select o.owner from operations o where o.owner > w.owner order by o.owner limit 1)
        from owners w where w.owner is not null
    ), gone as (
        select owner from owners w
        where w.owner in (select id from dead) or not exists (select 1 from nodes n where n.id = w.owner)
    ), adrift as (
        select o.id from gone join operations o on o.owner = gone.owner for update of o skip locked
    ), freed as (
        update operations o set owner = null, orphaned = true, due_at = (select now from clock)
        from adrift where o.id = adrift.id
        returning 1
    )
    ",
    tell!(),
    " from freed limit 1"
);
pub(super) const CONTROLS: &str =
    "select id, wish, wish_number from operations where owner = $1 and wish is not null";
pub(super) const OWNS: &str = "select 1 from operations where owner = $1 limit 1";

/// Whether the node is known, how much is due (bounded), and when something is due next.
pub(super) const LOOK: &str = concat!(
    "select exists (select 1 from nodes where id = $1),
        (select count(*) from (select 1 from operations where ",
    free!(),
    " and due_at <= $2 order by due_at limit $3) as due),
        (select due_at from operations where ",
    free!(),
    " order by due_at limit 1)"
);
pub(super) const NEXT_DUE: &str =
    concat!("select due_at from operations where ", free!(), " order by due_at limit 1");
/// The next one that no other transaction holds.
pub(super) const NEXT_FREE: &str = concat!(
    "select due_at from operations where ",
    free!(),
    " order by due_at limit 1 for update skip locked"
);
pub(super) const LOCK_OLDEST: &str = concat!(
    "select id from operations where ",
    free!(),
    " and due_at <= $1 and id <> all($3::uuid[]) order by due_at limit $2 for update skip locked"
);
pub(super) const LOCK_OF_TENANTS: &str = concat!(
    "select o.id, t.tenant from unnest($1::text[]) as t (tenant)
    cross join lateral (
        select id from operations where ",
    free!(),
    " and tenant = t.tenant and due_at <= $2 order by due_at limit $3 for update skip locked
    ) o
    limit $4"
);
/// One step in the index for each tenant, however much it has.
pub(super) const PROBE: &str = concat!(
    "with recursive probe (n, tenant, due_at) as (
        (select 1::int8, tenant, due_at from operations where ",
    free!(),
    " and tenant >= $1 order by tenant, due_at limit 1)
        union all
        select p.n + 1, o.tenant, o.due_at from probe p cross join lateral (
            select tenant, due_at from operations where ",
    free!(),
    " and tenant > p.tenant order by tenant, due_at limit 1
        ) o
        where p.n < $2
    )
    select tenant, due_at from probe order by n limit $2"
);
/// The phases are those that a claim moves on; a test compares them with `Phase::after`.
pub(super) const TAKE: &str = "
    with old as (select id, orphaned from operations where id = any($1::uuid[]))
    update operations o set
        owner = $2,
        phase = case when phase in ('pending', 'running', 'waiting') then 'running' else phase end,
        due_at = null,
        orphaned = false,
        epoch = epoch + 1
    from old where o.id = old.id
    returning o.id, workflow, tenant, resource, params, phase, created_at, deadline_at, epoch, memory,
        memory_seq, old.orphaned, wish, wish_number, wait_key,
        (select array[payload, xmin::text] from signals where key = o.wait_key)";
pub(super) const ADOPT: &str = "
    insert into journal (operation, seq, at, body)
    select a.id,
        coalesce((select seq from journal where operation = a.id order by seq desc limit 1), 0) + 1,
        $2, $3
    from unnest($1::uuid[]) as a (id)";
pub(super) const EVENTS: &str = "
    select j.operation, j.seq, j.at, j.body from unnest($1::uuid[], $2::int4[]) as a (id, seq)
    join journal j on j.operation = a.id and j.seq > a.seq
    order by j.operation, j.seq";
pub(super) const SUSPEND_UNREADABLE: &str = "
    update operations o set owner = null, phase = 'stuck', reason = a.reason, due_at = null, wish = null,
        wish_at = null
    from unnest($1::uuid[], $2::text[]) as a (id, reason) where o.id = a.id";

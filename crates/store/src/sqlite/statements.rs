//! Every statement that `SQLite` runs, except lists, which are put together in `reader`.

/// The database's clock in microseconds. A macro, because it is a part of constants.
macro_rules! now {
    () => {
        "cast(unixepoch('subsec') * 1000000 as integer)"
    };
}

/// What makes an operation free to be claimed, in the words of the partial indexes.
macro_rules! free {
    () => {
        "owner is null and due_at is not null and queued = 0"
    };
}

pub(super) const BEGIN: &str = "begin immediate";
pub(super) const COMMIT: &str = "commit";
pub(super) const ROLLBACK: &str = "rollback";
pub(super) const SAVE: &str = "savepoint one";
pub(super) const UNDO: &str = "rollback to one";
pub(super) const KEEP: &str = "release one";

pub(super) const APPEND: &str = "insert into journal (operation, seq, at, body) values (?1, ?2, ?3, ?4)";

pub(super) const KEY_USED: &str = "select operation, digest from idempotency where scope = ?1 and key = ?2";
pub(super) const USE_KEY: &str =
    "insert into idempotency (scope, key, operation, digest, at) values (?1, ?2, ?3, ?4, ?5)";
pub(super) const HOLDER: &str = "select id from operations where resource = ?1 and queued = 0";
pub(super) const CREATE: &str = "
    insert into operations (id, workflow, tenant, resource, params, phase, owner, epoch, queued, orphaned,
        due_at, deadline_at, created_at, reason, memory_seq, name, queue_number)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, 0, ?9, ?10, ?11, ?12, 0, ?13,
        case when ?8 then (select last from numbers) end)";

/// A control request that was dealt with is cleared in the same commit that says so; a later one stays.
pub(super) const SET_PHASE: &str = "
    update operations set
        phase = coalesce(?2, phase),
        wish = case when wish_number <= ?3 then null else wish end,
        wish_at = case when wish_number <= ?3 then null else wish_at end
    where id = ?1";
/// A later signal of the same key has a greater number.
pub(super) const TAKE_SIGNAL: &str = "delete from signals where key = ?1 and number = ?2";

/// What the transaction that holds an operation has to know before it lets go. `returning` would be shorter, but costs a
/// table of its own for each statement.
pub(super) const HELD: &str =
    "select wish_number, wish_at, resource from operations where id = ?1 and owner = ?2 and epoch = ?3";
pub(super) const SIGNALLED_AT: &str = "select at from signals where key = ?1";
pub(super) const PARK: &str = "
    update operations set owner = null, phase = ?2, due_at = ?3, wait_key = ?4, step = ?5, reason = ?6,
        wish = case when ?7 then wish end, wish_at = case when ?7 then wish_at end,
        memory = coalesce(?8, memory), memory_seq = coalesce(?9, memory_seq)
    where id = ?1";
pub(super) const ARCHIVE: &str = "
    insert into archive (id, workflow, tenant, resource, params, phase, created_at, deadline_at, finished_at,
        reason, memory, memory_seq, epoch, name)
    select id, workflow, tenant, resource, params, ?2, created_at, deadline_at, ?3, ?4, ?5, ?6, epoch, name
    from operations where id = ?1";
pub(super) const REMOVE: &str = "delete from operations where id = ?1";
pub(super) const PROMOTE: &str = "
    update operations set queued = 0, reason = null, due_at = ?2
    where id = (select id from operations where resource = ?1 and queued = 1
        order by queue_number, id limit 1)";

pub(super) const STANDING: &str = "select phase, queued, owner is not null from operations where id = ?1";
/// For the next control request or signal, or the next operation that waits for a resource.
pub(super) const NEXT_NUMBER: &str = "update numbers set last = last + 1";
pub(super) const CONTROL: &str = "
    update operations set
        wish = ?2,
        wish_at = ?3,
        wish_number = (select last from numbers),
        resource = case when ?4 then null else resource end,
        queued = case when ?4 then 0 else queued end,
        due_at = case when ?5 then ?3 else due_at end
    where id = ?1";
/// Before it leaves the queue.
pub(super) const QUEUES_FOR: &str = "select resource from operations where id = ?1 and queued = 1";
pub(super) const FINISHED: &str =
    "select phase, created_at, deadline_at, resource from archive where id = ?1";
pub(super) const REVIVE: &str = "
    insert into operations (id, workflow, tenant, resource, params, phase, epoch, queued, orphaned, due_at,
        deadline_at, created_at, wish, wish_at, wish_number, memory, memory_seq, name)
    select id, workflow, tenant, resource, params, ?2, epoch + 1, 0, 0, ?3, ?4, created_at, ?5, ?3,
        (select last from numbers), memory, memory_seq, name
    from archive where id = ?1";
pub(super) const UNARCHIVE: &str = "delete from archive where id = ?1";

pub(super) const WAKE: &str = "update operations set due_at = ?2 where wait_key = ?1 and owner is null";
pub(super) const SIGNAL: &str = "
    insert into signals (key, payload, at, number) values (?1, ?2, ?3, (select last from numbers))
    on conflict (key) do update set payload = excluded.payload, at = excluded.at, number = excluded.number";

/// All but the one that a new signal replaces.
pub(super) const UNREAD_SIGNALS: &str = "
    select count(*), coalesce(sum(length(cast(payload as blob))), 0) from signals
    where key >= ?1 and key < ?2 and key <> ?3";

/// A row of a resource, as `reader` takes it apart.
macro_rules! resource {
    () => {
        "r.number, r.name, r.kind, r.tenant, r.version, r.record, r.operation, r.workflow, r.phase,
        r.created_at, r.updated_at, r.gone_at, r.due_at"
    };
}
pub(super) use resource;

pub(super) const VERSION: &str = "select version from resources where name = ?1";
pub(super) const NUMBER: &str = "select number from resources where name = ?1";
pub(super) const ADD_RESOURCE: &str = "
    insert into resources (name, tenant, kind, record, gone_at, due_at, operation, workflow, phase, version,
        created_at, updated_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, case when ?7 is not null then 'running' end, 1, ?9, ?9)";
/// Without a record and without an operation only the version goes up.
pub(super) const CHANGE_RESOURCE: &str = "
    update resources set
        kind = coalesce(?2, kind),
        record = coalesce(?3, record),
        gone_at = case when ?2 is null then gone_at else ?4 end,
        due_at = case when ?2 is null then due_at else ?5 end,
        operation = coalesce(?6, operation),
        workflow = coalesce(?7, workflow),
        phase = case when ?6 is null then phase else 'running' end,
        version = version + 1,
        updated_at = case when ?2 is null and ?6 is null then updated_at else ?8 end
    where name = ?1";
/// A record counts in any case, the end of an operation only where that is still the newest.
pub(super) const TOUCH: &str = "
    update resources set
        kind = coalesce(?3, kind),
        record = coalesce(?4, record),
        gone_at = case when ?3 is null then gone_at else ?5 end,
        due_at = case when ?3 is null then due_at else ?6 end,
        phase = case when operation = ?2 then coalesce(?7, phase) else phase end,
        version = version + 1,
        updated_at = ?8
    where name = ?1 and (?3 is not null or operation = ?2)";
pub(super) const REVIVE_RESOURCE: &str = "
    update resources set
        operation = ?2,
        workflow = (select workflow from operations where id = ?2),
        phase = 'running',
        version = version + 1,
        updated_at = ?3
    where name = ?1 and gone_at is null";
pub(super) const LABELS: &str = "select kind, gone, key, value from resource_labels where number = ?1";
pub(super) const UNLABEL: &str = "delete from resource_labels where number = ?1";
pub(super) const LABEL: &str =
    "insert into resource_labels (kind, gone, key, value, number) values (?1, ?2, ?3, ?4, ?5)";
pub(super) const RESOURCE: &str = concat!("select ", resource!(), " from resources r where r.name = ?1");
pub(super) const LABEL_SIZE: &str = "
    select count(*) from (
        select 1 from resource_labels
        where kind = ?1 and gone in (0, ?2) and key = ?3 and value in (select value from json_each(?4))
        limit ?5
    )";
pub(super) const LABEL_COUNTS: &str = "
    select value, count(*) from resource_labels
    where kind = ?1 and gone in (0, ?2) and key = ?3 and value in (select value from json_each(?4))
    group by value";
pub(super) const STATES_SIZE: &str = "
    select count(*) from (
        select 1 from resources where kind = ?1 and gone_at is null and (workflow, phase) in (
            select a.value, b.value from json_each(?2) a join json_each(?3) b on b.key = a.key
        )
        limit ?4
    )";
pub(super) const OLD_RESOURCES: &str =
    "select number from resources where gone_at < ?1 order by gone_at limit ?2";
pub(super) const PRUNE_RESOURCE: &str = "delete from resources where number = ?1";

pub(super) const JOIN: &str = concat!(
    "insert into nodes (id, lease_until) values (?1, ",
    now!(),
    " + ?2) on conflict (id) do update set lease_until = excluded.lease_until"
);
pub(super) const RENEW: &str = concat!("update nodes set lease_until = ", now!(), " + ?2 where id = ?1");
pub(super) const FORGET_OTHERS: &str = "delete from nodes where id <> ?1";
pub(super) const FORGET: &str = "delete from nodes where id = ?1";
pub(super) const FREE_OTHERS: &str = concat!(
    "update operations set owner = null, orphaned = 1, due_at = ",
    now!(),
    " where owner is not null and owner <> ?1"
);
pub(super) const FREE: &str =
    concat!("update operations set owner = null, orphaned = 1, due_at = ", now!(), " where owner = ?1");
pub(super) const RELEASE: &str = concat!(
    "update operations set owner = null, orphaned = 1, due_at = ",
    now!(),
    " where id = ?2 and owner = ?1"
);
pub(super) const IS_KNOWN: &str = "select exists (select 1 from nodes where id = ?1)";
pub(super) const CONTROLS: &str =
    "select id, wish, wish_number from operations where owner = ?1 and wish is not null";

pub(super) const DUE: &str =
    concat!("select id from operations where ", free!(), " and due_at <= ?1 order by due_at limit ?2");
pub(super) const DUE_OF_TENANT: &str = concat!(
    "select id from operations where ",
    free!(),
    " and tenant = ?1 and due_at <= ?2 order by due_at limit ?3"
);
pub(super) const TENANT_FROM: &str = concat!(
    "select tenant, due_at from operations where ",
    free!(),
    " and tenant >= ?1 order by tenant, due_at limit 1"
);
pub(super) const TENANT_AFTER: &str = concat!(
    "select tenant, due_at from operations where ",
    free!(),
    " and tenant > ?1 order by tenant, due_at limit 1"
);
pub(super) const NEXT_DUE: &str = concat!("select min(due_at) from operations where ", free!());
pub(super) const FOUND: &str = "
    select workflow, tenant, resource, params, phase, created_at, deadline_at, epoch, memory, memory_seq,
        orphaned, wish, wish_number, wait_key, payload, number
    from operations left join signals on key = wait_key where id = ?1";
pub(super) const LAST_SEQ: &str = "select coalesce(max(seq), 0) from journal where operation = ?1";
pub(super) const TAKE: &str = "
    update operations set owner = ?2, phase = ?3, due_at = null, orphaned = 0, epoch = epoch + 1
    where id = ?1";
pub(super) const SUSPEND_UNREADABLE: &str = "
    update operations set owner = null, phase = 'stuck', reason = ?2, due_at = null, wish = null,
        wish_at = null
    where id = ?1";

pub(super) const SHOW: &str = "
    select id, workflow, tenant, resource, phase, step, reason, due_at, created_at, deadline_at,
        null as finished_at, owner, wish, name, params, memory, memory_seq
    from operations where id = ?1
    union all
    select id, workflow, tenant, resource, phase, null, reason, null, created_at, deadline_at,
        finished_at, null, null, name, params, memory, memory_seq
    from archive where id = ?1";
pub(super) const JOURNAL: &str =
    "select seq, at, body from journal where operation = ?1 and seq > ?2 order by seq limit ?3";
/// The newest ends, in spans of `?2` microseconds from `?1` on.
pub(super) const HISTORY: &str = "
    select (finished_at - ?1) / ?2, count(*), sum(phase <> 'succeeded'), sum(finished_at - created_at)
    from (select finished_at, created_at, phase from archive where finished_at >= ?1
        order by finished_at desc limit ?3)
    group by 1 order by 1";
pub(super) const STATS: &str = concat!(
    "select
        (select count(*) from (select 1 from operations where owner is not null limit ?2)),
        (select count(*) from (select 1 from operations where ",
    free!(),
    " and due_at <= ?1 limit ?2)),
        (select count(*) from (select 1 from operations where ",
    free!(),
    " and due_at > ?1 limit ?2)),
        (select count(*) from (select 1 from operations where owner is null and due_at is null limit ?2)),
        (select count(*) from (select 1 from operations where phase = 'stuck' limit ?2)),
        (select min(due_at) from operations where ",
    free!(),
    " and due_at <= ?1),
        (select created_at from operations order by id limit 1)"
);
pub(super) const PING: &str = "select 1";

pub(super) const OLD: &str = "select id from archive where finished_at < ?1 order by finished_at limit ?2";
pub(super) const PRUNE_JOURNAL: &str = "delete from journal where operation = ?1";
pub(super) const PRUNE_KEY: &str = "delete from idempotency where operation = ?1";
pub(super) const PRUNE_SIGNALS: &str = "delete from signals where at < ?1";
pub(super) const PRUNE_AUDIT: &str =
    "delete from audit where n in (select n from audit where at < ?1 order by at limit ?2)";

pub(super) const ADD_TOKEN: &str = "
    insert into tokens (name, role, digest, created_at, expires_at, platform, grants)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    on conflict do nothing";
pub(super) const FIND_TOKEN: &str =
    "select name, role, digest, created_at, expires_at, platform, grants from tokens where digest = ?1";
pub(super) const TOKENS: &str = "select name, role, digest, created_at, expires_at, platform, grants from tokens order by created_at, name";
pub(super) const SHARED: &str = "select value from shared where name = ?1";
pub(super) const SHARE_NEW: &str = "insert into shared (name, value) values (?1, ?2) on conflict do nothing";
pub(super) const SHARE_CHANGED: &str = "update shared set value = ?2 where name = ?1 and value = ?3";
pub(super) const ADMIN_TOKENS: &str =
    "select name from tokens where role = 'admin' and (expires_at is null or expires_at > ?1)";
pub(super) const REMOVE_TOKEN: &str = "delete from tokens where name = ?1";
pub(super) const AUDIT: &str = "
    insert into audit (at, who, action, target, result, request) values (?1, ?2, ?3, ?4, ?5, ?6)";
pub(super) const AUDIT_PAGE: &str =
    "select n, at, who, action, target, result, request from audit where n < ?1 order by n desc limit ?2";

/// For the test that each of them is understood.
#[cfg(test)]
pub(super) const ALL: &[&str] = &[
    APPEND,
    KEY_USED,
    USE_KEY,
    HOLDER,
    CREATE,
    SET_PHASE,
    TAKE_SIGNAL,
    HELD,
    SIGNALLED_AT,
    PARK,
    ARCHIVE,
    REMOVE,
    PROMOTE,
    STANDING,
    NEXT_NUMBER,
    CONTROL,
    QUEUES_FOR,
    FINISHED,
    REVIVE,
    UNARCHIVE,
    WAKE,
    SIGNAL,
    VERSION,
    NUMBER,
    ADD_RESOURCE,
    CHANGE_RESOURCE,
    TOUCH,
    REVIVE_RESOURCE,
    LABELS,
    UNLABEL,
    LABEL,
    RESOURCE,
    LABEL_SIZE,
    LABEL_COUNTS,
    STATES_SIZE,
    OLD_RESOURCES,
    PRUNE_RESOURCE,
    JOIN,
    RENEW,
    FORGET_OTHERS,
    FORGET,
    FREE_OTHERS,
    FREE,
    RELEASE,
    IS_KNOWN,
    CONTROLS,
    DUE,
    DUE_OF_TENANT,
    TENANT_FROM,
    TENANT_AFTER,
    NEXT_DUE,
    FOUND,
    LAST_SEQ,
    TAKE,
    SUSPEND_UNREADABLE,
    SHOW,
    JOURNAL,
    STATS,
    PING,
    OLD,
    PRUNE_JOURNAL,
    PRUNE_KEY,
    PRUNE_SIGNALS,
    PRUNE_AUDIT,
    ADD_TOKEN,
    FIND_TOKEN,
    TOKENS,
    ADMIN_TOKENS,
    REMOVE_TOKEN,
    SHARED,
    SHARE_NEW,
    SHARE_CHANGED,
    AUDIT,
    AUDIT_PAGE,
];

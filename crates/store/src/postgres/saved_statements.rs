//! The SQL of what is saved, as text. Reading keeps to columns that every release has had.

pub(super) const UNFINISHED: &str = "
    select id, workflow, params, memory, memory_seq from operations where id > $1 order by id limit $2";
pub(super) const UNFINISHED_EVENTS: &str = "
    select j.operation, j.seq, j.at, j.body
    from unnest($1::uuid[], $2::int4[]) as a (id, seq) join journal j on j.operation = a.id and j.seq > a.seq
    order by j.operation, j.seq";

pub(super) const PARAMS_AFTER: &str = "
    select id, 0, tenant, resource, workflow, case when strpos(params, $3) > 0 then params end
    from operations where id > $1 order by id limit $2";
pub(super) const MEMORIES_AFTER: &str = "
    select id, 0, tenant, resource, workflow, case when strpos(memory, $3) > 0 then memory end
    from operations where id > $1 order by id limit $2";
pub(super) const ARCHIVED_AFTER: &str = "
    select id, 0, tenant, resource, workflow, case when strpos(params, $3) > 0 then params end
    from archive where id > $1 order by id limit $2";
pub(super) const EVENTS_AFTER: &str = "
    select j.operation, j.seq, coalesce(o.tenant, a.tenant), coalesce(o.resource, a.resource),
        coalesce(o.workflow, a.workflow), case when strpos(j.body, $3) > 0 then j.body end
    from (
        select operation, seq, body from journal where (operation, seq) > ($1, $4)
        order by operation, seq limit $2
    ) j left join operations o on o.id = j.operation left join archive a on a.id = j.operation
    order by j.operation, j.seq";
pub(super) const RECORDS_AFTER: &str = "
    select name, 0, tenant, name, '', case when strpos(record, $3) > 0 then record end
    from resources where name > $1 order by name limit $2";

// A claim locks its row, and so do these: what a node has just taken is not changed under it.

pub(super) const RESEAL_PARAMS: &str =
    "update operations set params = $3 where id = $1 and params = $2 and owner is null returning 1";
pub(super) const RESEAL_MEMORY: &str =
    "update operations set memory = $3 where id = $1 and memory = $2 and owner is null returning 1";
pub(super) const RESEAL_ARCHIVED: &str =
    "update archive set params = $3 where id = $1 and params = $2 returning 1";
pub(super) const RESEAL_EVENT: &str = "
    with unfinished as (select id from operations where id = $1 and owner is null for update),
        finished as (select id from archive where id = $1 for update)
    update journal set body = $3 where operation = $1 and seq = $4 and body = $2
        and (exists (select 1 from unfinished) or exists (select 1 from finished))
    returning 1";
/// Another version, so that the transaction that read the record before looks again.
pub(super) const RESEAL_RECORD: &str = "
    update resources set record = $3, version = version + 1 where name = $1 and record = $2
        and not exists (select 1 from operations where resource = $1 and not queued and owner is not null)
    returning 1";

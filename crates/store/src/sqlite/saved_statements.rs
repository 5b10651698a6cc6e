//! The SQL of what is saved, as text. Reading keeps to columns that every release has had.

pub(super) const UNFINISHED: &str = "
    select id, workflow, params, memory, memory_seq from operations where id > ?1 order by id limit ?2";

pub(super) const PARAMS_AFTER: &str = "
    select id, 0, tenant, resource, workflow, case when instr(params, ?3) > 0 then params end
    from operations where id > ?1 order by id limit ?2";
pub(super) const MEMORIES_AFTER: &str = "
    select id, 0, tenant, resource, workflow, case when instr(memory, ?3) > 0 then memory end
    from operations where id > ?1 order by id limit ?2";
pub(super) const ARCHIVED_AFTER: &str = "
    select id, 0, tenant, resource, workflow, case when instr(params, ?3) > 0 then params end
    from archive where id > ?1 order by id limit ?2";
pub(super) const EVENTS_AFTER: &str = "
    select j.operation, j.seq, coalesce(o.tenant, a.tenant), coalesce(o.resource, a.resource),
        coalesce(o.workflow, a.workflow), case when instr(j.body, ?3) > 0 then j.body end
    from journal j left join operations o on o.id = j.operation left join archive a on a.id = j.operation
    where (j.operation, j.seq) > (?1, ?4) order by j.operation, j.seq limit ?2";
pub(super) const RECORDS_AFTER: &str = "
    select name, 0, tenant, name, '', case when instr(record, ?3) > 0 then record end
    from resources where name > ?1 order by name limit ?2";

pub(super) const RESEAL_PARAMS: &str =
    "update operations set params = ?3 where id = ?1 and params = ?2 and owner is null";
pub(super) const RESEAL_MEMORY: &str =
    "update operations set memory = ?3 where id = ?1 and memory = ?2 and owner is null";
pub(super) const RESEAL_ARCHIVED: &str = "update archive set params = ?3 where id = ?1 and params = ?2";
pub(super) const RESEAL_EVENT: &str = "
    update journal set body = ?3 where operation = ?1 and seq = ?4 and body = ?2
        and not exists (select 1 from operations where id = ?1 and owner is not null)";
/// Another version, so that the transaction that read the record before looks again.
pub(super) const RESEAL_RECORD: &str = "
    update resources set record = ?3, version = version + 1 where name = ?1 and record = ?2
        and not exists (select 1 from operations where resource = ?1 and queued = 0 and owner is not null)";

/// For the test that each of them is understood.
#[cfg(test)]
pub(super) const ALL: &[&str] = &[
    UNFINISHED,
    PARAMS_AFTER,
    MEMORIES_AFTER,
    ARCHIVED_AFTER,
    EVENTS_AFTER,
    RECORDS_AFTER,
    RESEAL_PARAMS,
    RESEAL_MEMORY,
    RESEAL_ARCHIVED,
    RESEAL_EVENT,
    RESEAL_RECORD,
];

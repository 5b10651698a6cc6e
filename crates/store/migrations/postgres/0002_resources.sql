-- What operations work on. A row stays as a tombstone for a while when the resource is gone.
create table resources (
    number     bigint generated always as identity primary key,
    name       text   collate "C" not null unique,
    kind       text   collate "C" not null,
    tenant     text   collate "C" not null,
    version    bigint not null,
    operation  uuid,
    workflow   text   collate "C",
    phase      text   collate "C",
    created_at bigint not null,
    updated_at bigint not null,
    gone_at    bigint,
    due_at     bigint,
    record     text   not null
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

-- Lists filter and count by these columns without reading a row.
create index resources_live on resources (kind, number, tenant, workflow, phase) where gone_at is null;
create index resources_state on resources (kind, workflow, phase, number) where gone_at is null;
create index resources_due on resources (kind, due_at, number) where due_at is not null;
create index resources_gone on resources (gone_at) where gone_at is not null;

-- What lists filter by. A filter walks this in the order of numbers, and counts what lives without a look at
-- the resources.
create table resource_labels (
    kind   text    collate "C" not null,
    gone   boolean not null,
    key    text    collate "C" not null,
    value  text    collate "C" not null,
    number bigint  not null,
    primary key (kind, gone, key, value, number)
);
create index resource_labels_number on resource_labels (number);

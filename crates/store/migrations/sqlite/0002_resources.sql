-- What operations work on. A row stays as a tombstone for a while when the resource is gone. The record is
-- the last column, so that looking at the others does not read through it. A number is never given twice: it
-- is the cursor of lists.
create table resources (
    number     integer primary key autoincrement,
    name       text    not null unique,
    kind       text    not null,
    tenant     text    not null,
    version    integer not null,
    operation  blob,
    workflow   text,
    phase      text,
    created_at integer not null,
    updated_at integer not null,
    gone_at    integer,
    due_at     integer,
    record     text    not null
) strict;

-- Lists filter and count by these columns without reading a row. The last one is always null, but without it
-- a row would be read to see that.
create index resources_live on resources (kind, number, tenant, workflow, phase, gone_at)
    where gone_at is null;
create index resources_state on resources (workflow, phase, kind, number, gone_at) where gone_at is null;
create index resources_due on resources (kind, due_at, number) where due_at is not null;
create index resources_gone on resources (gone_at) where gone_at is not null;

-- What lists filter by. A filter walks this in the order of numbers, and counts what lives without a look at
-- the resources.
create table resource_labels (
    kind   text    not null,
    gone   integer not null,
    key    text    not null,
    value  text    not null,
    number integer not null,
    primary key (kind, gone, key, value, number)
) strict, without rowid;
create index resource_labels_number on resource_labels (number);

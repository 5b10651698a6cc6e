-- Unfinished operations only. Written when one is created, claimed, put down or finished, never per step.
create table operations (
    id          blob    not null primary key,
    workflow    text    not null,
    tenant      text    not null,
    resource    text,
    params      text    not null,
    phase       text    not null,
    owner       blob,
    epoch       integer not null,
    queued      integer not null,
    orphaned    integer not null,
    due_at      integer,
    deadline_at integer not null,
    created_at  integer not null,
    wait_key    text,
    step        text,
    reason      text,
    wish        text,
    wish_at     integer,
    memory      text,
    memory_seq  integer not null
) strict;

-- One active operation per resource.
create unique index operations_resource on operations (resource) where queued = 0 and resource is not null;
create index operations_due on operations (due_at)
    where owner is null and due_at is not null and queued = 0;
create index operations_tenant_due on operations (tenant, due_at)
    where owner is null and due_at is not null and queued = 0;
create index operations_owner on operations (owner) where owner is not null;
create index operations_wait_key on operations (wait_key) where wait_key is not null;
create index operations_queued on operations (resource, id) where queued = 1;
create index operations_wish on operations (owner) where wish is not null;
-- For the counts of what waits for a person, which must not scan what waits for a time.
create index operations_idle on operations (id) where owner is null and due_at is null;
create index operations_stuck on operations (id) where phase = 'stuck';

-- Append-only. A number of an operation is given once: that is the fence. Rows are in the order of appending,
-- so that a commit writes the last page and not one page per operation.
create table journal (
    pos       integer primary key,
    operation blob    not null,
    seq       integer not null,
    at        integer not null,
    body      text    not null
) strict;
create unique index journal_operation_seq on journal (operation, seq);

create table archive (
    id          blob    not null primary key,
    workflow    text    not null,
    tenant      text    not null,
    resource    text,
    params      text    not null,
    phase       text    not null,
    created_at  integer not null,
    deadline_at integer not null,
    finished_at integer not null,
    reason      text,
    memory      text,
    memory_seq  integer not null,
    epoch       integer not null
) strict;
create index archive_tenant on archive (tenant, id);
create index archive_resource on archive (resource, id) where resource is not null;
create index archive_workflow on archive (workflow, id);
create index archive_unlucky on archive (id) where phase <> 'succeeded';
create index archive_finished on archive (finished_at);

create table nodes (
    id          blob    not null primary key,
    lease_until integer not null
) strict;

create table signals (
    key     text    not null primary key,
    payload text    not null,
    at      integer not null
) strict;

create table idempotency (
    scope     text    not null,
    key       text    not null,
    operation blob    not null,
    digest    text    not null,
    at        integer not null,
    primary key (scope, key)
) strict;
-- Removing an old operation removes its key.
create index idempotency_operation on idempotency (operation);

create table tokens (
    name       text    not null primary key,
    role       text    not null,
    digest     text    not null unique,
    created_at integer not null,
    expires_at integer
) strict;

create table audit (
    n       integer primary key,
    at      integer not null,
    who     text    not null,
    action  text    not null,
    target  text    not null,
    result  text    not null,
    request text    not null
) strict;
create index audit_at on audit (at);

-- Small values that all nodes share, such as the key ring, sealed.
create table shared (
    name  text not null primary key,
    value text not null
) strict;

-- Unfinished operations only. Written when one is created, claimed, put down or finished, never per step.
create table operations (
    id          uuid    not null primary key,
    workflow    text    not null,
    tenant      text    collate "C" not null,
    resource    text    collate "C",
    params      text    not null,
    phase       text    collate "C" not null,
    owner       uuid,
    epoch       bigint  not null,
    queued      boolean not null,
    orphaned    boolean not null,
    due_at      bigint,
    deadline_at bigint  not null,
    created_at  bigint  not null,
    wait_key    text    collate "C",
    step        text,
    reason      text,
    wish        text,
    wish_at     bigint,
    memory      text,
    memory_seq  integer not null
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- One active operation per resource.
create unique index operations_resource on operations (resource) where not queued and resource is not null;
create index operations_due on operations (due_at)
    where owner is null and due_at is not null and not queued;
create index operations_tenant_due on operations (tenant, due_at)
    where owner is null and due_at is not null and not queued;
create index operations_owner on operations (owner) where owner is not null;
create index operations_wait_key on operations (wait_key) where wait_key is not null;
create index operations_queued on operations (resource, id) where queued;
create index operations_wish on operations (owner) where wish is not null;
-- For the counts of what waits for a person, which must not scan what waits for a time.
create index operations_idle on operations (id) where owner is null and due_at is null;
create index operations_stuck on operations (id) where phase = 'stuck';

-- Append-only. A number of an operation is given once: that is the fence.
create table journal (
    operation uuid    not null,
    seq       integer not null,
    at        bigint  not null,
    body      text    not null,
    primary key (operation, seq)
);

create table archive (
    id          uuid    not null primary key,
    workflow    text    collate "C" not null,
    tenant      text    collate "C" not null,
    resource    text    collate "C",
    params      text    not null,
    phase       text    collate "C" not null,
    created_at  bigint  not null,
    deadline_at bigint  not null,
    finished_at bigint  not null,
    reason      text,
    memory      text,
    memory_seq  integer not null,
    epoch       bigint  not null
);
create index archive_tenant on archive (tenant, id);
create index archive_resource on archive (resource, id) where resource is not null;
create index archive_workflow on archive (workflow, id);
create index archive_unlucky on archive (id) where phase <> 'succeeded';
create index archive_finished on archive (finished_at);

create table nodes (
    id          uuid   not null primary key,
    lease_until bigint not null
);

create table signals (
    key     text   collate "C" not null primary key,
    payload text   not null,
    at      bigint not null
);

create table idempotency (
    scope     text   collate "C" not null,
    key       text   collate "C" not null,
    operation uuid   not null,
    digest    text   not null,
    at        bigint not null,
    primary key (scope, key)
);
-- Removing an old operation removes its key.
create index idempotency_operation on idempotency (operation);

create table tokens (
    name       text   collate "C" not null primary key,
    role       text   not null,
    digest     text   collate "C" not null unique,
    created_at bigint not null,
    expires_at bigint
);

create table audit (
    n       bigint generated always as identity primary key,
    at      bigint not null,
    who     text   not null,
    action  text   not null,
    target  text   not null,
    result  text   not null,
    request text   not null
);
create index audit_at on audit (at);

-- Small values that all nodes share, such as the key ring, sealed.
create table shared (
    name  text not null primary key,
    value text not null
);

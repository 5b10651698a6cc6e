-- People with passwords of ours, as hashes.
create table users (
    name         text   collate "C" not null primary key,
    role         text   not null,
    hash         text   not null,
    created_at   bigint not null,
    failures     bigint not null,
    locked_until bigint
);

-- Browsers that somebody has signed in with. A user and a token may have the same name: the proof tells them
-- apart.
create table sessions (
    n          bigint generated always as identity primary key,
    digest     text   collate "C" not null unique,
    person     text   collate "C" not null,
    role       text   not null,
    org        text,
    proof      text   not null,
    created_at bigint not null,
    seen_at    bigint not null,
    expires_at bigint not null
);
create index sessions_person on sessions (person, n);
create index sessions_expiry on sessions (expires_at);

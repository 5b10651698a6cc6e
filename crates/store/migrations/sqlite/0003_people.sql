-- People with passwords of ours, as hashes.
create table users (
    name         text    not null primary key,
    role         text    not null,
    hash         text    not null,
    created_at   integer not null,
    failures     integer not null,
    locked_until integer
) strict;

-- Browsers that somebody has signed in with. A user and a token may have the same name: the proof tells them
-- apart.
create table sessions (
    n          integer primary key,
    digest     text    not null unique,
    person     text    not null,
    role       text    not null,
    org        text,
    proof      text    not null,
    created_at integer not null,
    seen_at    integer not null,
    expires_at integer not null
) strict;
create index sessions_person on sessions (person, n);
create index sessions_expiry on sessions (expires_at);

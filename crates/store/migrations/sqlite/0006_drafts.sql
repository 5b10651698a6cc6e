-- Forms that are filled in over several pages, sealed. A row belongs to the session in which it was begun.
create table drafts (
    session    text    not null,
    id         text    not null,
    value      text    not null,
    saved_at   integer not null,
    expires_at integer not null,
    primary key (session, id)
) without rowid;
create index drafts_expiry on drafts (expires_at);

-- The browser and the address that a session was begun from.
alter table sessions add column device  text;
alter table sessions add column address text;

-- Forms that are filled in over several pages, sealed. A row belongs to the session in which it was begun.
create table drafts (
    session    text   collate "C" not null,
    id         text   collate "C" not null,
    value      text   not null,
    saved_at   bigint not null,
    expires_at bigint not null,
    primary key (session, id)
);
create index drafts_expiry on drafts (expires_at);

-- The browser and the address that a session was begun from.
alter table sessions add column device  text;
alter table sessions add column address text;

-- Control requests (cancel, pause, resume, retry) and signals are ordered by a number that the database gives,
-- and never by a clock.
create table numbers (last integer not null);
insert into numbers (last) values (1);
alter table operations add column wish_number integer not null default 0;
update operations set wish_number = 1 where wish is not null;
alter table signals add column number integer not null default 0;

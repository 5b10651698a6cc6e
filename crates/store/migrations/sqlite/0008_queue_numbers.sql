-- Operations that wait for a resource are ordered by a number that the database gives, and not by their ids, which
-- carry the clock of the process that made them. Those that wait already have none and come first.
alter table operations add column queue_number integer;
drop index operations_queued;
create index operations_queued on operations (resource, queue_number, id) where queued = 1;

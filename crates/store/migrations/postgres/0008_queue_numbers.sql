-- Operations that wait for a resource are ordered by a number that the database gives, and not by their ids, which
-- carry the clock of the process that made them. Those that wait already have none and come first.
create sequence queue_numbers;
alter table operations add column queue_number bigint;
-- Releases before this one name no number, and run beside this one during an upgrade.
alter table operations alter column queue_number set default nextval('queue_numbers');
drop index operations_queued;
create index operations_queued on operations (resource, queue_number nulls first, id) where queued;

-- Control requests (cancel, pause, resume, retry) are ordered by a number that the database gives, and never by
-- the clock of the process that took them.
create sequence control_request_numbers;
alter table operations add column wish_number bigint not null default 0;
update operations set wish_number = nextval('control_request_numbers') where wish is not null;

-- Releases before this one write requests without a number, and run beside this one during an upgrade.
create function number_control_request() returns trigger language plpgsql as $$
begin
    update operations set wish_number = nextval('control_request_numbers') where id = new.id;
    return null;
end
$$;
create trigger control_request_inserted after insert on operations for each row
    when (new.wish is not null and new.wish_number = 0)
    execute function number_control_request();
create trigger control_request_updated after update of wish on operations for each row
    when (new.wish is not null and new.wish is distinct from old.wish and new.wish_number = old.wish_number)
    execute function number_control_request();

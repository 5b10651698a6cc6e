-- What people call that which an operation works on. Operations of the release before have none.
alter table operations add column name text;
alter table archive    add column name text;

-- What tokens, users and sessions may do beyond their roles, for some workflows: `submit:orders.*`, with spaces between
-- them. Rows of the release before have none.
alter table tokens   add column grants text;
alter table users    add column grants text;
alter table sessions add column grants text;

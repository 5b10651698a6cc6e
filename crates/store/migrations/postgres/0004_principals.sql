-- What makes the principal of a session again: all its roles and permissions, and the proof that opened it. Rows of the
-- release before have none of it, and their sessions end.
alter table sessions add column roles            text;
alter table sessions add column permissions      text;
alter table sessions add column proof_digest     text;
alter table sessions add column proof_expires_at bigint;

-- The platform whose credential a token is, at the service broker.
alter table tokens add column platform text;

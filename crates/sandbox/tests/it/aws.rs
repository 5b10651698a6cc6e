//! EC2 and STS as their callers see them: signed forms over a socket, and XML back.

mod caller;
mod catalog;
mod failures;
mod guests;
mod keys;
mod launches;
mod limits;
mod lives;
mod roles;
mod signatures;
mod signer;
mod templates;
mod tokens;

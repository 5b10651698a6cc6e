//! AWS, as its answers look and as its failures look.

mod fake;
mod instance_request;
mod instances;
mod keys;
mod limits;
mod lists;
mod sandbox;
mod secrecy;
mod sessions;

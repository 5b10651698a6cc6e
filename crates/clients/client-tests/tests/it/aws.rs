//! AWS, as its answers look and as its failures look.

mod far;
mod instances;
mod keys;
mod limits;
mod lists;
mod order;
mod sandbox;
mod secrecy;
mod sessions;

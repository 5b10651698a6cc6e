//! The operations door in process: the real router, a real engine, a store in memory that can be broken.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod control;
mod explain;
mod letters;
mod logs;
mod malformed;
mod openapi;
mod operations;
mod service;
mod shaky_store;
mod stream;
mod tokens;
mod trouble;
mod world;

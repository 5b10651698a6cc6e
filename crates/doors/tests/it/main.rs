//! The operations door in process: the real router, a real engine, a store in memory that can be broken.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod control;
mod explain;
mod launch_api;
mod launch_description;
mod launch_identity;
mod launch_lives;
mod launch_people;
mod launch_rights;
mod launch_world;
mod letters;
mod logs;
mod malformed;
mod oidc;
mod openapi;
mod operations;
mod osb_bindings;
mod osb_catalog;
mod osb_compat;
mod osb_conformance;
mod osb_crowd;
mod osb_nonsense;
mod osb_pretend;
mod osb_progress;
mod osb_requests;
mod osb_states;
mod osb_updates;
mod osb_world;
mod runtimes;
mod runtimes_control;
mod runtimes_sweep;
mod runtimes_world;
mod serverless_api;
mod serverless_contract;
mod serverless_lives;
mod serverless_nonsense;
mod serverless_trouble;
mod serverless_world;
mod service;
mod shaky_store;
mod stream;
mod tokens;
mod trouble;
mod world;

//! The real program, as people and scripts use it.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod access;
mod background;
mod backup;
mod contexts;
mod crashes;
mod demo;
mod engine_conf;
mod full_disk;
mod guide;
mod hostile_clients;
mod ids;
mod install;
mod instances;
mod keys;
mod kills;
mod launch;
mod launch_canary;
mod launch_replicas;
mod logs;
mod operations;
mod own_workflow;
mod postgres;
mod readme;
mod replicas;
mod runtimes;
mod serverless;
mod serverless_commands;
mod serving;
mod stage;
mod start_matrix;
mod terminal;
mod tls;
mod upgrade;
mod users;
mod words;

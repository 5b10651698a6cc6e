//! Serverless runtimes: functions that devices ask for, each a VM of a OneFlow service in OpenNebula.

pub mod api;
mod cli;
pub mod client;
mod compose;
mod console;
mod engine_conf;
pub mod model;
mod orphans;
mod product;
mod settings;
pub mod workflows;

pub use self::console::pages;
pub use product::Serverless;
pub use settings::Settings;

//! Runtimes: clusters that a platform asks for through the Open Service Broker API, made by the Runtime Provisioner.

pub mod api;
pub mod backend;
mod cli;
mod client;
mod clients;
mod compose;
mod console;
mod dry_run;
pub mod model;
mod no_provisioner;
mod product;
mod settings;
pub mod workflows;

pub use self::console::pages;
pub use clients::Clients;
pub use product::Runtimes;
pub use settings::Settings;

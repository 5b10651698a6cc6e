//! Launches: one saga from an image build to running instances in a cloud account.

pub mod api;
mod brokers;
mod cli;
mod client;
mod clouds;
mod compose;
mod console;
mod csv;
mod image_events;
pub mod model;
mod product;
mod settings;
pub mod workflows;

pub use self::console::pages;
pub use product::LaunchProduct;
pub use settings::Settings;

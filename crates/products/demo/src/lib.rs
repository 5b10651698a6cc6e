//! A demonstration of a workflow: it asks a greeter over HTTP, waits, and writes a letter.

mod no_greeter;
mod product;
mod settings;
pub mod workflows;

pub use product::Demo;
pub use settings::Settings;

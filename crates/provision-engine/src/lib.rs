//! The program as a library, for its binary and for the benchmark: its products, and the demonstration of all of them.

mod demo;
#[cfg(test)]
mod tests;

use ::app::App;

use ::demo::Demo;
use ::launch::Launch;
use ::runtimes::Runtimes;
use ::serverless::Serverless;

pub use ::app::{Config, House, listener, output};
pub use demo::{device, platform};

/// The program with its products, in the order of their settings, workflows and commands.
pub fn app() -> App {
    App::new("provision-engine")
        .commands_first(demo::commands)
        .product::<Demo>()
        .product::<Runtimes>()
        .product::<Serverless>()
        .product::<Launch>()
}

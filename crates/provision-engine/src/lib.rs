//! The program as a library, for its binary and for the benchmark: its products, and the demonstration of all of them.

mod demo;
#[cfg(test)]
mod tests;

use ::app::App;

use ::demo::Demo;
use ::launch::LaunchProduct;
use ::runtimes::Runtimes;
use ::serverless::Serverless;

pub use ::app::{ComposedEngine, Config, listener, output};
pub use demo::{demo_client, platform};

/// The program with its products, in the order of their settings, workflows and commands.
pub fn app() -> App {
    App::new("provision-engine")
        .commands_first(demo::commands)
        .product::<Demo>()
        .product::<Runtimes>()
        .product::<Serverless>()
        .product::<LaunchProduct>()
}

//! The program as a library, for its binary and for the benchmark: it serves, and it talks to a running server.

mod app;
mod background;
mod cli;
mod client;
mod cmd;
mod commands;
mod compose;
mod config;
mod demo;
mod exit;
mod key_file;
pub mod listener;
mod logs;
pub mod output;
mod paths;
pub mod product;
mod products;
mod prompt;
mod signals;

use crate::products::demo::Demo;
use crate::products::launch::Launch;
use crate::products::runtimes::Runtimes;
use crate::products::serverless::Serverless;

pub use crate::app::App;
pub use crate::cli::Global;
pub use crate::commands::Commands;
pub use crate::compose::{House, Systems};
pub use crate::config::Config;
pub use crate::demo::{device, platform};
pub use crate::exit::Exit;
pub use crate::paths::DataDir;

/// The program with its products, in the order of their settings and workflows.
pub fn app() -> App {
    App::new("provision-engine")
        .commands_first(demo::commands)
        .product::<Demo>()
        .product::<Runtimes>()
        .product::<Serverless>()
        .product::<Launch>()
}

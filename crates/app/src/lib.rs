//! The platform as a library: `App`, a program that is made of products, and `trait Product`.

mod app;
mod background;
pub mod cli;
pub mod client;
pub mod cmd;
pub mod commands;
pub mod compose;
pub mod config;
pub mod exit;
pub mod key_file;
pub mod listener;
pub mod logs;
pub mod output;
pub mod paths;
pub mod product;
pub mod prompt;
pub mod signals;

pub use app::App;
pub use cli::Global;
pub use commands::Commands;
pub use compose::{House, Systems};
pub use config::Config;
pub use exit::Exit;
pub use product::Product;

//! The platform as a library: `App`, a program that is made of products, and `trait Product`.

mod app;
mod background;
pub mod cli;
pub mod client;
pub mod cmd;
pub mod commands;
pub mod compose;
pub mod config;
pub mod contexts;
pub mod exit;
pub mod given;
pub mod hint;
mod in_process;
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
pub use compose::{ComposedEngine, Systems};
pub use config::Config;
pub use exit::Exit;
pub use in_process::InProcess;
pub use product::Product;

/// What the file of a product needs.
pub mod prelude {
    pub use std::sync::Arc;

    pub use ::config::{HttpUrl, Preset, Section, SectionReader, Setting, ValueKind, set};
    pub use anyhow::{Context, Result, bail, ensure};
    pub use async_trait::async_trait;
    pub use clap::Args;
    pub use console::Pages;
    pub use engine::EngineBuilder;

    pub use crate::output::note;
    pub use crate::product::{Platform, Product};
    pub use crate::{App, Commands, Config, Exit, Global, InProcess};
}

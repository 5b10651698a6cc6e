//! The program as a library, for its binary and for the benchmark: it serves, and it talks to a running server.

mod app;
mod background;
mod broker;
mod cli;
mod client;
mod cmd;
mod compose;
mod config;
mod exit;
mod key_file;
mod launching;
pub mod listener;
mod logs;
pub mod output;
mod paths;
pub mod product;
mod products;
mod serverless;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::cmd::server;
use crate::exit::Exit;
use crate::products::demo::Demo;
use crate::products::launch::Launch;
use crate::products::runtimes::Runtimes;
use crate::products::serverless::Serverless;

pub use crate::app::App;
pub use crate::cmd::{device, platform};
pub use crate::compose::{House, Systems};
pub use crate::config::Config;
pub use crate::paths::DataDir;

/// The program with its products, in the order of their settings and workflows.
pub fn app() -> App {
    App::new().product::<Demo>().product::<Runtimes>().product::<Serverless>().product::<Launch>()
}

/// Does what the command line of this process says.
pub fn run() -> ExitCode {
    if let Some(words) = server::words(std::env::args_os()) {
        return answer(server::run(&words));
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            // Help goes to stdout and is no error; anything else is, and 2 is taken by checks.
            let exit = if usage.use_stderr() { Exit::ERROR } else { Exit::GOOD };
            let _ = usage.print();
            return exit.into();
        }
    };
    answer(cmd::run(&cli))
}

fn answer(ran: anyhow::Result<Exit>) -> ExitCode {
    match ran {
        Ok(exit) => exit.into(),
        Err(error) => cmd::report(&error).into(),
    }
}

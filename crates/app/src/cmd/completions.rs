//! `completions`: what a shell needs to complete our commands.

use anyhow::Result;
use clap::Args;
use clap_complete::Shell;

use crate::cli::{Cli, Global};
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  provision-engine completions bash > ~/.local/share/bash-completion/completions/provision-engine
  provision-engine completions zsh > \"${fpath[1]}/_provision-engine\"
  provision-engine completions fish > ~/.config/fish/completions/provision-engine.fish";

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(global: &Global, args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(&global.app), global.app.name, &mut script);
    output::data(&String::from_utf8(script)?)?;
    Ok(Exit::GOOD)
}

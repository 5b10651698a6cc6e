//! `man`: the manual pages, generated from the same texts as `--help`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::reference::reference;
use crate::cli::{Cli, Global};
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  provision-engine man | man -l -                          read the main page
  provision-engine man --dir ~/.local/share/man/man1       install all pages";

/// Print the manual page, or write all of them to a directory
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Where to write one page for each command
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Print the reference of all commands, in Markdown
    #[arg(long, conflicts_with = "dir")]
    markdown: bool,
}

pub fn run(global: &Global, args: &ManArgs) -> Result<Exit> {
    if args.markdown {
        output::data(&reference(Cli::command(&global.app)))?;
        return Ok(Exit::GOOD);
    }
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command(&global.app)).render(&mut page)?;
        output::data(&String::from_utf8(page)?)?;
        return Ok(Exit::GOOD);
    };
    let written =
        std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(&global.app), dir));
    written.with_context(|| format!("cannot write the pages to {}", dir.display()))?;
    output::note(format!("the pages are in {}", dir.display()));
    Ok(Exit::GOOD)
}

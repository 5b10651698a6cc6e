//! `provision-engine-server`: the same program under the name that scripts for the COGNIT Provisioning Engine
//! call, with their three words.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::Result;
use clap::{Parser, Subcommand};

use super::background::{self, RestartArgs, StartArgs, StopArgs};
use crate::app::App;
use crate::background::{StartResult, Stopped};
use crate::cli::Global;
use crate::exit::Exit;
use crate::output;

const NAME: &str = "provision-engine-server";
const USAGE: &str = "Usage: provision-engine-server {start|stop|restart} <debug>";

#[derive(Debug, Parser)]
struct ServerTexts {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Start(StartArgs),
    Stop(StopArgs),
    Restart(RestartArgs),
}

/// The words after the name, if this process was called by that name.
pub fn words(arguments: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let mut arguments = arguments;
    let name = arguments.next()?;
    (Path::new(&name).file_name() == Some(OsStr::new(NAME))).then(|| arguments.collect())
}

/// The same command in our own words.
fn command(words: &[OsString]) -> Option<ServerTexts> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let (word, more): (&str, &[&str]) = match words.as_slice() {
        [word @ ("start" | "stop" | "restart")] => (word, &[]),
        [word @ ("start" | "restart"), "debug"] => (word, &["--log-level", "debug"]),
        _ => return None,
    };
    ServerTexts::try_parse_from(["provision-engine", word].iter().chain(more)).ok()
}

pub fn run(app: &App, words: &[OsString]) -> Result<Exit> {
    let Some(ServerTexts { global, command }) = command(words) else {
        output::data(USAGE)?;
        return Ok(Exit::ERROR);
    };
    let global = Global { app: app.clone(), ..global };
    let (said, exit) = match &command {
        Command::Start(args) => match background::begin(&global, args)? {
            StartResult::Now(_) => (format!("{NAME} started"), Exit::GOOD),
            StartResult::Already(running) => {
                (format!("{NAME} is already running (pid {})", running.pid), Exit::ERROR)
            }
        },
        Command::Stop(args) => match background::end(&global, args)? {
            Stopped::Now { .. } | Stopped::Killed { .. } => (format!("{NAME} stopped"), Exit::GOOD),
            Stopped::WasNotRunning => (format!("{NAME} is not running"), Exit::ERROR),
        },
        Command::Restart(args) => {
            background::begin_again(&global, args)?;
            (format!("{NAME} started"), Exit::GOOD)
        }
    };
    output::data(&said)?;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_name_of_the_program_decides() {
        let called = |arguments: &[&str]| words(owned(arguments).into_iter());
        assert_eq!(called(&["provision-engine-server", "start"]), Some(owned(&["start"])));
        assert_eq!(called(&["/usr/local/bin/provision-engine-server"]), Some(Vec::new()));
        assert_eq!(called(&["./provision-engine", "start"]), None);
        assert_eq!(called(&[]), None);
    }

    #[test]
    fn only_its_three_words_are_understood() {
        for good in [&["start"][..], &["stop"], &["restart"], &["start", "debug"], &["restart", "debug"]] {
            assert!(command(&owned(good)).is_some(), "{good:?}");
        }
        for bad in
            [&[][..], &["status"], &["start", "--sandbox"], &["stop", "debug"], &["--help"], &["Start"]]
        {
            assert!(command(&owned(bad)).is_none(), "{bad:?}");
        }
        let debug = command(&owned(&["start", "debug"])).unwrap();
        assert_eq!(debug.global.log_level.as_deref(), Some("debug"));
    }
}

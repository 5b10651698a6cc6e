//! The command line: commands, help, and the settings that flags override.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use ::config::{in_own_name, is_renamed};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser};

use crate::app::App;
use crate::commands::Commands;
use crate::config::{Config, ConfigError, SettingError, Warning};
use crate::exit::Exit;
use crate::hint::Call;
use crate::output::Format;

const EXAMPLES: &str = "\
Examples:
  provision-engine demo                                 see everything at work
  provision-engine serve --sandbox                      serve on 127.0.0.1:1337
  provision-engine operations submit demo.hello --wait  run one operation
  provision-engine explain ID                           why is it not finished?

Exit codes:
  0    success
  1    an error
  2    a wrong command line
  3    the operation failed
  4    the wait timed out; the operation continues
  5    conflict: the resource is busy, or the operation is in another phase
  6    permission denied
  7    a check found something: `check`, `sources status`, `serverless orphans`
  130  interrupted with Ctrl-C; a running operation continues

Data goes to stdout, everything else to stderr.";

/// Creates clusters, cloud instances and functions exactly once, and undoes them when a step fails.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
struct Root {
    #[command(flatten)]
    global: Global,
}

/// A command line that was understood.
pub struct Cli {
    pub global: Global,
    commands: Commands,
    matches: ArgMatches,
}

impl Cli {
    /// The grammar of a program's command line.
    pub fn command(app: &App) -> Command {
        let command = app.commands().below(Root::command().name(app.name));
        if is_renamed() { in_its_name(command) } else { command }
    }

    pub fn parse(
        app: &App,
        words: impl IntoIterator<Item: Into<OsString> + Clone>,
    ) -> Result<Cli, clap::Error> {
        let matches = Cli::command(app).try_get_matches_from(words)?;
        let global = Global { app: app.clone(), ..Global::from_arg_matches(&matches)? };
        Call { name: app.name, flags: server_flags(&matches) }.remember();
        Ok(Cli { global, commands: app.commands(), matches })
    }

    pub fn run(&self) -> anyhow::Result<Exit> {
        self.commands.run(&self.global, &self.matches)
    }
}

/// Examples and variables of the environment, written for the platform, as this program calls them.
fn in_its_name(mut command: Command) -> Command {
    if let Some(help) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(in_own_name(&help));
    }
    let own = |arg: Arg| match arg.get_env().and_then(OsStr::to_str).map(in_own_name) {
        // The parser keeps names for as long as the process lives.
        Some(name) => arg.env(&*name.leak()),
        None => arg,
    };
    command.mut_args(own).mut_subcommands(in_its_name)
}

/// The flags on the command line that lead to a server. Those of the environment hold for further commands anyway.
fn server_flags(matches: &ArgMatches) -> Vec<(&'static str, String)> {
    let flags = [
        ("config", "--config"),
        ("engine_conf", "--engine-conf"),
        ("data_dir", "--data-dir"),
        ("server", "--server"),
        ("context", "--context"),
    ];
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let value = |id: &str| matches.get_raw(id)?.next().map(|value| value.to_string_lossy().into_owned());
    flags
        .into_iter()
        .filter(|(id, _)| is_given(id))
        .filter_map(|(id, flag)| Some((flag, value(id)?)))
        .collect()
}

/// Flags that every command knows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The configuration file; `config reference` says where it is looked for
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The `engine.conf` to read below it; else that of the installation, if there is one
    #[arg(long, global = true, value_name = "FILE")]
    pub engine_conf: Option<PathBuf>,

    /// The directory in which the engine keeps everything
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<String>,

    /// What is logged: a level, or pairs such as `engine=debug,info`
    #[arg(long, global = true, value_name = "FILTER")]
    pub log_level: Option<String>,

    /// The output format
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        env = "PROVISION_ENGINE_OUTPUT",
        default_value = "table",
        hide_default_value = true,
        hide_env_values = true
    )]
    pub output: Format,

    /// The server of this name, stored by `login`; else the current one, unless --server or --data-dir is given
    #[arg(
        long,
        global = true,
        value_name = "CONTEXT",
        env = "PROVISION_ENGINE_CONTEXT",
        hide_env_values = true
    )]
    pub context: Option<String>,

    /// The server to talk to; else that of the context, of the data directory, or `http://127.0.0.1:1337`
    #[arg(long, global = true, value_name = "URL", env = "PROVISION_ENGINE_SERVER", hide_env_values = true)]
    pub server: Option<String>,

    /// The token to show to the server; else that of the context, or `admin.token` of the data directory
    #[arg(long, global = true, value_name = "TOKEN", env = "PROVISION_ENGINE_TOKEN", hide_env_values = true)]
    pub token: Option<String>,

    /// The program whose command line this is.
    #[arg(skip)]
    pub app: App,
}

/// A setting and the text that a flag gives it.
pub type Flag = (String, String);

/// From now on outgoing connections trust the authorities of the configuration too.
fn trust(config: &Config) -> Result<(), ConfigError> {
    const PATH: &str = "tls.ca_file";
    let Some(file) = &config.server.ca_file else { return Ok(()) };
    let read = std::fs::read(file).map_err(|error| error.to_string());
    read.and_then(|pem| ::http_client::trust(&pem)).map_err(|why| {
        let message = format!("cannot use {}: {why}", file.display());
        let origin = config.origins().of(PATH).cloned();
        ConfigError::of(vec![SettingError { origin, path: PATH.into(), message }])
    })?;
    store::trust(file.clone());
    Ok(())
}

impl Global {
    /// The configuration with these and further flags laid over it.
    pub fn load(&self, more: &[Flag]) -> Result<(Config, Vec<Warning>), ConfigError> {
        let mut flags = more.to_vec();
        for (path, value) in [("data_dir", &self.data_dir), ("log.level", &self.log_level)] {
            flags.extend(value.as_ref().map(|value| (path.to_owned(), value.clone())));
        }
        let (config, engine_conf) = (self.config.as_deref(), self.engine_conf.as_deref());
        let loaded = self.app.load_installed(config, engine_conf, crate::config::environment(), &flags)?;
        trust(&loaded.0)?;
        Ok(loaded)
    }

    /// The same flags for another process of this program.
    pub fn pass_on(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.clone().into_os_string());
        let data_dir = self.data_dir.as_ref().map(OsString::from);
        let log_level = self.log_level.as_ref().map(OsString::from);
        let flags = [
            ("--config", path(&self.config)),
            ("--engine-conf", path(&self.engine_conf)),
            ("--data-dir", data_dir),
            ("--log-level", log_level),
        ];
        for (flag, value) in flags {
            arguments.extend(value.into_iter().flat_map(|value| [flag.into(), value]));
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_output_variable_counts_as_not_set() {
        let cli = Cli::parse(&App::new("provision-engine"), ["provision-engine", "steps", "-o", ""]).unwrap();
        assert_eq!(cli.global.output, Format::Table);
    }
}

//! `launch`: builds an image if need be, and launches it.

mod draft;
mod file;
mod image;
mod key;
mod parameters;
mod wizard;

use std::io::IsTerminal;

use crate::model::cloud::ProviderKind;
use crate::model::profile::ProfileName;
use anyhow::Result;
use api::client::CallError;
use clap::Args;
use clap::builder::PossibleValuesParser;

use self::draft::Draft;
use self::image::ImageArgs;
use self::wizard::Wizard;
use super::launches::{Follow, LaunchPrinter, conclude, print_for_scripts, way_back};
use crate::client::{LaunchClient, LaunchDetails, OrgArgs};
use app::cli::Global;
use app::cmd::wait::{WaitResult, unless_stopped};
use app::config::Period;
use app::exit::Exit;
use app::hint;
use app::output::{self, Format, note, printable};
use app::prompt::{Asker, is_interactive};

pub(crate) use file::typed;
pub(crate) use key::{key_in_file, named as key_named};
pub(crate) use parameters::ParameterArgs;
pub(crate) use wizard::home;

/// Two hours to build, and one for everything else.
const LIMIT: Period = Period::hours(3);

const EXAMPLES: &str = "\
Examples:
  provision-engine launch
  provision-engine launch --image ami-0123456789abcdef0 --source 7 --type t3.small \\
      --key ~/.ssh/id_ed25519.pub --count 2 --wait
  provision-engine launch --distribution rhel-9 --package nginx --source 7 --type t3.small \\
      --key mine
  provision-engine launch --provider gcp --image projects/P/global/images/web --source 8 \\
      --region us-central1-a --type e2-medium --key mine
  provision-engine launch --build request.yaml --deferred
  provision-engine launch -f launch.yaml --idempotency-key order-17

On a terminal it asks for what is missing and shows the progress of the launch. Elsewhere it
asks nothing, and waits only with --wait. Ctrl-C stops waiting: the launch
continues, unless its profile has detach=cancel.";

/// Build an image if need be, launch it, and print how to log in
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LaunchArgs {
    /// The cloud [default: aws]
    #[arg(long, value_name = "PROVIDER", value_parser = providers())]
    provider: Option<String>,
    #[command(flatten)]
    image: ImageArgs,
    #[command(flatten)]
    parameters: ParameterArgs,
    /// Build now, and say later where and how to launch, with `launches parameters`
    #[arg(long)]
    deferred: bool,
    /// How the launch behaves: who says that the image is ready, and where it is shown [default: as configured]
    #[arg(long, value_name = "PROFILE", value_parser = PossibleValuesParser::new(ProfileName::ALL.map(ProfileName::as_str)))]
    profile: Option<String>,
    /// A single point of the profile, such as partial=keep; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,
    /// The whole request in YAML or JSON, - for stdin; flags count more
    #[arg(long, short, value_name = "FILE")]
    file: Option<String>,
    /// The same key with the same request is the same launch [default: a new UUID]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Do not ask for confirmation after the questions
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    org: OrgArgs,
}

#[derive(Debug, Args)]
struct WaitArgs {
    /// Wait until it is over; exit code 3 when it failed [default: on a terminal]
    #[arg(long, short, overrides_with = "no_wait")]
    wait: bool,
    /// Do not wait
    #[arg(long)]
    no_wait: bool,
    /// How long to wait at most; exit code 4 when the time is over
    #[arg(long, value_name = "TIME", default_value_t = LIMIT)]
    timeout: Period,
}

impl WaitArgs {
    /// A command does not wait for parameters that its own user has yet to give, unless told to.
    fn waits(&self, draft: &Draft) -> bool {
        self.wait || (!self.no_wait && !draft.is_deferred() && std::io::stderr().is_terminal())
    }
}

/// Every cloud that lists and catalogs know.
pub(crate) fn providers() -> PossibleValuesParser {
    PossibleValuesParser::new(ProviderKind::ALL.map(ProviderKind::as_str))
}

pub(crate) async fn run(global: &Global, args: &LaunchArgs) -> Result<Exit> {
    let client = &LaunchClient::find(global, &args.org)?;
    let mut draft = Draft::read(args, client).await?;
    if !draft.missing().is_empty() && is_interactive() {
        if !ask(client, &mut draft, args.yes).await? {
            note("nothing was launched");
            return Ok(Exit::ERROR);
        }
    } else {
        draft.must_be_whole()?;
    }
    let launch = submit(client, &draft, args.idempotency_key.as_deref()).await?;
    let name = launch.id.to_string();
    if global.output == Format::Name {
        // Before the wait, so that a wait that is broken off has said what it waited for.
        output::data(&name)?;
    }
    if !args.waiting.waits(&draft) {
        accepted(global, &launch, draft.is_deferred())?;
        return Ok(Exit::GOOD);
    }
    note(format!("launch {name} is accepted"));
    let follow = Follow { name: &name, before: None, limit: Some(args.waiting.timeout) };
    match unless_stopped(follow.to_the_end(client, &mut LaunchPrinter::new())).await? {
        WaitResult::With(over) => conclude(global, &over),
        WaitResult::Left(exit) => {
            close_window(client, &name).await;
            Ok(exit)
        }
    }
}

async fn ask(client: &LaunchClient, draft: &mut Draft, is_meant: bool) -> Result<bool> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stderr());
    let asker = Asker::new(&mut input, &mut output);
    Wizard::new(client, asker, draft).fill(is_meant).await
}

async fn submit(client: &LaunchClient, draft: &Draft, key: Option<&str>) -> Result<LaunchDetails> {
    let request = draft.finished(client).await?;
    let new_key = || uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string();
    let key = key.map_or_else(new_key, str::to_owned);
    let launched = client.create(&request, &key).await;
    if launched.as_ref().is_err_and(is_open) {
        note(format!(
            "the launch may be on its way: ask for the same with --idempotency-key {}",
            printable(&key)
        ));
    }
    Ok(launched?)
}

/// Whether the launch may be under way although no good answer came.
fn is_open(error: &CallError) -> bool {
    matches!(error, CallError::Lost { .. }) || matches!(error.status(), Some(500 | 504))
}

fn accepted(global: &Global, launch: &LaunchDetails, is_deferred: bool) -> Result<()> {
    let id = launch.id;
    match global.output {
        Format::Name => return Ok(()),
        Format::Json | Format::Yaml => print_for_scripts(global, launch)?,
        Format::Table | Format::Wide => output::data(&id.to_string())?,
    }
    if is_deferred {
        let submit_parameters = format!("launches parameters {id} --source ID --type TYPE --key KEY");
        note(format!("say where and how: {}", hint::command(&submit_parameters)));
    }
    note(format!("launch {id} is accepted; follow it: {}", way_back(&id.to_string())));
    Ok(())
}

/// What an unwatched launch does is in its profile.
async fn close_window(client: &LaunchClient, name: &str) {
    match client.ask(name, "detach").await {
        Ok(launch) if launch.ends_with_its_window() => {
            note(format!("launch {name} is being cancelled, as its profile says"));
        }
        Ok(_) => note(format!("it continues in the background; follow it with: {}", way_back(name))),
        Err(error) => {
            let show = hint::command(&format!("launches show {name}"));
            note(format!("{error}; look at it with: {show}"));
        }
    }
}

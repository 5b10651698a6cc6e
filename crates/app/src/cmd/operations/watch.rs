//! `operations watch`: follows the journal of an operation.

use std::time::Duration;

use anyhow::Result;
use api::types::{End, JournalEntry, Phase};
use clap::Args;
use uuid::Uuid;

use super::wait::{Goal, Notice, patient, way_back};
use crate::cli::Global;
use crate::client::PlatformClient;
use crate::cmd::wait::{WaitResult, or_come_back};
use crate::config::Period;
use crate::exit::{Exit, TimedOut};
use crate::output::{self, Format, local, note, printable};

/// How long a watcher looks for a server that went away.
const AWAY_LIMIT: Duration = Duration::from_secs(120);
/// A stream that the server ended is opened again after this long.
const BEFORE_REOPENING: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  provision-engine operations watch ID
  provision-engine operations watch ID -o json | jq .text";

/// Follow an operation to its end; exit code 3 when it did not succeed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WatchArgs {
    /// The operation: its id, or the beginning or end of it
    #[arg(value_name = "OPERATION")]
    id: String,
    /// How long to watch at most; exit code 4 when the time is over
    #[arg(long, value_name = "TIME")]
    timeout: Option<Period>,
}

pub(super) async fn run(global: &Global, args: &WatchArgs, client: &PlatformClient) -> Result<Exit> {
    let id = client.find_operation(&args.id).await?;
    match follow(global.output, client, id, args.timeout).await? {
        WaitResult::With(phase) => Ok(Goal::Success.exit(phase)),
        WaitResult::Left(exit) => Ok(exit),
    }
}

/// Prints every event until the operation is finished, and says how it ended. A lost connection is opened
/// again after the last event that came, so that none is missed and none is shown twice.
pub async fn follow(
    format: Format,
    client: &PlatformClient,
    id: Uuid,
    limit: Option<Period>,
) -> Result<WaitResult<Phase>> {
    let way_back = way_back(id);
    or_come_back(&way_back, async {
        let following = follow_for_ever(format, client, id);
        let Some(limit) = limit else { return following.await };
        tokio::time::timeout(limit.get(), following).await.unwrap_or_else(|_| {
            let text = format!(
                "operation {id} is not finished after {limit}; it continues in the background: {way_back}"
            );
            Err(TimedOut(text).into())
        })
    })
    .await
}

async fn follow_for_ever(format: Format, client: &PlatformClient, id: Uuid) -> Result<Phase> {
    let (mut last, notice) = (0, Notice::default());
    loop {
        let open = async || client.events(id, last).await;
        let mut events =
            client.http.retry(patient(AWAY_LIMIT), open, |updates| notice.updates(&updates)).await?;
        loop {
            match events.next().await {
                Ok(Some(message)) if message.event == "end" => {
                    let End { phase } = events.json(&message)?;
                    if matches!(format, Format::Name) {
                        output::data(phase.as_str())?;
                    }
                    return Ok(phase);
                }
                // The name of an event is its kind, and a newer server may know more kinds than we do.
                Ok(Some(message)) => {
                    let entry: JournalEntry = events.json(&message)?;
                    last = entry.seq;
                    print(format, &entry)?;
                }
                Ok(None) => break,
                Err(error) if !error.may_heal() => return Err(error.into()),
                Err(_) => {
                    note("the connection was lost; opening it again");
                    break;
                }
            }
        }
        tokio::time::sleep(BEFORE_REOPENING).await;
        client.http.relocate();
    }
}

fn print(format: Format, entry: &JournalEntry) -> Result<()> {
    match format {
        Format::Table => output::data(&format!("{}  {}", local(entry.at.0), printable(&entry.text))),
        Format::Wide => {
            output::data(&format!("{}  {:<9}  {}", local(entry.at.0), entry.kind, printable(&entry.text)))
        }
        Format::Json | Format::Yaml => output::print_item(format, entry),
        Format::Name => Ok(()),
    }
}

//! `keys`: the key ring that encrypts secrets in the database.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use engine::secret::{KeyRing, SealedCount, SecretError, SharedRing, count_sealed};
use engine::{Clock, Timestamp, WallClock};
use serde::Serialize;
use server::ToWire as _;

use super::operations::ago;
use crate::cli::Global;
use crate::cmd;
use crate::compose::{DatabaseReader, known_ring};
use crate::config::Config;
use crate::exit::Exit;
use crate::hint;
use crate::key_file::KeyFile;
use crate::output::{self, Cell, Render, Table, note};
use crate::paths::DataDir;
use crate::prompt::is_meant;

const EXAMPLES: &str = "\
Examples:
  provision-engine keys list
  provision-engine keys rotate
  provision-engine keys forget k1-0a1b2c3d --reseal
  provision-engine keys forget k1-0a1b2c3d

Servers on one PostgreSQL database share the ring through it, unless `secrets.key_ring` names a file.";

/// Look at the key ring and change it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// List all keys, newest first
    #[command(after_help = "Examples:\n  provision-engine keys list")]
    List,
    /// Add a new key and seal with it from now on; older keys still open what they sealed
    #[command(after_help = "Examples:\n  provision-engine keys rotate")]
    Rotate,
    /// Delete a key for ever; refused while anything saved is sealed with it
    #[command(after_help = "Examples:\n  provision-engine keys forget k1-0a1b2c3d --reseal\n  \
                      provision-engine keys forget k1-0a1b2c3d --yes")]
    Forget(ForgetArgs),
}

#[derive(Debug, Args)]
struct ForgetArgs {
    /// The id of the key
    id: String,
    /// Keep the key, and let the running servers seal again with the active key what it sealed
    #[arg(long)]
    reseal: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// How long after a rotation older keys are kept: longer than every server takes to see the new key, and longer
/// than a request takes that began before.
const SETTLED_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize)]
struct KeyList {
    items: Vec<KeyLine>,
}

#[derive(Debug, Serialize)]
struct KeyLine {
    id: String,
    /// Whether this is the one that seals.
    active: bool,
    /// Whether running servers seal again what it sealed.
    retiring: bool,
    /// When it began to seal, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
}

impl From<&KeyRing> for KeyList {
    fn from(ring: &KeyRing) -> KeyList {
        let key = |id: &str| KeyLine {
            id: id.to_owned(),
            active: id == ring.active(),
            retiring: ring.retiring().any(|retiring| retiring == id),
            since: ring.since(id),
        };
        KeyList { items: ring.ids().map(key).collect() }
    }
}

impl Render for KeyList {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let when = |at: Timestamp| if is_wide { format!("{}", at.to_wire()) } else { ago(now, at.to_wire()) };
        let mut table = Table::new(["KEY", "USE", "SEALS SINCE"]);
        for key in &self.items {
            table.row([
                key.id.as_str().into(),
                Cell::new(match (key.active, key.retiring) {
                    (true, _) => "seals and opens",
                    (false, true) => "opens; what it sealed is sealed again",
                    (false, false) => "opens",
                }),
                Cell::maybe(key.since.map(when)),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|key| key.id.clone()).collect()
    }
}

pub async fn run(global: &Global, args: &KeysArgs) -> Result<Exit> {
    let (config, warnings) = global.load(&[])?;
    cmd::warn(&warnings);
    let file = KeyFile::new(&config.secrets.key_ring);
    let keys = match &args.command {
        KeysCommand::List => {
            let ring = file.read()?;
            if ring.is_none() {
                note(format!(
                    "there is no key ring at {} yet: the first start makes it",
                    file.path().display()
                ));
            }
            ring.as_ref().map_or(KeyList { items: Vec::new() }, KeyList::from)
        }
        KeysCommand::Rotate => {
            DataDir::new(&config.data_dir).create()?;
            let keys = file.change(|ring| {
                let ring = ring.map_or_else(KeyRing::generate, rotated);
                let keys = KeyList::from(&ring);
                Ok((ring, keys))
            })?;
            note("a new key seals from now on; running servers use it within about ten seconds");
            keys
        }
        KeysCommand::Forget(args) => {
            let Some(keys) = forget(&config, &file, args).await? else { return Ok(Exit::ERROR) };
            keys
        }
    };
    output::print(global.output, &keys)?;
    Ok(Exit::GOOD)
}

fn rotated(mut ring: KeyRing) -> KeyRing {
    ring.rotate(WallClock.now());
    ring
}

/// `None` when the answer to the question was no.
async fn forget(config: &Config, file: &KeyFile, args: &ForgetArgs) -> Result<Option<KeyList>> {
    let id = args.id.as_str();
    let database = DatabaseReader::open(&config.store).await?;
    let known = known_ring(config, &database).await?;
    let change = |change: &dyn Fn(&mut KeyRing) -> Result<(), SecretError>| {
        file.change(|local| {
            let mut ring = known.clone();
            if let Some(local) = &local {
                ring.merge(local);
            }
            change(&mut ring)?;
            let keys = KeyList::from(&ring);
            Ok((ring, keys))
        })
    };
    if !known.ids().any(|known| known == id) {
        bail!("the key ring has no key {id:?}; `{}` shows them", hint::command("keys list"));
    }
    if args.reseal {
        let keys = change(&|ring| ring.retire(id))?;
        note(format!("running servers seal again what {id} sealed; then run `keys forget {id}`"));
        return Ok(Some(keys));
    }
    known.clone().forget(id)?;
    check_settled(&known, WallClock.now())?;
    check_unused(&database, &known, id).await?;
    if !args.yes && !is_meant(&format!("Forget key {id}? Nothing brings it back."))? {
        note("no key was forgotten");
        return Ok(None);
    }
    // The question may have been open for a while.
    check_unused(&database, &known, id).await?;
    let keys = change(&|ring| ring.forget(id))?;
    note(format!("key {id} is forgotten; running servers forget it within about ten seconds"));
    Ok(Some(keys))
}

/// A server that has not seen the last rotation, or a request that began before it, may still save what an older
/// key sealed.
fn check_settled(ring: &KeyRing, now: Timestamp) -> Result<()> {
    let Some(since) = ring.active_since() else { return Ok(()) };
    let wait = since.plus(SETTLED_AFTER).since(now).as_secs();
    if wait > 0 {
        bail!("the last rotation is too recent, older keys may still be in use: try again in {wait} seconds");
    }
    Ok(())
}

async fn check_unused(database: &DatabaseReader, ring: &KeyRing, id: &str) -> Result<()> {
    let ring = SharedRing::new(ring.clone());
    let count = count_sealed(database.saved(), &ring, id).await.context("cannot read the database")?;
    if count.total() > 0 {
        let SealedCount { operations, history, records } = count;
        bail!(
            "key {id} is still needed: it sealed {} saved values ({operations} in unfinished operations, \
             {records} in records of resources, {history} in the history of operations); `provision-engine keys \
             forget {id} --reseal` lets the running servers seal them again with the active key",
            count.total()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_forgotten_while_another_server_may_still_seal_with_it() {
        let mut ring = KeyRing::generate();
        let at = |seconds: u64| Timestamp(0).plus(Duration::from_secs(seconds));
        assert!(check_settled(&ring, at(0)).is_ok(), "there was no rotation");
        ring.rotate(at(100));
        let error = check_settled(&ring, at(110)).unwrap_err().to_string();
        assert!(error.contains("try again in 50 seconds"), "{error}");
        assert!(check_settled(&ring, at(159)).is_err());
        assert!(check_settled(&ring, at(160)).is_ok());
    }
}

//! `keys`: the ring of keys that seal secrets in the database.

use anyhow::Result;
use clap::{Args, Subcommand};
use engine::secret::KeyRing;
use serde::Serialize;

use crate::cli::Global;
use crate::exit::Exit;
use crate::key_file::KeyFile;
use crate::output::{self, Answer, Cell, Table, note};
use crate::paths::DataDir;

const EXAMPLES: &str = "\
Examples:
  provision-engine keys list
  provision-engine keys rotate
  provision-engine keys forget k1

Servers on one PostgreSQL database share the ring through it, unless `secrets.key_ring` names a file.";

/// Look at the key ring and change it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// List the ids of all keys
    List,
    /// Add a new key and seal with it from now on; older keys still open what they sealed
    Rotate,
    /// Remove a key for ever; what it sealed can never be opened again
    Forget {
        /// The id of the key
        id: String,
    },
}

#[derive(Debug, Serialize)]
struct Keys {
    items: Vec<Key>,
}

#[derive(Debug, Serialize)]
struct Key {
    id: String,
    /// Whether this is the one that seals.
    active: bool,
}

impl From<&KeyRing> for Keys {
    fn from(ring: &KeyRing) -> Keys {
        let key = |id: &str| Key { id: id.to_owned(), active: id == ring.active() };
        Keys { items: ring.ids().map(key).collect() }
    }
}

impl Answer for Keys {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::new(["KEY", "USE"]);
        for key in &self.items {
            table.row([
                key.id.as_str().into(),
                Cell::new(if key.active { "seals and opens" } else { "opens" }),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|key| key.id.clone()).collect()
    }
}

pub(crate) fn run(global: &Global, args: &KeysArgs) -> Result<Exit> {
    let (config, _) = global.load(&[])?;
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
            ring.as_ref().map_or(Keys { items: Vec::new() }, Keys::from)
        }
        KeysCommand::Rotate => {
            DataDir::new(&config.data_dir).create()?;
            let keys = file.change(|ring| {
                let ring = ring.map_or_else(KeyRing::generate, rotated);
                let keys = Keys::from(&ring);
                Ok((ring, keys))
            })?;
            note("a new key seals from now on; running servers pick it up within a minute");
            keys
        }
        KeysCommand::Forget { id } => {
            let keys = file.change(|ring| {
                let mut ring =
                    ring.ok_or_else(|| anyhow::anyhow!("there is no key ring at {}", file.path().display()))?;
                ring.forget(id)?;
                let keys = Keys::from(&ring);
                Ok((ring, keys))
            })?;
            note(format!("key {id} is forgotten; running servers forget it within a minute"));
            keys
        }
    };
    output::print(global.output, &keys)?;
    Ok(Exit::GOOD)
}

fn rotated(mut ring: KeyRing) -> KeyRing {
    ring.rotate();
    ring
}

//! `pubkeys`: public keys for logins to instances.

use crate::api::wire::PublicKeyResponse;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::launch::{key_in_file, key_named};
use crate::client::{LaunchClient, OrgArgs};
use app::cli::Global;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Render, Table, note, printable};
use app::prompt::is_meant;

/// The most that is asked for in one call.
const PAGE_MAX: usize = 200;

const EXAMPLES: &str = "\
Examples:
  provision-engine pubkeys create ~/.ssh/id_ed25519.pub
  provision-engine pubkeys list
  provision-engine pubkeys show mine
  provision-engine pubkeys delete mine --yes";

/// Create, list and delete the public keys that let people into instances
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PublicKeysArgs {
    #[command(flatten)]
    org: OrgArgs,
    #[command(subcommand)]
    command: PublicKeysCommand,
}

#[derive(Debug, Subcommand)]
enum PublicKeysCommand {
    /// List public keys, newest first
    #[command(after_help = "Examples:\n  provision-engine pubkeys list -o wide")]
    List,
    /// Store a public key
    #[command(
        alias = "add",
        after_help = "Examples:\n  provision-engine pubkeys create ~/.ssh/id_ed25519.pub --name mine"
    )]
    Create(CreateArgs),
    /// Show a public key
    #[command(after_help = "Examples:\n  provision-engine pubkeys show mine")]
    Show(NameArgs),
    /// Delete a public key, also where launches have put it
    #[command(after_help = "Examples:\n  provision-engine pubkeys delete mine --yes")]
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// A file with one public key of OpenSSH, - for stdin
    file: String,
    /// What to call it [default: its comment, else the name of the file]
    #[arg(long)]
    name: Option<String>,
}

#[derive(Debug, Args)]
struct NameArgs {
    /// The key, by its name or id
    #[arg(value_name = "KEY")]
    key: String,
}

#[derive(Debug, Args)]
struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Serialize)]
struct PublicKeyTable {
    items: Vec<PublicKeyResponse>,
}

impl Render for PublicKeyTable {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["ID", "NAME", "TYPE", "FINGERPRINT"];
        columns.extend(is_wide.then_some("MD5"));
        let mut table = Table::new(columns);
        for key in &self.items {
            let name = Cell::new(&key.name);
            let mut cells = vec![
                Cell::number(key.id),
                if is_wide { name } else { name.cut(40) },
                Cell::new(&key.kind),
                Cell::new(&key.fingerprint),
            ];
            cells.extend(is_wide.then(|| Cell::new(&key.fingerprint_legacy)));
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|key| key.id.to_string()).collect()
    }

    fn if_empty(&self) -> Option<String> {
        Some(format!("no public keys; save one: {}", hint::command("pubkeys create FILE")))
    }
}

/// One key alone.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct One(PublicKeyResponse);

impl Render for One {
    fn table(&self, _is_wide: bool) -> Table {
        let PublicKeyResponse { id, name, body, kind, fingerprint, fingerprint_legacy } = &self.0;
        let mut table = Table::facts();
        let mut fact = |word: &str, text: &str| table.row([Cell::new(word), Cell::new(text)]);
        fact("id", &id.to_string());
        fact("name", name);
        fact("type", kind);
        fact("sha256", fingerprint);
        fact("md5", fingerprint_legacy);
        fact("key", body);
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.0.id.to_string()]
    }
}

pub(crate) async fn run(global: &Global, args: &PublicKeysArgs) -> Result<Exit> {
    let client = LaunchClient::find(global, &args.org)?;
    match &args.command {
        PublicKeysCommand::List => list(global, &client).await?,
        PublicKeysCommand::Create(args) => create(global, args, &client).await?,
        PublicKeysCommand::Show(args) => output::print(global.output, &One(find(&client, &args.key).await?))?,
        PublicKeysCommand::Delete(args) => return delete(args, &client).await,
    }
    Ok(Exit::GOOD)
}

async fn list(global: &Global, client: &LaunchClient) -> Result<()> {
    let (mut items, mut has_more) = (Vec::new(), true);
    while has_more {
        let (offset, limit) = (items.len().to_string(), PAGE_MAX.to_string());
        let query = [("offset", offset), ("limit", limit), ("sort", "-id".to_owned())];
        let page = client.public_keys(&query).await?;
        has_more = page.has_more(items.len());
        items.extend(page.data);
    }
    output::print(global.output, &PublicKeyTable { items })
}

async fn create(global: &Global, args: &CreateArgs, client: &LaunchClient) -> Result<()> {
    let key = client.add_public_key(&key_in_file("FILE", &args.file, args.name.as_deref())?).await?;
    note(format!("public key {} is saved as number {}", printable(&key.name), key.id));
    output::print(global.output, &One(key))
}

async fn delete(args: &DeleteArgs, client: &LaunchClient) -> Result<Exit> {
    let key = find(client, &args.name.key).await?;
    let name = printable(&key.name);
    if !args.yes && !is_meant(&format!("Delete public key {name}?"))? {
        note("nothing was deleted");
        return Ok(Exit::ERROR);
    }
    for warning in client.delete_public_key(key.id).await? {
        note(format!("warning: {}", printable(&warning)));
    }
    note(format!("public key {name} is deleted"));
    Ok(Exit::GOOD)
}

async fn find(client: &LaunchClient, given: &str) -> Result<PublicKeyResponse> {
    if let Ok(id) = given.parse() {
        return Ok(client.public_key(id).await?);
    }
    key_named(client, given).await?.with_context(|| {
        format!("no public key is called {given}; `{}` shows them", hint::command("pubkeys list"))
    })
}

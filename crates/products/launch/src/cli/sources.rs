//! `sources`: the accounts in clouds that may be used.

use std::path::PathBuf;

use crate::api::wire::{NewSource, Source, Validity};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::launch::providers;
use crate::client::{LaunchClient, OrgArgs};
use app::cli::Global;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Format, Mood, Render, Table, note, printable};
use app::prompt::is_meant;

/// The most that is asked for in one call.
const PAGE_MAX: usize = 200;
/// A secret belongs to the environment or into a file, because all users of the host can see a command line.
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";

const EXAMPLES: &str = "\
Examples:
  provision-engine sources list
  provision-engine sources create --name dev --role arn:aws:iam::123456789012:role/launcher
  provision-engine sources status 7
  provision-engine sources delete 7 --yes";

/// Manage the accounts in clouds that launches may use
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SourcesArgs {
    #[command(flatten)]
    org: OrgArgs,
    #[command(subcommand)]
    command: SourcesCommand,
}

#[derive(Debug, Subcommand)]
enum SourcesCommand {
    /// List the accounts that may be used
    #[command(after_help = "Examples:\n  provision-engine sources list --provider aws")]
    List(ListArgs),
    /// Register an account in a cloud; its credentials are encrypted and never shown
    #[command(alias = "add", after_help = CREATE_EXAMPLES)]
    Create(CreateArgs),
    /// Check the permissions of an account for launches; exit code 7 when one is missing
    #[command(after_help = "Examples:\n  provision-engine sources status 7 --region eu-west-1")]
    Status(StatusArgs),
    /// Delete an account here; launches that still need it will fail
    #[command(after_help = "Examples:\n  provision-engine sources delete 7 --yes")]
    Delete(DeleteArgs),
}

const CREATE_EXAMPLES: &str = "\
Examples:
  provision-engine sources create --name dev --role arn:aws:iam::123456789012:role/launcher
  provision-engine sources create --name lab --access-key-id AKIA… --secret-file secret
  provision-engine sources create --name az --provider azure --subscription UUID";

#[derive(Debug, Args)]
struct ListArgs {
    /// Only those at this provider
    #[arg(long, value_name = "PROVIDER", value_parser = providers())]
    provider: Option<String>,
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// What to call it
    #[arg(long)]
    name: String,
    /// The cloud
    #[arg(long, value_name = "PROVIDER", default_value = "aws", value_parser = providers())]
    provider: String,
    /// AWS: the role to take in the account
    #[arg(long, value_name = "ARN", conflicts_with_all = ["access_key_id", "subscription", "project"])]
    role: Option<String>,
    /// AWS: the external id that the role demands
    #[arg(long, value_name = "ID", requires = "role")]
    external_id: Option<String>,
    /// AWS: the id of a key; its secret comes from --secret-file or `AWS_SECRET_ACCESS_KEY`
    #[arg(long, value_name = "ID", conflicts_with_all = ["subscription", "project"])]
    access_key_id: Option<String>,
    /// AWS: a file with nothing but the secret of the key
    #[arg(long, value_name = "FILE", requires = "access_key_id")]
    secret_file: Option<PathBuf>,
    /// Azure: the subscription
    #[arg(long, value_name = "ID", conflicts_with = "project")]
    subscription: Option<String>,
    /// GCP: the project
    #[arg(long, value_name = "ID")]
    project: Option<String>,
}

#[derive(Debug, Args)]
struct StatusArgs {
    /// The source
    id: String,
    /// Where to try [default: where images are built]
    #[arg(long)]
    region: Option<String>,
}

#[derive(Debug, Args)]
struct DeleteArgs {
    /// The source
    id: String,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Serialize)]
struct Sources {
    items: Vec<Source>,
}

impl Render for Sources {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["ID", "NAME", "PROVIDER", "STATUS"];
        columns.extend(is_wide.then_some("UID"));
        let mut table = Table::new(columns);
        let maybe = |text: &str| Cell::maybe(Some(text).filter(|text| !text.is_empty()));
        for source in &self.items {
            let mood = match source.status.as_str() {
                "available" => Mood::Good,
                "unavailable" => Mood::Bad,
                _ => Mood::Plain,
            };
            let mut cells = vec![
                Cell::new(&source.id),
                Cell::new(&source.name),
                Cell::new(&source.provider),
                maybe(&source.status).mood(mood),
            ];
            cells.extend(is_wide.then(|| maybe(&source.uid)));
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|source| source.id.clone()).collect()
    }

    fn if_empty(&self) -> Option<String> {
        Some(format!("no accounts; register one: {}", hint::command("sources create --name NAME")))
    }
}

pub(crate) async fn run(global: &Global, args: &SourcesArgs) -> Result<Exit> {
    let client = LaunchClient::find(global, &args.org)?;
    match &args.command {
        SourcesCommand::List(args) => list(global, args, &client).await,
        SourcesCommand::Create(args) => create(global, args, &client).await,
        SourcesCommand::Status(args) => status(global, args, &client).await,
        SourcesCommand::Delete(args) => delete(args, &client).await,
    }
}

async fn list(global: &Global, args: &ListArgs, client: &LaunchClient) -> Result<Exit> {
    let (mut items, mut has_more) = (Vec::new(), true);
    while has_more {
        let mut query = vec![("offset", items.len().to_string()), ("limit", PAGE_MAX.to_string())];
        query.extend(args.provider.clone().map(|provider| ("provider", provider)));
        let page = client.sources(&query).await?;
        has_more = page.has_more(items.len());
        items.extend(page.data);
    }
    output::print(global.output, &Sources { items })?;
    Ok(Exit::GOOD)
}

impl CreateArgs {
    /// As it is sent. `secret` is what the environment has.
    fn body(&self, secret: Option<SecretString>) -> Result<NewSource> {
        let mut body = NewSource {
            name: self.name.clone(),
            provider: self.provider.clone(),
            arn: self.role.clone(),
            external_id: self.external_id.clone(),
            access_key_id: self.access_key_id.clone(),
            secret_access_key: None,
            subscription_id: self.subscription.clone(),
            project_id: self.project.clone(),
        };
        if self.access_key_id.is_some() {
            let given = self.secret_file.as_deref().map(read_secret).transpose()?;
            let secret = given.or(secret).with_context(|| {
                format!("--access-key-id needs its secret: give --secret-file, or set {SECRET}")
            })?;
            body.secret_access_key = Some(secret.expose_secret().to_owned());
        } else if self.role.is_none() && self.subscription.is_none() && self.project.is_none() {
            bail!("what opens the account? Give --role, --access-key-id, --subscription or --project");
        }
        Ok(body)
    }
}

fn read_secret(path: &std::path::Path) -> Result<SecretString> {
    let text = SecretString::from(app::given::text("--secret-file", &path.to_string_lossy())?);
    Ok(SecretString::from(text.expose_secret().trim()))
}

async fn create(global: &Global, args: &CreateArgs, client: &LaunchClient) -> Result<Exit> {
    let secret = std::env::var(SECRET).ok().filter(|text| !text.is_empty()).map(SecretString::from);
    let source = client.add_source(&args.body(secret)?).await?;
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, &source)?,
        _ => output::data(&printable(&source.id))?,
    }
    let check = app::hint::command(&format!("sources status {}", printable(&source.id)));
    note(format!("check it: {check}"));
    Ok(Exit::GOOD)
}

/// What a check found.
#[derive(Debug, Serialize)]
struct Checked {
    #[serde(flatten)]
    source: Source,
    #[serde(flatten)]
    validity: Validity,
}

impl Render for Checked {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::facts();
        let mut fact = |word: &str, cell: Cell| table.row([Cell::new(word), cell]);
        fact("source", Cell::new(format!("{} ({})", self.source.id, self.source.name)));
        fact("provider", Cell::new(&self.source.provider));
        let (word, mood) = if self.validity.valid { ("yes", Mood::Good) } else { ("no", Mood::Bad) };
        fact("can launch", Cell::new(word).mood(mood));
        for action in &self.validity.missing_entities {
            fact("missing", Cell::new(action).mood(Mood::Bad));
        }
        for action in &self.validity.unproven_entities {
            fact("not tried", Cell::new(action));
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.validity.missing_entities.clone()
    }
}

async fn status(global: &Global, args: &StatusArgs, client: &LaunchClient) -> Result<Exit> {
    let source = client.source(&args.id).await?;
    client.check_source(&args.id).await?;
    let validity = client.permissions(&args.id, args.region.as_deref()).await?;
    let exit = if validity.valid { Exit::GOOD } else { Exit::FOUND };
    output::print(global.output, &Checked { source, validity })?;
    Ok(exit)
}

async fn delete(args: &DeleteArgs, client: &LaunchClient) -> Result<Exit> {
    let id = printable(&args.id);
    if !args.yes && !is_meant(&format!("Delete source {id}?"))? {
        note("nothing was deleted");
        return Ok(Exit::ERROR);
    }
    client.delete_source(&args.id).await?;
    note(format!("source {id} is deleted"));
    Ok(Exit::GOOD)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::{Value, json};

    use super::*;
    use crate::client::given;

    #[derive(Parser)]
    struct SourceLine {
        #[command(flatten)]
        args: CreateArgs,
    }

    fn body(flags: &[&str], secret: Option<&str>) -> Result<Value> {
        let args = SourceLine::try_parse_from([&["x", "--name", "n"], flags].concat())?.args;
        Ok(given(&args.body(secret.map(SecretString::from))?))
    }

    #[test]
    fn an_account_is_opened_in_one_way() {
        let role = body(&["--role", "arn", "--external-id", "e"], Some("hush")).unwrap();
        assert_eq!(role, json!({"name": "n", "provider": "aws", "arn": "arn", "external_id": "e"}));
        let keys = body(&["--access-key-id", "AK"], Some("hush")).unwrap();
        assert_eq!((&keys["access_key_id"], &keys["secret_access_key"]), (&json!("AK"), &json!("hush")));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "from a file\n").unwrap();
        let path = file.path().to_str().unwrap();
        let keys = body(&["--access-key-id", "AK", "--secret-file", path], Some("hush")).unwrap();
        assert_eq!(keys["secret_access_key"], "from a file");
        let azure = body(&["--provider", "azure", "--subscription", "s"], None).unwrap();
        assert_eq!(azure, json!({"name": "n", "provider": "azure", "subscription_id": "s"}));
        for (flags, part) in [
            (&["--access-key-id", "AK"][..], SECRET),
            (&[], "--role"),
            (&["--role", "a", "--project", "p"], "cannot be used with"),
            (&["--external-id", "e"], "--role"),
        ] {
            let error = format!("{:#}", body(flags, None).unwrap_err());
            assert!(error.contains(part), "{flags:?}: {error}");
        }
    }
}

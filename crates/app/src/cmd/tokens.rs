//! `tokens`: API tokens.

use anyhow::Result;
use api::types::{NewToken, Role, TokenList};
use clap::{Args, Subcommand};
use engine::{Clock, WallClock};

use super::operations::ago;
use crate::cli::Global;
use crate::client::PlatformClient;
use crate::config::Period;
use crate::exit::Exit;
use crate::output::{self, Cell, Format, Render, Table, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine tokens list
  provision-engine tokens create --name dashboard --role reader
  provision-engine tokens create --name ci --role admin --expires 30d
  provision-engine tokens create --name cf-2 --role broker --platform cf
  provision-engine tokens create --name acme-ci --grant 'submit:acme.*' --grant 'read:acme.*'
  provision-engine tokens delete ci";

/// List, create and delete API tokens
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TokensArgs {
    #[command(subcommand)]
    command: TokensCommand,
}

#[derive(Debug, Subcommand)]
enum TokensCommand {
    /// List all tokens; a token itself is shown only once, when it is created
    #[command(after_help = "Examples:\n  provision-engine tokens list -o wide")]
    List,
    /// Create a token and print it
    #[command(after_help = "Examples:\n  provision-engine tokens create --name dashboard --role reader\n  \
                      provision-engine tokens create --name ci --role admin --expires 30d\n  \
                      provision-engine tokens create --name acme-ci --grant 'submit:acme.*' --grant 'read:acme.*'")]
    Create {
        /// What it may do: a reader reads, an operator also controls operations, an admin also submits and manages tokens; a broker
        /// asks for service instances and a launcher for instances in clouds, and both see nothing else; limited, which
        /// is the default with --grant, does what its grants say
        #[arg(long, value_name = "ROLE", required_unless_present = "grants")]
        role: Option<Role>,
        /// What it may do with some workflows beyond its role: read, operate or submit, and a name or what names begin
        /// with, such as 'submit:acme.*'; can be given several times
        #[arg(long = "grant", value_name = "GRANT")]
        grants: Vec<String>,
        /// Its name in journals and in the audit log
        #[arg(long, value_name = "NAME")]
        name: String,
        /// The platform whose credential it is, at the service broker; without it that of its own name
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        /// How long it is valid, such as 30d; without it, it never expires
        #[arg(long, value_name = "TIME")]
        expires: Option<Period>,
    },
    /// Delete a token, which is refused from then on
    #[command(after_help = "Examples:\n  provision-engine tokens delete ci")]
    Delete {
        /// Its name
        name: String,
    },
}

impl Render for TokenList {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let when = |at| if is_wide { format!("{at}") } else { ago(now, at) };
        let mut table = Table::new(["NAME", "ROLE", "CREATED", "EXPIRES", "GRANTS"]);
        for token in &self.items {
            table.row([
                Cell::new(&token.name),
                Cell::new(token.role.as_str()),
                Cell::new(when(token.created_at)),
                Cell::maybe(token.expires_at.map(when)),
                Cell::maybe(listed(&token.grants)),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|token| token.name.clone()).collect()
    }
}

/// Grants as one cell.
pub(super) fn listed(grants: &[String]) -> Option<String> {
    (!grants.is_empty()).then(|| grants.join(" "))
}

pub async fn run(global: &Global, args: &TokensArgs) -> Result<Exit> {
    let client = PlatformClient::find(global)?;
    match &args.command {
        TokensCommand::List => output::print(global.output, &client.tokens().await?)?,
        TokensCommand::Create { role, grants, name, platform, expires } => {
            let expires_in_seconds = expires.map(|period| period.get().as_secs());
            let token = NewToken {
                name: name.clone(),
                role: role.unwrap_or(Role::Limited),
                platform: platform.clone(),
                grants: grants.clone(),
                expires_in_seconds,
            };
            let issued = client.create_token(&token).await?;
            match global.output {
                Format::Json | Format::Yaml => output::print_value(global.output, &issued)?,
                Format::Name => output::data(&issued.name)?,
                Format::Table | Format::Wide => output::data(&issued.token)?,
            }
            note("keep the token: it is not shown again");
        }
        TokensCommand::Delete { name } => {
            client.delete_token(name).await?;
            note(format!("token {name} is deleted"));
        }
    }
    Ok(Exit::GOOD)
}

//! `users`: users of the console.

pub(crate) mod password;

use anyhow::Result;
use api::types::{ChangeUser, NewUser, Role, User, UserList};
use clap::{Args, Subcommand};
use engine::{Clock, WallClock};

use super::operations::ago;
use super::tokens::listed;
use crate::cli::Global;
use crate::client::PlatformClient;
use crate::exit::Exit;
use crate::output::{self, Cell, Format, Render, Table, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine users list
  provision-engine users create ada --role operator
  provision-engine users password ada
  provision-engine users password ada < password-file
  provision-engine users role ada admin
  provision-engine users grants ada 'submit:acme.*' 'read:acme.*'
  provision-engine users sign-out ada
  provision-engine users delete ada

A password is typed, or is the first line of stdin. It is never an argument, because all users of
the host can see a command line.";

/// List, create, change and delete the users who sign in to the console
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct UsersArgs {
    #[command(subcommand)]
    command: UsersCommand,
}

#[derive(Debug, Subcommand)]
enum UsersCommand {
    /// List all users
    #[command(after_help = "Examples:\n  provision-engine users list -o wide")]
    List,
    /// Create a user; prints a generated password once, unless one is given
    #[command(
        alias = "add",
        after_help = "Examples:\n  provision-engine users create ada --role operator\n  \
                      provision-engine users create ben --role reader --password < password-file"
    )]
    Create {
        /// The name to sign in with, which is also in journals and in the audit log
        name: String,
        /// What they may do: limited, launcher, reader, operator or admin; limited with --grant alone
        #[arg(long, value_name = "ROLE", value_parser = role, required_unless_present = "grants")]
        role: Option<Role>,
        /// What they may do with some workflows beyond the role, such as 'submit:acme.*'; can be given several times
        #[arg(long = "grant", value_name = "GRANT")]
        grants: Vec<String>,
        /// Ask for a password, or read it from stdin, instead of generating one
        #[arg(long)]
        password: bool,
    },
    /// Set a new password, typed or from stdin, which unlocks the user and signs them out everywhere
    #[command(after_help = "Examples:\n  provision-engine users password ada\n  \
                      provision-engine users password ada < password-file")]
    Password {
        /// The name of the user
        name: String,
    },
    /// Give a user another role, which signs them out everywhere
    #[command(after_help = "Examples:\n  provision-engine users role ada admin")]
    Role {
        /// The name of the user
        name: String,
        /// What they may do: limited, launcher, reader, operator or admin
        #[arg(value_parser = role)]
        role: Role,
    },
    /// Replace what a user may do with some workflows beyond the role, which signs them out everywhere
    #[command(
        after_help = "Examples:\n  provision-engine users grants ada 'submit:acme.*' 'read:acme.*'\n  \
                      provision-engine users grants ada --none"
    )]
    Grants {
        /// The name of the user
        name: String,
        /// All grants that they have from now on: read, operate or submit, and a name or what names begin with
        #[arg(value_name = "GRANT", required_unless_present = "none")]
        grants: Vec<String>,
        /// Take all grants away
        #[arg(long, conflicts_with = "grants")]
        none: bool,
    },
    /// Delete a user and sign them out everywhere
    #[command(alias = "remove", after_help = "Examples:\n  provision-engine users delete ada")]
    Delete {
        /// The name of the user
        name: String,
    },
    /// Sign a user out everywhere
    #[command(after_help = "Examples:\n  provision-engine users sign-out ada")]
    SignOut {
        /// The name of the user
        name: String,
    },
}

/// The role of a user. A platform is no user: it has tokens.
fn role(text: &str) -> Result<Role, String> {
    let mut roles = Role::ALL.into_iter().filter(|role| *role != Role::Broker);
    roles.clone().find(|role| role.as_str() == text).ok_or_else(|| {
        let known: Vec<&str> = roles.by_ref().map(Role::as_str).collect();
        format!("the roles of users are {}; a platform has a token with the role broker", known.join(", "))
    })
}

impl Render for UserList {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let when = |at| if is_wide { format!("{at}") } else { ago(now, at) };
        let mut table = Table::new(["NAME", "ROLE", "CREATED", "LOCKED UNTIL", "GRANTS"]);
        for user in &self.items {
            table.row([
                Cell::new(&user.name),
                Cell::new(user.role.as_str()),
                Cell::new(when(user.created_at)),
                Cell::maybe(user.locked_until.map(|until| until.to_string())),
                Cell::maybe(listed(&user.grants)),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|user| user.name.clone()).collect()
    }
}

pub async fn run(global: &Global, args: &UsersArgs) -> Result<Exit> {
    let client = PlatformClient::find(global)?;
    match &args.command {
        UsersCommand::List => output::print(global.output, &client.users().await?)?,
        UsersCommand::Create { name, role, grants, password } => {
            let password = if *password { Some((&password::read(name)?).into()) } else { None };
            let role = role.unwrap_or(Role::Limited);
            create(global, &client, &NewUser { name: name.clone(), role, grants: grants.clone(), password })
                .await?;
        }
        UsersCommand::Password { name } => {
            let password = Some((&password::read(name)?).into());
            let user = client.change_user(name, &ChangeUser { password, ..ChangeUser::default() }).await?;
            changed(global, &user, "has a new password")?;
        }
        UsersCommand::Role { name, role } => {
            let change = ChangeUser { role: Some(*role), ..ChangeUser::default() };
            let user = client.change_user(name, &change).await?;
            changed(global, &user, &format!("is {role} now"))?;
        }
        UsersCommand::Grants { name, grants, none: _ } => {
            let change = ChangeUser { grants: Some(grants.clone()), ..ChangeUser::default() };
            let user = client.change_user(name, &change).await?;
            let how = listed(&user.grants)
                .map_or("has no grants now".to_owned(), |all| format!("has the grants {all} now"));
            changed(global, &user, &how)?;
        }
        UsersCommand::Delete { name } => {
            client.delete_user(name).await?;
            note(format!("user {name} is deleted"));
        }
        UsersCommand::SignOut { name } => {
            let out = client.sign_out_user(name).await?;
            match global.output {
                Format::Json | Format::Yaml => output::print_value(global.output, &out)?,
                _ => note(format!("user {name} is signed out, sessions ended: {}", out.sessions)),
            }
        }
    }
    Ok(Exit::GOOD)
}

async fn create(global: &Global, client: &PlatformClient, new: &NewUser) -> Result<()> {
    let made = client.create_user(new).await?;
    match (global.output, &made.password) {
        (Format::Json | Format::Yaml, _) => output::print_value(global.output, &made)?,
        (Format::Name, _) => output::data(&made.name)?,
        (Format::Table | Format::Wide, Some(password)) => output::data(password.reveal())?,
        (Format::Table | Format::Wide, None) => note(format!("user {} is created", new.name)),
    }
    if made.password.is_some() {
        note("keep the password: it is not shown again");
    }
    Ok(())
}

fn changed(global: &Global, user: &User, how: &str) -> Result<()> {
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, user)?,
        Format::Name => output::data(&user.name)?,
        Format::Table | Format::Wide => {
            note(format!("user {} {how}, and is signed out everywhere", user.name));
        }
    }
    Ok(())
}

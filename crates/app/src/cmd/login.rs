//! `login` and `logout`: servers that the user talks to, with their tokens.

use anyhow::{Context as _, Result};
use api::client::{Auth, Client, is_loopback};
use api::types::ListQuery;
use clap::Args;
use reqwest::Url;
use secrecy::SecretString;

use crate::cli::Global;
use crate::client::{PLATFORM, PlatformClient, parse_server};
use crate::cmd::secret_line;
use crate::contexts::{Context, Contexts};
use crate::exit::Exit;
use crate::output::note;

/// Store the address and a token of a server, and use it from now on
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine login https://engine.example.com\n  \
                  provision-engine login https://engine.example.com --name prod < token-file\n  \
                  provision-engine config use-context prod\n\nThe token is typed, or is the first line of stdin, or \
                  PROVISION_ENGINE_TOKEN. It is stored in the\nconfiguration folder of the user, readable by the user \
                  alone, and never printed.")]
pub struct LoginArgs {
    /// The address of the server
    #[arg(value_name = "URL")]
    url: String,
    /// What to call it [default: the host of the address]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Remove a stored server and its token
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine logout\n  provision-engine logout prod")]
pub struct LogoutArgs {
    /// The context [default: the current one]
    #[arg(value_name = "CONTEXT")]
    name: Option<String>,
}

pub async fn login(global: &Global, args: &LoginArgs) -> Result<Exit> {
    // Brings the certificates to trust into force.
    global.load(&[])?;
    let url = parse_server("URL", &args.url)?;
    let name = args.name.clone().unwrap_or_else(|| host(&url));
    Contexts::check_name(&name)?;
    if url.scheme() == "http" && !is_loopback(&url) {
        note("warning: the token crosses the network in clear text; use https");
    }
    let token = match global.token.as_deref().filter(|token| !token.is_empty()) {
        Some(token) => SecretString::from(token),
        None => secret_line(&format!("Token for {url}"))?,
    };
    let auth = Auth::Bearer(token.clone());
    let client = Client::new(::http_client::http_client(), &PLATFORM, url.clone(), auth)?;
    check(&PlatformClient { http: client }).await?;
    let mut contexts = Contexts::read()?;
    contexts.all.insert(name.clone(), Context { server: url.to_string(), token: Some(token) });
    contexts.current = Some(name.clone());
    contexts.write()?;
    note(format!("logged in; commands go to {url} (context {name})"));
    Ok(Exit::GOOD)
}

/// The server takes the token. A role that may not look is still one.
async fn check(client: &PlatformClient) -> Result<()> {
    let query = ListQuery { limit: Some(1), ..ListQuery::default() };
    match client.list(&query).await {
        Err(error) if error.status() == Some(403) => Ok(()),
        answer => answer.map(drop).context("the server does not take this; nothing was stored"),
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("server").trim_matches(['[', ']']);
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

pub fn logout(_: &Global, args: &LogoutArgs) -> Result<Exit> {
    let mut contexts = Contexts::read()?;
    let name = args.name.clone().or_else(|| contexts.current.clone());
    let name = name.context("no context is in use: name one")?;
    contexts.remove(&name)?;
    contexts.write()?;
    note(format!("context {name} and its token are removed"));
    Ok(Exit::GOOD)
}

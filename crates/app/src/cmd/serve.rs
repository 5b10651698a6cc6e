//! `serve`: the engine and its APIs, in the foreground.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use clap::Args;
use engine::secret::{ExposeSecret, SecretString};
use engine::{Clock, NodeId, PeopleStore, Role, WallClock};
use server::tokens::ensure_admin;
use server::{Meter, ensure_first_user, issue_link};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::app::App;
use crate::background::{PidFile, reachable};
use crate::cli::{Flag, Global};
use crate::compose::ComposedEngine;
use crate::config::{Config, Database, Origin};
use crate::exit::Exit;
use crate::listener::{ListenerLimits, Tls, raise_limit, serve};
use crate::logs::Logs;
use crate::output::note;
use crate::paths::{DataDir, DataDirLock, replace_file};
use crate::product::{Serving, Start, Welcome};
use crate::signals::Signals;
use crate::{cmd, logs};

/// How long open connections get to finish what they are at.
const CLOSING_LIMIT: Duration = Duration::from_secs(5);
/// How long the engine may take beyond its grace to say good-bye to a database that may not answer.
const GOODBYE_LIMIT: Duration = Duration::from_secs(15);

const EXAMPLES: &str = "\
Examples:
  provision-engine serve --sandbox
  provision-engine serve --listen 127.0.0.1:8080 --data-dir /srv/engine
  provision-engine serve --database-url postgres://user@host/database
  provision-engine serve --sandbox-url http://127.0.0.1:4711

SIGTERM or Ctrl-C stops it gracefully, a second one at once. SIGHUP reads the key ring
and the files of workflows again and opens the log file anew. No configuration is needed; `provision-engine config
show` prints what is in force.";

/// Serve in the foreground
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes any free port
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The database, `postgres://…` or `sqlite:PATH`; else the file `engine.db` in the data directory
    // A password belongs into the environment, because all users of the host can see a command line.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Run the external systems of the demonstration in the same process
    #[arg(long, conflicts_with = "sandbox_url")]
    sandbox: bool,
    /// Talk to a sandbox that runs elsewhere
    #[arg(long, value_name = "URL")]
    sandbox_url: Option<String>,
}

impl ServeArgs {
    /// The settings that these flags stand for.
    pub fn settings(&self) -> Vec<Flag> {
        let listen = self.listen.as_ref().map(|listen| ("server.listen", listen.clone()));
        let database = self.database_url.as_ref().map(|url| ("store.database_url", url.clone()));
        let uses_sandbox = self.sandbox || self.sandbox_url.is_some();
        let enabled = uses_sandbox.then(|| ("sandbox.enabled", "true".to_owned()));
        let url = self.sandbox_url.as_ref().map(|url| ("sandbox.url", url.clone()));
        let flags = listen.into_iter().chain(database).chain(enabled).chain(url);
        flags.map(|(path, text)| (path.to_owned(), text)).collect()
    }

    /// The same flags for another process of this program.
    pub fn pass_on(&self) -> Vec<OsString> {
        let values = [
            ("--listen", &self.listen),
            ("--database-url", &self.database_url),
            ("--sandbox-url", &self.sandbox_url),
        ];
        let given = values.into_iter().filter_map(|(flag, value)| Some((flag, value.as_ref()?)));
        let mut arguments: Vec<OsString> =
            given.flat_map(|(flag, value)| [OsString::from(flag), value.into()]).collect();
        arguments.extend(self.sandbox.then(|| "--sandbox".into()));
        arguments
    }
}

pub async fn run(global: &Global, args: &ServeArgs) -> Result<Exit> {
    let (config, warnings) = global.load(&args.settings())?;
    cmd::warn(&warnings);
    // First the lock: a second server must not put aside the logs of the first one.
    let lock = DataDirLock::acquire(&DataDir::new(&config.data_dir))?;
    let logs = logs::init_with_components(&config.log)?;
    raise_limit();
    let mut signals = Signals::catch()?;
    let server = tokio::select! {
        server = RunningServer::start(&global.app, &config, &lock) => server?,
        name = signals.next() => {
            note(format!("stopped by {name} before it served"));
            return Ok(Exit::GOOD);
        }
    };
    let link = sign_in_link(&config, &server).await;
    welcome(&global.app, &config, &server, link.as_deref());
    let name = tokio::select! {
        name = signals.next() => name,
        never = housekeeping(&server, &logs) => match never {},
    };
    info!(signal = name, "stopping");
    tokio::spawn(async move {
        signals.next().await;
        note("stopped at once; running operations continue at the next start");
        // Nothing is lost: this is what a crash looks like, and every start recovers from one.
        std::process::exit(1);
    });
    server.stop(config.engine.stop_grace.get()).await;
    if logs.lost() > 0 {
        warn!(lines = logs.lost(), "log lines were lost because an output was too slow");
    }
    Ok(Exit::GOOD)
}

/// Keeps the keys, the certificate and the log file like the outside wants them.
async fn housekeeping(server: &RunningServer, logs: &Logs) -> Infallible {
    let RunningServer { composed, tls, .. } = server;
    let on_hangup = async {
        if let Ok(mut hangup) = signal(SignalKind::hangup()) {
            while hangup.recv().await.is_some() {
                logs.reopen();
                composed.read_files.notify_one();
                composed.keys.reload(&composed.ring).await;
                if let Some(tls) = tls {
                    tls.reload();
                }
            }
        }
    };
    let on_change = async {
        if let Some(tls) = tls {
            match tls.follow().await {}
        }
    };
    let ((), (), never) = tokio::join!(on_hangup, on_change, composed.keys.follow(&composed.ring));
    never
}

/// A second listener without TLS, on loopback, for the commands of this machine: they know the address from the data
/// directory and need neither the name nor the authority of the certificate.
async fn serve_commands(
    router: Router,
    limits: ListenerLimits,
    closing: CancellationToken,
) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on loopback")?;
    let local = listener.local_addr()?;
    tokio::spawn(serve(listener, router, limits.for_commands(), None, closing));
    Ok(local)
}

/// A running engine whose APIs are open.
pub(crate) struct RunningServer {
    composed: ComposedEngine,
    tls: Option<Arc<Tls>>,
    closing: CancellationToken,
    serving: JoinHandle<()>,
    pub(crate) listen: SocketAddr,
    is_token_new: bool,
    _pid_file: PidFile,
}

impl RunningServer {
    pub(crate) async fn start(app: &App, config: &Config, lock: &DataDirLock) -> Result<RunningServer> {
        let meter = Arc::new(Meter::new());
        let composed = ComposedEngine::open(app, config, &meter).await?;
        let dir = lock.dir();
        let previous = last_node(dir);
        let start = Start { dir, access: &*composed.access, is_new: previous.is_none() };
        let token = make_admin(&start).await?;
        for product in &composed.products {
            product.prepare(&start).await?;
        }
        make_user(dir, &*composed.people).await?;
        let tls = config.server.tls.as_ref().map(Tls::open).transpose()?;
        let listener = TcpListener::bind(config.server.listen)
            .await
            .with_context(|| format!("cannot listen on {}", config.server.listen))?;
        let listen = listener.local_addr()?;
        // The lock proves that the last node of this directory is dead, so its operations go on at once.
        let node = composed.engine.start(previous).await.context("cannot join the others in the database")?;
        let node_file = dir.node_file();
        replace_file(&node_file, node.to_string().as_bytes())
            .with_context(|| format!("cannot write {}", node_file.display()))?;
        let closing = CancellationToken::new();
        let (apis, inside) = composed.apis(config, &meter, &closing)?;
        let router = composed.console(config, inside).into_iter().fold(apis, Router::merge);
        let limits = ListenerLimits::of(&config.server);
        let local = match &tls {
            Some(_) => Some(serve_commands(router.clone(), limits, closing.clone()).await?),
            None => None,
        };
        let serving = tokio::spawn(serve(listener, router, limits, tls.clone(), closing.clone()));
        composed.background(config, &closing);
        let local_url = format!("http://{}", local.unwrap_or(listen));
        composed.serving(&Serving { listen, local_url }).await?;
        let pid_file = PidFile::create(lock, listen, local)?;
        let is_token_new = token.is_some();
        Ok(RunningServer { composed, tls, closing, serving, listen, is_token_new, _pid_file: pid_file })
    }

    /// Takes nothing new, lets requests and steps finish within their limits, and closes everything.
    pub(crate) async fn stop(self, grace: Duration) {
        let RunningServer { mut composed, closing, mut serving, _pid_file, .. } = self;
        closing.cancel();
        let close = async {
            if tokio::time::timeout(CLOSING_LIMIT, &mut serving).await.is_err() {
                warn!("connections were still open and are cut");
                serving.abort();
            }
        };
        let stop = tokio::time::timeout(grace + GOODBYE_LIMIT, composed.engine.stop(grace));
        if let ((), Err(_)) = tokio::join!(close, stop) {
            warn!("releasing the node lease failed; it expires by itself");
        }
        if tokio::time::timeout(CLOSING_LIMIT, composed.background_ended()).await.is_err() {
            warn!("background tasks were still running and are cut off");
        }
        let sandbox = composed.sandbox.take();
        // Clients go before the systems that they are connected to, or they report them as lost.
        drop(composed);
        if let Some(sandbox) = sandbox {
            sandbox.stop().await;
        }
    }
}

/// The node that this directory was the last time. What cannot be read only costs the wait for its lease.
fn last_node(dir: &DataDir) -> Option<NodeId> {
    fs::read_to_string(dir.node_file()).ok()?.trim().parse().ok()
}

/// Writes an admin token into a data directory that is new, or that has no other way to sign in. An owner
/// who has removed the file does not get it back.
async fn make_admin(start: &Start<'_>) -> Result<Option<SecretString>> {
    let path = start.dir.admin_token();
    let failed = "cannot make an admin token";
    let token = match ensure_admin(start.access, WallClock.now()).await.context(failed)? {
        // For a second server on the same database, or one that was killed before it could write its first token.
        None if start.is_new && !path.exists() => {
            Some(start.issue("admin", Role::Admin, 2).await.context(failed)?.1)
        }
        other => other,
    };
    if let Some(token) = &token {
        let line = format!("{}\n", token.expose_secret());
        replace_file(&path, line.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(token)
}

/// Writes name and password of the first user where there is no user at all.
async fn make_user(dir: &DataDir, people: &dyn PeopleStore) -> Result<()> {
    let made = ensure_first_user(people, WallClock.now()).await.context("cannot make the first user")?;
    let Some((name, password)) = made else { return Ok(()) };
    let path = dir.console_password();
    let line = format!("{name}:{}\n", password.expose_secret());
    replace_file(&path, line.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// A link of one use to the console, for the user at this terminal. A log is no place for it.
async fn sign_in_link(config: &Config, server: &RunningServer) -> Option<String> {
    if !config.console.enabled || !std::io::stderr().is_terminal() {
        return None;
    }
    let issued = issue_link(&*server.composed.people, WallClock.now()).await;
    let (_, code) = issued.inspect_err(|error| warn!(%error, "cannot make a sign-in link")).ok()??;
    Some(format!("{}/console/sign-in/link?code={}", console_url(config, server.listen), code.expose_secret()))
}

/// Where a browser finds the console: at the address that the settings name, else on this machine.
pub fn console_url(config: &Config, listen: SocketAddr) -> String {
    if let Some(url) = &config.console.public_url {
        return url.as_str().trim_end_matches('/').to_owned();
    }
    let scheme = if config.server.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", reachable(listen))
}

/// What a person needs to know to go on, on one screen.
fn welcome(app: &App, config: &Config, server: &RunningServer, link: Option<&str>) {
    let RunningServer { composed, listen, is_token_new, .. } = server;
    let name = app.name;
    let dir = DataDir::new(&config.data_dir);
    let database = match &config.store.database {
        Database::Sqlite(path) => format!("SQLite, {}", path.display()),
        Database::Postgres(_) => "PostgreSQL".to_owned(),
    };
    let sandbox = match (&composed.sandbox_url, &composed.sandbox) {
        (Some(url), Some(_)) => format!("{url} (in this process; {url}/ledger shows its effects)"),
        (Some(url), None) => url.clone(),
        (None, _) => "none: only what the configuration names is connected; try --sandbox".to_owned(),
    };
    let token = match (*is_token_new, dir.admin_token().exists()) {
        (true, _) => format!("{} (new)", dir.admin_token().display()),
        (false, true) => dir.admin_token().display().to_string(),
        (false, false) => "not in the data directory; give --token".to_owned(),
    };
    let users = match dir.console_password() {
        path if path.exists() => format!("user and password in {}", path.display()),
        _ => format!("{name} users list"),
    };
    let url = format!("{}://{listen}", if config.server.tls.is_some() { "https" } else { "http" });
    let has_sandbox = composed.sandbox_url.is_some();
    let mut welcome =
        Welcome { config, dir: &dir, url: &url, has_sandbox, facts: Vec::new(), commands: Vec::new() };
    for product in &composed.products {
        product.welcome(&mut welcome);
    }
    let Welcome { facts, mut commands, .. } = welcome;
    commands.sort_by_key(|(weight, _)| *weight);
    let mut lines = vec![
        format!("{name} {} serves at {url}", env!("CARGO_PKG_VERSION")),
        format!("  data directory  {}", dir.path().display()),
        format!("  database        {database}"),
        format!("  sandbox         {sandbox}"),
        format!("  admin token     {token}"),
        format!("  console         {}/ ({users})", console_url(config, *listen)),
    ];
    lines.extend(
        link.map(|link| format!("  sign in         {link}\n                  (works once, for ten minutes)")),
    );
    lines.extend(facts);
    let is_default = config.origins().of("data_dir").is_none_or(|origin| *origin == Origin::Default);
    let data_dir = if is_default { String::new() } else { format!(" --data-dir {}", dir.path().display()) };
    for (number, (_, command)) in commands.into_iter().enumerate() {
        let label = if number == 0 { "try it:   " } else { "          " };
        lines.push(format!("{label}{name} {command}{data_dir}"));
    }
    lines.push(format!("stop it:  Ctrl-C, or {name} stop{data_dir}"));
    note(lines.join("\n"));
}

//! `demo --serve`: what was shown stays, with the console in front of it, until an operator ends it.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use engine::secret::ExposeSecret;
use engine::{Clock, WallClock};
use server::{Meter, ensure_first_user, issue_link};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use app::cmd::serve::console_url;
use app::compose::ComposedEngine;
use app::config::Config;
use app::listener::{ListenerLimits, serve};
use app::output::note;
use app::product::Serving;
use app::signals::Signals;

/// A place at which the console will be. It is taken before the play begins, so that the page is there when it is opened.
pub(super) struct ConsoleAddress(TcpListener);

impl ConsoleAddress {
    /// The usual address, or any free port where another process has it.
    pub(super) async fn take(wanted: Option<SocketAddr>, usual: SocketAddr) -> Result<ConsoleAddress> {
        let listener = match wanted {
            Some(wanted) => {
                TcpListener::bind(wanted).await.with_context(|| format!("cannot listen on {wanted}"))?
            }
            None => match TcpListener::bind(usual).await {
                Ok(listener) => listener,
                Err(_) => TcpListener::bind((usual.ip(), 0)).await.context("cannot listen on loopback")?,
            },
        };
        Ok(ConsoleAddress(listener))
    }

    /// Opens APIs and console, says how to get in, and waits for the end.
    pub(super) async fn open(
        self,
        composed: &ComposedEngine,
        config: &Config,
        meter: &Arc<Meter>,
        end: &mut Signals,
    ) -> Result<()> {
        let listen = self.0.local_addr()?;
        let closing = CancellationToken::new();
        let (apis, inside) = composed.apis(config, meter, &closing)?;
        let router = composed.console(config, inside).into_iter().fold(apis, Router::merge);
        composed.background(config, &closing);
        composed.serving(&Serving { listen, local_url: format!("http://{listen}") }).await?;
        let made =
            ensure_first_user(&*composed.people, WallClock.now()).await.context("cannot make a user")?;
        let (name, password) = made.context("there is a user already")?;
        let serving =
            tokio::spawn(serve(self.0, router, ListenerLimits::of(&config.server), None, closing.clone()));
        let link =
            issue_link(&*composed.people, WallClock.now()).await.context("cannot make a sign-in link")?;
        let code = link.map(|(_, code)| code).context("there is no admin")?;
        let url = console_url(config, listen);
        note(format!(
            "\nthe console is open:\n  \
               sign in   {url}/console/sign-in/link?code={}\n            (works once, for ten minutes)\n  \
               address   {url}/\n  \
               user      {name}\n  \
               password  {}\n\
             Ctrl-C ends it; nothing is kept.",
            code.expose_secret(),
            password.expose_secret()
        ));
        end.next().await;
        closing.cancel();
        serving.abort();
        Ok(())
    }
}

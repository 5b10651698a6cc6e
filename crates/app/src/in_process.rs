//! A whole server in this process, in a directory that is removed afterwards: for demonstrations and tests.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use api::client::{Auth, Client};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

use crate::app::App;
use crate::client::{PLATFORM, PlatformClient, secret_in};
use crate::cmd::serve::RunningServer;
use crate::config::{Config, Period};
use crate::paths::{DataDir, DataDirLock};

/// For one page of a server in the same process.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// A server that listens on a free port of loopback until [`InProcess::stop`].
pub struct InProcess {
    pub url: String,
    /// A client of its API with the rights of an admin.
    pub client: PlatformClient,
    token: SecretString,
    server: RunningServer,
    stop_grace: Period,
    // Dropped last and in this order: the lock is a file in the directory.
    _lock: DataDirLock,
    _dir: TempDir,
}

impl InProcess {
    /// `settings` are dotted paths with their text. No file and no variable is read, so that nothing leads a
    /// demonstration to a real database or a real external system.
    pub async fn start(app: &App, settings: &[(&str, &str)]) -> Result<InProcess> {
        let dir = tempfile::tempdir().context("cannot make a temporary directory")?;
        let config = config(app, dir.path(), settings)?;
        let lock = DataDirLock::acquire(&DataDir::new(&config.data_dir))?;
        let server = RunningServer::start(app, &config, &lock).await?;
        let url = format!("http://{}", server.listen);
        let token = secret_in(&lock.dir().admin_token()).context("cannot read the admin token")?;
        let auth = Auth::Bearer(token.clone());
        let http = Client::new(::http_client::http_client(), &PLATFORM, url.parse()?, auth)?;
        let (client, stop_grace) = (PlatformClient { http }, config.engine.stop_grace);
        Ok(InProcess { url, client, token, server, stop_grace, _lock: lock, _dir: dir })
    }

    /// A page of the console, as an admin sees it.
    pub async fn page(&self, path: &str) -> Result<String> {
        let browser = ::http_client::client_builder(CALL_LIMIT).build()?;
        let sign_in = format!("{}/console/sign-in", self.url);
        let form = browser.get(&sign_in).send().await?.error_for_status()?;
        let (visit, form) = (cookies(&form), form.text().await?);
        let hidden = form.split("name=\"_csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        // Neither of the two has a character that a form would encode.
        let body = format!("_csrf={}&token={}", hidden.unwrap_or_default(), self.token.expose_secret());
        let entered = browser.post(format!("{sign_in}/token")).header(COOKIE, visit);
        let entered =
            entered.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body).send().await?;
        let page =
            browser.get(format!("{}{path}", self.url)).header(COOKIE, cookies(&entered)).send().await?;
        let page = page.error_for_status()?;
        ensure!(page.status().is_success(), "{path} answers {}", page.status());
        Ok(page.text().await?)
    }

    /// Lets requests and steps finish within their limits, and removes the directory.
    pub async fn stop(self) {
        self.server.stop(self.stop_grace.get()).await;
    }
}

fn config(app: &App, dir: &Path, settings: &[(&str, &str)]) -> Result<Config> {
    let dir = dir.to_str().context("the temporary directory has no readable name")?;
    let own = [("data_dir", dir), ("server.listen", "127.0.0.1:0")];
    let flags = own.iter().chain(settings).map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let flags: Vec<_> = flags.collect();
    let (config, _) = app.load(Some(Path::new("/dev/null")), std::iter::empty(), &flags)?;
    Ok(config)
}

/// What a browser sends back of the cookies in an answer.
fn cookies(answer: &Response) -> String {
    let given = answer.headers().get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    given.filter_map(|cookie| cookie.split(';').next()).collect::<Vec<_>>().join("; ")
}

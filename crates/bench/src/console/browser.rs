//! What a browser does, without the drawing.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use api::types::{OperationDetail, WireTime};
use engine::{Clock, Timestamp, WallClock};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE, COOKIE, SET_COOKIE};
use reqwest::{Client, Response, redirect};

use crate::load::as_float;

pub(super) struct Browser {
    http: Client,
    base: String,
    token: String,
    cookie: String,
}

pub(super) struct LoadedPage {
    pub(super) server_ms: f64,
    bytes: usize,
    text: String,
}

/// A page that is open, and hears what is new.
pub(super) struct OpenTab(Response);

impl OpenTab {
    /// Reads until this word is in what comes.
    pub(super) async fn until(&mut self, word: &str) -> Result<()> {
        let mut seen = String::new();
        while let Some(chunk) = self.0.chunk().await? {
            seen.push_str(&String::from_utf8_lossy(&chunk));
            if seen.contains(word) {
                return Ok(());
            }
        }
        bail!("the stream ended before it said {word}")
    }
}

impl Browser {
    pub(super) async fn sign_in(base: &str, token: &str) -> Result<Browser> {
        let http = Client::builder().redirect(redirect::Policy::none()).no_proxy().build()?;
        let form = http.get(format!("{base}/console/sign-in")).send().await?;
        let visit = cookie(&form, "pe_visit")?;
        let text = form.text().await?;
        let word =
            between(&text, "name=\"_csrf\" value=\"", "\"").context("the form has no word")?.to_owned();
        let sent = http
            .post(format!("{base}/console/sign-in/token"))
            .header(COOKIE, visit)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            // Both are of letters that a form need not write in another way.
            .body(format!("_csrf={word}&token={token}"))
            .send()
            .await?;
        let cookie = cookie(&sent, "pe_session")?;
        Ok(Browser { http, base: base.to_owned(), token: token.to_owned(), cookie })
    }

    async fn get(&self, path: &str, encoding: &str) -> Result<Response> {
        let request = self.http.get(format!("{}{path}", self.base)).header(COOKIE, &self.cookie);
        Ok(request.header(ACCEPT_ENCODING, encoding).send().await?.error_for_status()?)
    }

    pub(super) async fn page(&self, path: &str) -> Result<LoadedPage> {
        let answer = self.get(path, "identity").await?;
        let timing = answer.headers().get("server-timing").and_then(|value| value.to_str().ok());
        let server_ms = timing.and_then(|text| text.split_once("dur=")?.1.parse().ok());
        let server_ms = server_ms.context("the server does not say how long it took")?;
        let text = answer.text().await?;
        ensure!(text.contains("</html>"), "this is no page");
        Ok(LoadedPage { server_ms, bytes: text.len(), text })
    }

    /// Milliseconds of the same question to the API.
    pub(super) async fn api(&self, path: &str) -> Result<f64> {
        let began = WallClock.now();
        let request = self.http.get(format!("{}{path}", self.base)).bearer_auth(&self.token);
        request.send().await?.error_for_status()?.bytes().await?;
        Ok(WallClock.now().since(began).as_secs_f64() * 1000.0)
    }

    /// A page and everything that it loads, compressed as a browser asks for it.
    pub(super) async fn first_page_kb(&self, path: &str) -> Result<f64> {
        let page = self.page(path).await?;
        let mut parts: BTreeSet<&str> =
            page.text.split('"').filter(|text| text.starts_with("/console/assets/")).collect();
        parts = parts.into_iter().filter_map(|part| part.split('#').next()).collect();
        ensure!(parts.len() > 3, "a page of {} bytes loads nothing", page.bytes);
        parts.insert(path);
        let mut bytes = 0;
        for part in parts {
            bytes += self.get(part, "gzip").await?.bytes().await?.len();
        }
        Ok(as_float(bytes as u64) / 1024.0)
    }

    /// Opens a stream, and waits for its first picture.
    pub(super) async fn open(&self, path: &str) -> Result<OpenTab> {
        let mut open = OpenTab(self.get(path, "identity").await?);
        open.until("data:").await?;
        Ok(open)
    }

    pub(super) async fn cancel(&self, id: &str) -> Result<()> {
        let request =
            self.http.post(format!("{}/operations/{id}/cancel", self.base)).bearer_auth(&self.token);
        request.json(&serde_json::json!({})).send().await?.error_for_status()?;
        Ok(())
    }

    pub(super) async fn finished_at(&self, id: &str) -> Result<Timestamp> {
        let request = self.http.get(format!("{}/operations/{id}", self.base)).bearer_auth(&self.token);
        let found: OperationDetail = request.send().await?.error_for_status()?.json().await?;
        let WireTime(at) = found.operation.finished_at.context("it is not finished")?;
        Ok(Timestamp(i64::try_from(at.unix_timestamp_nanos() / 1000)?))
    }
}

fn cookie(answer: &Response, name: &str) -> Result<String> {
    let values = answer.headers().get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.filter_map(|value| value.split(';').next());
    let start = format!("{name}=");
    pairs.find(|pair| pair.starts_with(&start)).map(str::to_owned).context("the sign-in sets no cookie")
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

//! How commands talk to a running server: the same types on both sides of the wire.

mod address;
mod error;
mod events;

use std::time::Duration;

use doors::wire::{
    ChangeUser, Control, Explanation, IssuedToken, JournalPage, JournalQuery, ListQuery, MadeUser, NewToken,
    NewUser, Operation, OperationDetail, OperationPage, Signalled, SignedOut, Submit, TokenList, User,
    UserList, Verb,
};
use reqwest::header::ACCEPT;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

pub(crate) use address::Address;
pub(crate) use error::CallError;
pub(crate) use events::{Events, News};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longer than any server takes before it answers with a timeout of its own, by default.
const CALL_LIMIT: Duration = Duration::from_secs(60);
/// A stream says something at least this often, or it is dead.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// One server and what we show to it. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    address: Address,
}

type Answered<T> = Result<T, CallError>;

impl Client {
    pub(crate) fn new(address: Address) -> Answered<Client> {
        let mut builder = drivers::http_client()
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT)
            // A redirect would carry the token to a place that nobody named.
            .redirect(reqwest::redirect::Policy::none());
        if address.is_loopback() {
            // A proxy would look for the server on its own machine.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| CallError::Unusable(error::chain(&error)))?;
        Ok(Client { http, address })
    }

    /// The same server, looked for again: one that was restarted may have another port.
    pub(crate) fn look_again(&mut self) {
        self.address.look_again();
    }

    pub(crate) async fn submit(&self, submit: &Submit, key: &str) -> Answered<Operation> {
        let request = self.request(Method::POST, &["operations"])?;
        self.call(request.header("Idempotency-Key", key).json(submit)).await
    }

    pub(crate) async fn list(&self, query: &ListQuery) -> Answered<OperationPage> {
        self.call(self.request(Method::GET, &["operations"])?.query(query)).await
    }

    pub(crate) async fn show(&self, id: Uuid) -> Answered<OperationDetail> {
        self.get(&["operations", &id.to_string()]).await
    }

    pub(crate) async fn journal(&self, id: Uuid, query: &JournalQuery) -> Answered<JournalPage> {
        let request = self.request(Method::GET, &["operations", &id.to_string(), "journal"])?;
        self.call(request.query(query)).await
    }

    pub(crate) async fn explain(&self, id: Uuid) -> Answered<Explanation> {
        self.get(&["operations", &id.to_string(), "explain"]).await
    }

    pub(crate) async fn ask(&self, id: Uuid, verb: Verb, control: &Control) -> Answered<Operation> {
        self.post(&["operations", &id.to_string(), word(verb)], control).await
    }

    pub(crate) async fn signal(&self, key: &str, payload: &serde_json::Value) -> Answered<Signalled> {
        self.post(&["signals", key], payload).await
    }

    pub(crate) async fn tokens(&self) -> Answered<TokenList> {
        self.get(&["tokens"]).await
    }

    pub(crate) async fn create_token(&self, token: &NewToken) -> Answered<IssuedToken> {
        self.post(&["tokens"], token).await
    }

    pub(crate) async fn delete_token(&self, name: &str) -> Answered<()> {
        self.send(self.request(Method::DELETE, &["tokens", name])?.timeout(CALL_LIMIT)).await.map(drop)
    }

    pub(crate) async fn users(&self) -> Answered<UserList> {
        self.get(&["users"]).await
    }

    pub(crate) async fn create_user(&self, user: &NewUser) -> Answered<MadeUser> {
        self.post(&["users"], user).await
    }

    pub(crate) async fn change_user(&self, name: &str, change: &ChangeUser) -> Answered<User> {
        self.call(self.request(Method::PUT, &["users", name])?.json(change)).await
    }

    pub(crate) async fn delete_user(&self, name: &str) -> Answered<()> {
        self.send(self.request(Method::DELETE, &["users", name])?.timeout(CALL_LIMIT)).await.map(drop)
    }

    pub(crate) async fn sign_out_user(&self, name: &str) -> Answered<SignedOut> {
        self.call(self.request(Method::DELETE, &["users", name, "sessions"])?).await
    }

    /// The events after this number, as they happen.
    pub(crate) async fn events(&self, id: Uuid, after: u32) -> Answered<Events> {
        let mut request = self.request(Method::GET, &["operations", &id.to_string(), "events"])?;
        request = request.header(ACCEPT, "text/event-stream");
        if after > 0 {
            request = request.header("Last-Event-ID", after.to_string());
        }
        let response = self.send(request).await?;
        Ok(Events::new(response, self.address.url().clone()))
    }

    async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Answered<T> {
        self.call(self.request(Method::GET, path)?).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Answered<T> {
        self.call(self.request(Method::POST, path)?.json(body)).await
    }

    /// Every part is one segment, whatever it contains.
    fn request(&self, method: Method, path: &[&str]) -> Answered<RequestBuilder> {
        let request = self.http.request(method, joined(self.address.url(), path)?);
        Ok(match self.address.token() {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
    }

    async fn call<T: DeserializeOwned>(&self, request: RequestBuilder) -> Answered<T> {
        let response = self.send(request.timeout(CALL_LIMIT)).await?;
        let body = response.bytes().await.map_err(|error| self.lost(&error))?;
        serde_json::from_slice(&body).map_err(|error| CallError::Strange {
            server: error::shown(self.address.url()),
            what: format!("an answer that cannot be read: {error}"),
        })
    }

    /// The answer, if it is a good one.
    async fn send(&self, request: RequestBuilder) -> Answered<Response> {
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(|error| self.lost(&error))?;
        Err(CallError::refused(self.address.url(), status, &body, self.address.token().is_some()))
    }

    fn lost(&self, error: &reqwest::Error) -> CallError {
        CallError::lost(self.address.url(), error)
    }
}

/// How a verb is written in paths and said to people.
pub(crate) fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Cancel => "cancel",
        Verb::Pause => "pause",
        Verb::Resume => "resume",
        Verb::Retry => "retry",
    }
}

fn joined(base: &Url, path: &[&str]) -> Answered<Url> {
    // A URL drops segments of dots, however they are encoded, and would mean another path then.
    if let Some(part) = path.iter().find(|part| matches!(**part, "" | "." | "..")) {
        return Err(CallError::Unusable(format!("{part:?} cannot be a name")));
    }
    let mut url = base.clone();
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().extend(path);
        }
        Err(()) => return Err(CallError::Unusable(format!("{base} cannot have a path"))),
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_segment_whatever_it_contains() {
        let url = |base: &str, key| joined(&base.parse().unwrap(), &["signals", key]).map(String::from).ok();
        assert_eq!(url("http://h:1", "a/b?c").as_deref(), Some("http://h:1/signals/a%2Fb%3Fc"));
        assert_eq!(url("http://h:1/base/", "a").as_deref(), Some("http://h:1/base/signals/a"));
        assert_eq!(url("http://h:1", ".."), None);
    }
}

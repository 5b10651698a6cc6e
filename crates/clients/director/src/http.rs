//! The director over HTTP and GraphQL.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::Clock;
use http_client::graphql::{self, Endpoint};
use http_client::{Answer, DriverError};
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::queries::{RUNTIME, RUNTIMES, SET_RUNTIME_LABEL};
use super::token::{ClientCredentials, TokenSource};
use super::types::{PageBody, RuntimeBody};
use super::{Director, DirectorRuntime, SYSTEM};

const PAGE_SIZE: u32 = 100;
/// More runtimes than this do not share one label of one tenant; an external system with more of them goes in circles.
const PAGES_MAX: usize = 50;

/// One client, and so one pool of connections, for all calls.
#[derive(Debug)]
pub struct HttpDirector {
    endpoint: Endpoint,
    tokens: Option<TokenSource>,
}

impl HttpDirector {
    /// `url` is the whole address, path included. `timeout` limits connecting and every silence; a whole call
    /// ends after twice that time. Without credentials the calls carry no token.
    pub fn new(
        url: &str,
        credentials: Option<ClientCredentials>,
        clock: Arc<dyn Clock>,
        timeout: Duration,
    ) -> Result<Self, DriverError> {
        let tokens =
            credentials.map(|credentials| TokenSource::new(credentials, clock, timeout)).transpose()?;
        Ok(HttpDirector { endpoint: Endpoint::new(SYSTEM, url, timeout)?, tokens })
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        tenant: &str,
        query: &str,
        variables: Value,
    ) -> Result<Option<T>, DriverError> {
        let mut headers = HeaderMap::new();
        headers.insert("tenant", SYSTEM.header("tenant", tenant)?);
        let answer = match &self.tokens {
            None => self.endpoint.send(headers, query, &variables).await?,
            Some(tokens) => self.send_with_token(tokens, headers, query, &variables).await?,
        };
        if answer.status == StatusCode::UNAUTHORIZED {
            return Err(SYSTEM.broken("it does not accept our token: check the client id, secret and scope"));
        }
        graphql::result(&answer, &[])
    }

    /// A token may be withdrawn before its time, so a 401 gets one more try with a new one.
    async fn send_with_token(
        &self,
        tokens: &TokenSource,
        mut headers: HeaderMap,
        query: &str,
        variables: &Value,
    ) -> Result<Answer, DriverError> {
        let bearer = tokens.bearer().await?;
        headers.insert(AUTHORIZATION, bearer.clone());
        let answer = self.endpoint.send(headers.clone(), query, variables).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        headers.insert(AUTHORIZATION, tokens.bearer_after(&bearer).await?);
        self.endpoint.send(headers, query, variables).await
    }
}

#[async_trait]
impl Director for HttpDirector {
    async fn runtime(&self, tenant: &str, id: &str) -> Result<Option<DirectorRuntime>, DriverError> {
        let found = self.ask::<RuntimeBody>(tenant, RUNTIME, json!({ "id": id })).await?;
        found.map(DirectorRuntime::try_from).transpose()
    }

    async fn runtimes_by_label(
        &self,
        tenant: &str,
        key: &str,
        value: &str,
    ) -> Result<Vec<DirectorRuntime>, DriverError> {
        // The director compares labels as JSON, so a text is sought with its quotes.
        let literal = Value::from(value).to_string();
        let mut found = Vec::new();
        let mut after = Value::Null;
        for _ in 0..PAGES_MAX {
            let mut variables = json!({ "key": key, "query": literal, "first": PAGE_SIZE });
            // Some directors take a null cursor for a cursor.
            if !after.is_null() {
                variables["after"] = after;
            }
            let page = self.ask::<PageBody>(tenant, RUNTIMES, variables).await?;
            let page = page.ok_or_else(|| SYSTEM.broken("it answered no page of runtimes and no error"))?;
            for runtime in page.data {
                found.push(runtime.try_into()?);
            }
            match page
                .page_info
                .end_cursor
                .filter(|cursor| page.page_info.has_next_page && !cursor.is_empty())
            {
                Some(cursor) => after = cursor.into(),
                None if page.page_info.has_next_page => {
                    return Err(SYSTEM.broken("it has more runtimes, but does not say where they begin"));
                }
                None => return Ok(found),
            }
        }
        Err(SYSTEM.broken(format!("it answered more than {PAGES_MAX} pages of runtimes")))
    }

    async fn set_label(
        &self,
        tenant: &str,
        runtime_id: &str,
        key: &str,
        value: &str,
    ) -> Result<(), DriverError> {
        let variables = json!({ "id": runtime_id, "key": key, "value": value });
        let set = self.ask::<IgnoredAny>(tenant, SET_RUNTIME_LABEL, variables).await?;
        set.map(|_| ()).ok_or_else(|| SYSTEM.broken("it answered no label and no error"))
    }
}

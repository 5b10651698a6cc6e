//! The client of the registrar, and a registrar in memory for the demonstration and the tests.

use axum::extract::{Path, State};
use axum::{Router, routing::any};
use http_client::{Answer, DriverError, ExternalSystem, client_builder};
use reqwest::{Client, Method, StatusCode};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SYSTEM: ExternalSystem = ExternalSystem("registrar");

#[derive(Clone, Default)]
pub struct Registrar(Client, String);

impl Registrar {
    pub fn new(url: &str) -> Result<Registrar, DriverError> {
        Ok(Registrar(SYSTEM.client(client_builder(Duration::from_secs(10)))?, SYSTEM.url(url)?.to_string()))
    }

    /// What a call makes has our key, so that it can be found and deleted by the key.
    pub async fn call(&self, method: Method, key: &str, name: &str) -> Result<StatusCode, DriverError> {
        let request = self.0.request(method, format!("{}{key}", self.1)).body(name.to_owned());
        let answer = Answer::to(SYSTEM, request).await?;
        let is_good = answer.status.is_success() || answer.status == StatusCode::NOT_FOUND;
        if is_good { Ok(answer.status) } else { Err(answer.error(answer.status.to_string())) }
    }
}

/// What is reserved and bought, by key.
pub type Names = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// Listens until the process ends; answers where.
pub async fn fake(names: &Names) -> std::io::Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let router = Router::new().route("/{key}", any(answer)).with_state(names.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

async fn answer(names: State<Names>, method: Method, Path(key): Path<String>, name: String) -> StatusCode {
    let mut names = names.lock().expect("no handler panics");
    match method {
        Method::GET if !names.contains_key(&key) => return StatusCode::NOT_FOUND,
        Method::PUT => drop(names.insert(key, vec![name])),
        Method::POST => names.entry(key).or_default().push(name),
        Method::DELETE => drop(names.remove(&key)),
        _ => {}
    }
    StatusCode::OK
}

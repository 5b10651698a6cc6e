//! Diagnostics for administrators: settings, keys, and whether external systems answer.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use api::types as wire;
use async_trait::async_trait;
use engine::secret::{KeyRing, SealedCount, SharedRing};
use engine::{Clock, Engine, Timestamp, WallClock};
use reqwest::redirect;
use server::{Diagnostics, KeyKeeper, System, ToWire};

use super::{ComposedEngine, LoadedKeys};
use crate::config::{Config, Database, HttpUrl, masked_url};

/// The server waits less long than this.
const LIMIT: Duration = Duration::from_secs(5);

pub(super) fn of(composed: &ComposedEngine, config: &Config) -> Result<Diagnostics> {
    let keeper = Keeper { keys: composed.keys.clone(), ring: composed.ring.clone() };
    let client = ::http_client::http_client().timeout(LIMIT).redirect(redirect::Policy::none()).no_proxy();
    let client = client.build().context("cannot make an HTTP client")?;
    let sandbox = composed.sandbox_url.as_deref();
    let mut systems = Systems { config, sandbox, client, all: Vec::new(), required: Vec::new() };
    systems
        .add(Arc::new(Base { engine: composed.engine.clone(), address: address_of(&config.store.database) }));
    for product in &composed.products {
        product.systems(&mut systems);
    }
    let Systems { all, required, .. } = systems;
    Ok(Diagnostics::new(in_force(config), all, Some(Arc::new(keeper))).requiring(required))
}

/// External systems, in the order in which they are shown.
pub struct Systems<'a> {
    pub config: &'a Config,
    pub sandbox: Option<&'a str>,
    client: reqwest::Client,
    all: Vec<Arc<dyn System>>,
    required: Vec<Arc<dyn System>>,
}

impl Systems<'_> {
    /// The address that is configured, or else that below the sandbox.
    pub fn url(&self, own: Option<&HttpUrl>, sandbox_path: &str) -> Option<String> {
        let own = own.map(|url| url.as_str().to_owned());
        own.or_else(|| self.sandbox.map(|sandbox| format!("{sandbox}{sandbox_path}")))
    }

    /// A system that speaks HTTP.
    pub fn web(&mut self, name: &'static str, url: Option<String>) -> Arc<dyn System> {
        let address = url.as_deref().map(masked_url);
        let system: Arc<dyn System> = Arc::new(Web { name, address, url, client: self.client.clone() });
        self.add(Arc::clone(&system));
        system
    }

    pub fn add(&mut self, system: Arc<dyn System>) {
        self.all.push(system);
    }

    /// The server is not ready before this system has answered once.
    pub fn require(&mut self, system: Arc<dyn System>) {
        self.required.push(system);
    }
}

/// What `config show` shows; secrets are masked there already.
fn in_force(config: &Config) -> Vec<wire::Setting> {
    let setting = |(path, value, origin): (&str, &serde_json::Value, &crate::config::Origin)| wire::Setting {
        path: path.to_owned(),
        value: value.clone(),
        origin: origin.to_string(),
        variable: ::config::variable(path),
        about: config.table().find(path).map(|setting| setting.doc.to_owned()).unwrap_or_default(),
    };
    config.origins().iter().map(setting).collect()
}

fn address_of(database: &Database) -> String {
    match database {
        Database::Sqlite(path) => path.display().to_string(),
        Database::Postgres(url) => {
            use secrecy::ExposeSecret as _;
            masked_url(url.expose_secret())
        }
    }
}

struct Base {
    engine: Engine,
    address: String,
}

#[async_trait]
impl System for Base {
    fn name(&self) -> &'static str {
        "Database"
    }

    fn address(&self) -> Option<&str> {
        Some(&self.address)
    }

    async fn look(&self) -> Result<String, String> {
        let began = WallClock.now();
        self.engine.is_ready().await.map_err(|error| error.to_string())?;
        Ok(format!("answered in {} ms, and the lease of this node is valid", since(began)))
    }
}

/// A system that speaks HTTP. Any answer means that it is there, unless it says that it is not ready.
struct Web {
    name: &'static str,
    url: Option<String>,
    address: Option<String>,
    client: reqwest::Client,
}

#[async_trait]
impl System for Web {
    fn name(&self) -> &str {
        self.name
    }

    fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    async fn look(&self) -> Result<String, String> {
        let Some(url) = &self.url else { return Err("it has no address".to_owned()) };
        let began = WallClock.now();
        let answer = self.client.get(url).send().await.map_err(|error| unreachable(&error))?;
        let status = answer.status();
        if status.is_server_error() {
            return Err(format!("it answers, with status {}", status.as_u16()));
        }
        Ok(format!("answered in {} ms", since(began)))
    }
}

/// The words of the error, without the address: that may hold a password.
fn unreachable(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        "it does not answer in time".to_owned()
    } else if error.is_connect() {
        "nothing listens there, or a firewall blocks the way".to_owned()
    } else {
        "its answer is not HTTP".to_owned()
    }
}

pub fn since(began: Timestamp) -> u128 {
    WallClock.now().since(began).as_millis()
}

struct Keeper {
    keys: LoadedKeys,
    ring: SharedRing,
}

#[async_trait]
impl KeyKeeper for Keeper {
    async fn keys(&self, sealed: bool) -> Result<wire::KeyList, String> {
        let keys = self.keys.clone();
        let listed = tokio::task::spawn_blocking(move || keys.list()).await;
        let listed = listed.map_err(|error| error.to_string())?;
        let mut list = listed.map(key_list).map_err(|error| format!("{error:#}"))?;
        if sealed {
            for key in &mut list.items {
                let count = self.keys.count_sealed(&self.ring, &key.id).await;
                let SealedCount { operations, history, records } =
                    count.map_err(|error| error.to_string())?;
                key.sealed = Some(wire::SealedValues { operations, records, history });
            }
        }
        Ok(list)
    }

    async fn rotate(&self) -> Result<wire::KeyList, String> {
        self.keys.rotate(&self.ring).await.map(key_list).map_err(|error| format!("{error:#}"))
    }
}

fn key_list((ring, changed_at): (KeyRing, Option<SystemTime>)) -> wire::KeyList {
    let key = |id: &str| wire::Key {
        id: id.to_owned(),
        active: id == ring.active(),
        retiring: ring.retiring().any(|retiring| retiring == id),
        since: ring.since(id).map(server::ToWire::to_wire),
        sealed: None,
    };
    let changed_at = changed_at.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    wire::KeyList {
        items: ring.ids().map(key).collect(),
        changed_at: changed_at.map(|since| Timestamp(0).plus(since).to_wire()),
    }
}

//! What administrators may see of this process: its settings, its keys, and whether the systems outside answer.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use async_trait::async_trait;
use engine::secret::{KeyRing, SharedRing};
use engine::{Clock, Engine, Timestamp, WallClock};
use reqwest::redirect;
use server::{KeyKeeper, System, Upkeep, wire};
use tokio::net::TcpStream;

use super::{House, Keys};
use crate::config::{Config, Database, HttpUrl, masked_url, table};

/// The doors are more impatient than this.
const LIMIT: Duration = Duration::from_secs(5);
const OPEN_NEBULA: &str = "OpenNebula";
const ONE_FLOW: &str = "OneFlow";

pub(super) fn of(house: &House, config: &Config) -> Result<Upkeep> {
    let keeper = Keeper { keys: house.keys.clone(), ring: house.ring.clone() };
    let systems = systems(house, config)?;
    // Whoever names an OpenNebula wants to be told when it is not there.
    let is_named = config.serverless.enabled && config.serverless.oned.is_some();
    let is_required =
        |system: &&Arc<dyn System>| is_named && [OPEN_NEBULA, ONE_FLOW].contains(&system.name());
    let required = systems.iter().filter(is_required).cloned().collect();
    Ok(Upkeep::new(in_force(config), systems, Some(Arc::new(keeper))).requiring(required))
}

/// What `config show` shows; secrets are masked there already.
fn in_force(config: &Config) -> Vec<wire::Setting> {
    let setting = |(path, value, origin): (&str, &serde_json::Value, &crate::config::Origin)| wire::Setting {
        path: path.to_owned(),
        value: value.clone(),
        origin: origin.to_string(),
        variable: ::config::variable(path),
        about: table().find(path).map(|setting| setting.doc.to_owned()).unwrap_or_default(),
    };
    config.origins().iter().map(setting).collect()
}

fn systems(house: &House, config: &Config) -> Result<Vec<Arc<dyn System>>> {
    let client = ::http_client::http_client().timeout(LIMIT).redirect(redirect::Policy::none()).no_proxy();
    let client = client.build().context("cannot make an HTTP client")?;
    let sandbox = house.sandbox_url.as_deref();
    let web = |name: &'static str, url: Option<String>| -> Arc<dyn System> {
        Arc::new(Web { name, address: url.as_deref().map(masked_url), url, client: client.clone() })
    };
    let or_sandbox = |url: &Option<HttpUrl>, path: &str| {
        let own = url.as_ref().map(|url| url.as_str().to_owned());
        own.or_else(|| sandbox.map(|sandbox| format!("{sandbox}{path}")))
    };
    let aws = &config.launch.aws;
    let [ec2, sts] = match (aws.enabled, sandbox) {
        (true, _) => [&aws.ec2, &aws.sts].map(|url| Some(url.replace("{region}", &aws.region))),
        (false, Some(url)) => [format!("{url}/aws/ec2/{}", aws.region), format!("{url}/aws/sts")].map(Some),
        (false, None) => [None, None],
    };
    let nebula = |url: &String| config.serverless.enabled.then(|| url.clone());
    let builder = or_sandbox(&config.launch.image_builder, "/api/image-builder/v1");
    Ok(vec![
        Arc::new(Base { engine: house.engine.clone(), address: place(&config.store.database) }),
        web("Provisioner", or_sandbox(&config.drivers.provisioner.url, "/provisioner/graphql")),
        web(OPEN_NEBULA, nebula(&house.nebula.oned)),
        web(ONE_FLOW, nebula(&house.nebula.oneflow)),
        web("Image Builder", builder.map(|url| format!("{}/ready", url.trim_end_matches('/')))),
        web("EC2", ec2),
        web("STS", sts),
        web("Sources", config.launch.sources.as_ref().map(|url| url.as_str().to_owned())),
        Arc::new(Brokers {
            addresses: house.cloud.events.as_ref().map(|events| events.kafka.brokers.clone()),
        }),
    ])
}

fn place(database: &Database) -> String {
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

/// Somebody who speaks HTTP. Whatever they answer, they are there, unless they say themselves that they are not well.
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
        "nobody listens there, or the way is blocked".to_owned()
    } else {
        "it does not speak HTTP as it should".to_owned()
    }
}

struct Brokers {
    addresses: Option<String>,
}

#[async_trait]
impl System for Brokers {
    fn name(&self) -> &'static str {
        "Kafka"
    }

    fn address(&self) -> Option<&str> {
        self.addresses.as_deref()
    }

    /// One of them is enough: the others are found through it.
    async fn look(&self) -> Result<String, String> {
        let began = WallClock.now();
        let all = self.addresses.as_deref().unwrap_or_default();
        for address in all.split(',').map(str::trim).filter(|address| !address.is_empty()) {
            if TcpStream::connect(address).await.is_ok() {
                return Ok(format!("{address} takes connections, after {} ms", since(began)));
            }
        }
        Err("no broker takes connections".to_owned())
    }
}

fn since(began: Timestamp) -> u128 {
    WallClock.now().since(began).as_millis()
}

struct Keeper {
    keys: Keys,
    ring: SharedRing,
}

#[async_trait]
impl KeyKeeper for Keeper {
    async fn keys(&self) -> Result<wire::KeyList, String> {
        let keys = self.keys.clone();
        let listed = tokio::task::spawn_blocking(move || keys.list()).await;
        listed.map_err(|error| error.to_string())?.map(key_list).map_err(|error| format!("{error:#}"))
    }

    async fn rotate(&self) -> Result<wire::KeyList, String> {
        self.keys.rotate(&self.ring).await.map(key_list).map_err(|error| format!("{error:#}"))
    }
}

fn key_list((ring, changed_at): (KeyRing, Option<SystemTime>)) -> wire::KeyList {
    let key = |id: &str| wire::Key { id: id.to_owned(), active: id == ring.active() };
    let changed_at = changed_at.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    wire::KeyList {
        items: ring.ids().map(key).collect(),
        changed_at: changed_at.map(|since| wire::Moment::from(Timestamp(0).plus(since))),
    }
}

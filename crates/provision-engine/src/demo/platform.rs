//! A platform in front of the broker of this process. It comes over loopback, through the same APIs as any other.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::runtimes::model::catalog::Catalog;
use anyhow::{Context, Result};
use engine::secret::{ExposeSecret, SecretString};
use engine::{Clock, Role, WallClock};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use server::Meter;
use server::tokens::issue;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use app::compose::ComposedEngine;
use app::config::Config;
use app::listener::{ListenerLimits, serve};
use app::product::Serving;

/// Platforms give up after a minute.
const CALL_LIMIT: Duration = Duration::from_secs(60);
const API_VERSION: &str = "2.17";

/// The APIs are open as long as this lives.
pub struct Platform {
    http: Client,
    listen: SocketAddr,
    url: String,
    password: SecretString,
    service: String,
    plan: String,
    _doors: DropGuard,
}

impl Platform {
    /// `name` is who asks, in journals and logs. No token has it yet.
    pub async fn open(
        composed: &ComposedEngine,
        config: &Config,
        meter: &Arc<Meter>,
        name: &str,
        role: Role,
    ) -> Result<Platform> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on loopback")?;
        let listen = listener.local_addr()?;
        let url = format!("http://{listen}");
        let closing = CancellationToken::new();
        let router = composed.apis(config, meter, &closing)?.0;
        tokio::spawn(serve(listener, router, ListenerLimits::of(&config.server), None, closing.clone()));
        let password = issue(&*composed.access, name, role, WallClock.now(), None).await?;
        let catalog = Catalog::built_in();
        let plan = catalog.plan_named("azure").context("the built-in catalog has no plan azure")?.id.clone();
        let (http, service) = (client()?, catalog.service.id);
        Ok(Platform { http, listen, url, password, service, plan, _doors: closing.drop_guard() })
    }

    /// Where the APIs are, for others who come through them.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where the APIs are, for products that call back.
    pub fn serving(&self) -> Serving {
        Serving { listen: self.listen, local_url: self.url.clone() }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(self.password.expose_secret())
            .header("X-Broker-API-Version", API_VERSION)
    }

    /// Asks for a runtime of the plan azure.
    pub fn provision(&self, instance: &str, tenant: &str, name: &str) -> RequestBuilder {
        let mut body = self.runtime(&json!({"name": name, "region": "westeurope"}));
        body["organization_guid"] = tenant.into();
        body["space_guid"] = tenant.into();
        body["context"] = json!({"globalaccount_id": tenant, "subaccount_id": tenant});
        self.change(Method::PUT, &instance_path(instance)).json(&body)
    }

    pub fn update(&self, instance: &str, parameters: &Value) -> RequestBuilder {
        self.change(Method::PATCH, &instance_path(instance)).json(&self.runtime(parameters))
    }

    pub fn bind(&self, instance: &str, binding: &str, parameters: &Value) -> RequestBuilder {
        self.change(Method::PUT, &binding_path(instance, binding)).json(&self.runtime(parameters))
    }

    pub fn binding(&self, instance: &str, binding: &str) -> RequestBuilder {
        self.request(Method::GET, &binding_path(instance, binding))
    }

    pub fn unbind(&self, instance: &str, binding: &str) -> RequestBuilder {
        self.change(Method::DELETE, &binding_path(instance, binding)).query(&self.ids())
    }

    pub fn delete(&self, instance: &str) -> RequestBuilder {
        self.change(Method::DELETE, &instance_path(instance)).query(&self.ids())
    }

    pub fn last_operation(&self, instance: &str) -> RequestBuilder {
        self.request(Method::GET, &format!("{}/last_operation", instance_path(instance)))
    }

    fn change(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).query(&[("accepts_incomplete", "true")])
    }

    fn runtime(&self, parameters: &Value) -> Value {
        json!({"service_id": self.service, "plan_id": self.plan, "parameters": parameters})
    }

    fn ids(&self) -> [(&'static str, &str); 2] {
        [("service_id", &self.service), ("plan_id", &self.plan)]
    }
}

fn instance_path(instance: &str) -> String {
    format!("/v2/service_instances/{instance}")
}

fn binding_path(instance: &str, binding: &str) -> String {
    format!("{}/service_bindings/{binding}", instance_path(instance))
}

/// What is on this machine is never behind a proxy.
pub fn client() -> Result<Client> {
    ::http_client::http_client().no_proxy().timeout(CALL_LIMIT).build().context("cannot make an HTTP client")
}

//! The base: the same calls to OpenNebula, in the same order, by the driver alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ::opennebula::{
    AttributeName, NebulaCredentials, NebulaTemplate, OpenNebula, OpenNebulaOptions, RUNTIME_DOCUMENT,
    ServiceTemplate, Text,
};
use anyhow::{Context, Result, ensure};
use sandbox::Sandbox;
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::CREATORS;
use super::offer::Asking;
use super::timing::burst;
use provision_engine::demo_client::{PASSWORD, USER};
use provision_engine::platform;

/// The names of roles and flavours.
pub(super) type Flavour = &'static [(&'static str, &'static str)];

/// Without a network, because a sandbox has only so many addresses.
pub(super) const CREATED: Flavour = &[("FAAS", "NoNet")];
pub(super) const WATCHED: Flavour = &[("FAAS", "Function"), ("DAAS", "Data")];

/// What a runtime of these flavours is asked for with.
pub(super) fn flavours(of: Flavour) -> Value {
    let function = |(role, flavour): &(&str, &str)| ((*role).to_owned(), json!({"FLAVOUR": flavour}));
    Value::Object(of.iter().map(function).collect::<Map<String, Value>>())
}

/// A sandbox in which nothing takes any time.
pub(super) async fn at_once() -> Result<Sandbox> {
    let sandbox = Sandbox::start(([127, 0, 0, 1], 0).into()).await.context("cannot start the sandbox")?;
    let (http, url) = (platform::client()?, format!("{}/opennebula/pace", sandbox.url()));
    let rate: Map<String, Value> = http.get(&url).send().await?.error_for_status()?.json().await?;
    let zero: Map<String, Value> = rate.into_iter().map(|(name, _)| (name, 0.into())).collect();
    http.put(&url).json(&zero).send().await?.error_for_status()?;
    Ok(sandbox)
}

pub(super) struct Direct {
    sandbox: Sandbox,
    caller: Arc<DirectClient>,
}

/// The driver, and in whose name it calls.
struct DirectClient {
    nebula: OpenNebula,
    credentials: NebulaCredentials,
}

/// What was made, by the numbers of OpenNebula.
#[derive(Debug, Clone)]
pub(super) struct CreatedRuntime {
    document: i32,
    service: i32,
    machines: Vec<i32>,
}

impl Direct {
    pub(super) async fn start() -> Result<Direct> {
        let sandbox = at_once().await?;
        let nebula = OpenNebula::new(&OpenNebulaOptions::new(sandbox.oned_url(), sandbox.oneflow_url()))?;
        let credentials = NebulaCredentials::new(USER, SecretString::from(PASSWORD))?;
        Ok(Direct { sandbox, caller: Arc::new(DirectClient { nebula, credentials }) })
    }

    /// Makes runtimes to look at.
    pub(super) async fn watched(&self, count: usize) -> Result<Arc<[CreatedRuntime]>> {
        let made = Arc::new(Mutex::new(Vec::new()));
        let (caller, list) = (Arc::clone(&self.caller), Arc::clone(&made));
        let make = move |_| -> Asking {
            let (caller, list) = (Arc::clone(&caller), Arc::clone(&list));
            Box::pin(async move {
                let made = caller.create(WATCHED).await?;
                list.lock().unwrap_or_else(PoisonError::into_inner).push(made);
                Ok(())
            })
        };
        burst(CREATORS, count, make).await?;
        let made = std::mem::take(&mut *made.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(made.into())
    }

    pub(super) fn creator(&self) -> impl Fn(usize) -> Asking + Send + Sync + 'static {
        let caller = Arc::clone(&self.caller);
        move |_| {
            let caller = Arc::clone(&caller);
            Box::pin(async move { caller.create(CREATED).await.map(drop) })
        }
    }

    pub(super) fn reader(
        &self,
        made: &Arc<[CreatedRuntime]>,
    ) -> impl Fn(usize) -> Asking + Send + Sync + 'static {
        let (caller, made) = (Arc::clone(&self.caller), Arc::clone(made));
        move |number| {
            let (caller, made) = (Arc::clone(&caller), Arc::clone(&made));
            Box::pin(async move { caller.read(&made[number % made.len()]).await })
        }
    }

    pub(super) async fn end(self) {
        self.sandbox.stop().await;
    }
}

impl DirectClient {
    async fn create(&self, of: Flavour) -> Result<CreatedRuntime> {
        let (nebula, own) = (&self.nebula, &self.credentials);
        let name: Vec<&str> = of.iter().map(|(_, flavour)| *flavour).collect();
        let name = name.join("-");
        let templates = nebula.service_templates(own).await?;
        let template = templates.into_iter().find(|template| template.name == name);
        let template = template.with_context(|| format!("the sandbox has no service template {name}"))?;
        // Once to find out whether it can be made, and once to make it.
        self.contents(&template).await?;
        let document = nebula.allocate_document(own, &body(of), RUNTIME_DOCUMENT).await?;
        let contents = self.contents(&template).await?;
        let service = nebula.instantiate(own, &template, &format!("base-{document}"), &contents).await?.id;
        let roles = nebula.service(own, service).await?.roles;
        ensure!(roles.iter().all(|role| !role.nodes.is_empty()), "service {service} takes its time");
        let machines: Vec<i32> = roles.into_iter().flat_map(|role| role.nodes).collect();
        nebula.machines(own, &machines).await?;
        nebula.amend_document(own, document, &body(of)).await?;
        Ok(CreatedRuntime { document, service, machines })
    }

    async fn contents(&self, template: &ServiceTemplate) -> Result<BTreeMap<String, NebulaTemplate>> {
        let mut contents = BTreeMap::new();
        for role in &template.roles {
            let id = role.vm_template.context("a role has no VM template")?;
            let base = self.nebula.vm_template(&self.credentials, id).await?.template;
            let mut made = NebulaTemplate::new();
            for disk in base.vectors("DISK") {
                made.push(disk.clone());
            }
            for name in ["CPU", "VCPU", "MEMORY"] {
                made.set(AttributeName::of(name), Text::ours(base.get(name).unwrap_or("1")));
            }
            contents.insert(role.name.clone(), made);
        }
        Ok(contents)
    }

    async fn read(&self, made: &CreatedRuntime) -> Result<()> {
        let (nebula, own) = (&self.nebula, &self.credentials);
        nebula.document(own, made.document).await?;
        let (service, machines) =
            tokio::join!(nebula.service(own, made.service), nebula.machines(own, &made.machines));
        service?;
        machines?;
        Ok(())
    }
}

fn body(of: Flavour) -> NebulaTemplate {
    let mut template = NebulaTemplate::new();
    template.set(AttributeName::of("NAME"), Text::ours("base"));
    template.set(AttributeName::of("BODY"), Text::ours(flavours(of).to_string()));
    template
}

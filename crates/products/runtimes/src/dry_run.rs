//! A dry run of provisioning with everything that is configured, connected to nothing.

use std::sync::Arc;

use crate::model::catalog::{CatalogPlan, Purpose};
use crate::model::{InstanceRecord, Parameters, seal_json};
use crate::workflows::provision;
use anyhow::{Result, anyhow, bail};
use engine::secret::Sealer;
use engine::store::{MemoryStore, RecordUpdate, Store};
use engine::{DryRun, Resource, WallClock};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::compose::configured;
use crate::settings::Settings;

/// What a platform would ask for. A body of the broker's API can be given as it is.
#[derive(Debug, Deserialize)]
struct DryRunRequest {
    #[serde(default = "example_id")]
    instance_id: String,
    /// Name or id.
    #[serde(alias = "plan_id")]
    plan: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    context: Map<String, Value>,
}

fn example_id() -> String {
    "00000000-0000-0000-0000-000000000000".into()
}

/// The request that `create_runtime` would send.
pub(crate) async fn dry_run(settings: &Settings, asked: Value) -> Result<Value> {
    let asked: DryRunRequest = engine::parse(asked).map_err(|error| anyhow!("--params: {error}"))?;
    // What the request is made of comes from the configuration; what would be called does not exist.
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let drivers = configured(settings, &store, crate::compose::unconnected())?;
    let catalog = &drivers.runtimes.catalog;
    let Some(plan) = catalog.plan(&asked.plan).or_else(|| catalog.plan_named(&asked.plan)) else {
        let known: Vec<&str> = catalog.plans.iter().map(|plan| plan.name.as_str()).collect();
        bail!("there is no plan {:?}; known are {}", asked.plan, known.join(", "));
    };
    let parameters = Value::Object(asked.parameters.clone());
    plan.validate(Purpose::Create, &parameters).map_err(|error| anyhow!(error))?;
    let read = Parameters::read(&asked.parameters).map_err(|error| anyhow!(error))?;
    let region = plan.region(read.region.as_deref(), None);
    read.check(plan, catalog.cloud(plan.provider), &region, None).map_err(|error| anyhow!(error))?;
    read.check_backend(plan, None).map_err(|error| anyhow!(error))?;
    let account = text(&asked.context, "globalaccount_id").unwrap_or_else(|| "example".into());
    let dry_run_context = DryRun {
        tenant: account.clone(),
        resource: InstanceRecord::resource(&asked.instance_id),
        params: json!({"instance_id": asked.instance_id}),
        clock: Arc::new(WallClock),
    };
    let record = |sealer: &Sealer| record(&asked, plan, &catalog.service.id, account, sealer);
    let op =
        provision::plan(&drivers).preview(dry_run_context, record).await.map_err(|error| anyhow!(error))?;
    op.input.request.ok_or_else(|| anyhow!("no step showed a request"))
}

fn record(
    asked: &DryRunRequest,
    plan: &CatalogPlan,
    service_id: &str,
    account: String,
    sealer: &Sealer,
) -> Result<RecordUpdate, String> {
    let (parameters, context) = (seal_json(&asked.parameters, sealer), seal_json(&asked.context, sealer));
    let region = asked.parameters.get("region").and_then(Value::as_str);
    let instance = InstanceRecord {
        plan: plan.name.clone(),
        provider: plan.provider.as_str().to_owned(),
        region: plan.region(region, None),
        account,
        subaccount: text(&asked.context, "subaccount_id").unwrap_or_else(|| "example".into()),
        ..InstanceRecord::new(&asked.instance_id, service_id, &plan.id, parameters, context)
    };
    instance.record_update()
}

fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}

//! What a request must fulfil before any client looks at what is there.

use crate::model::Parameters;
use crate::model::catalog::{Catalog, CatalogPlan, Purpose};
use serde_json::{Map, Value};

use super::BrokerShared;
use super::error;
use super::instance_path::QueryParams;
use super::wire::MaintenanceInfo;
use server::http::Failure;

impl BrokerShared {
    /// The plan that a request means.
    pub(crate) fn plan(&self, service: &str, plan: &str) -> Result<&CatalogPlan, Failure> {
        self.plan_seen_from(None, service, plan)
    }

    /// The plan that a request for a new instance means, as this region of a platform sees it.
    pub(crate) fn plan_seen_from(
        &self,
        platform_region: Option<&str>,
        service: &str,
        plan: &str,
    ) -> Result<&CatalogPlan, Failure> {
        self.service(service)?;
        self.catalog
            .of_platform(platform_region)
            .plan(plan)
            .ok_or_else(|| error::bad("plan_id: the catalog has no such plan"))
    }

    pub(crate) fn service(&self, id: &str) -> Result<(), Failure> {
        if self.catalog.service.id == id {
            return Ok(());
        }
        Err(error::bad("service_id: the catalog has no such service"))
    }

    /// Whether the platform can wait. The broker whose place this takes never asked.
    pub(crate) fn can_wait(&self, query_params: &QueryParams) -> Result<(), Failure> {
        if query_params.accepts_incomplete || self.settings().compat_keb {
            return Ok(());
        }
        Err(error::async_required())
    }
}

/// Whether the version that the platform knows is the one that the plan has.
pub(crate) fn maintenance(plan: &CatalogPlan, known: Option<&MaintenanceInfo>) -> Result<(), Failure> {
    let version = known.and_then(|known| known.version.as_deref());
    match (version, &plan.maintenance) {
        (None, _) => Ok(()),
        (Some(version), Some(maintenance)) if maintenance.version == version => Ok(()),
        (Some(_), Some(_)) => Err(error::maintenance(
            "maintenance_info.version: the plan has another one by now; read the catalog again",
        )),
        (Some(_), None) => {
            Err(error::maintenance("maintenance_info: this plan has none; read the catalog again"))
        }
    }
}

pub(crate) fn schema(
    plan: &CatalogPlan,
    purpose: Purpose,
    parameters: &Map<String, Value>,
) -> Result<(), Failure> {
    plan.validate(purpose, &Value::Object(parameters.clone())).map_err(error::bad)
}

/// What all parameters of an instance mean together, in its region and for what makes its cluster.
pub(crate) fn meaning(
    catalog: &Catalog,
    plan: &CatalogPlan,
    region: &str,
    parameters: &Map<String, Value>,
    old: Option<&Map<String, Value>>,
) -> Result<(), Failure> {
    let read = Parameters::read(parameters).map_err(error::bad)?;
    let old = old.map(Parameters::read).transpose().map_err(error::bad)?;
    read.check(plan, catalog.cloud(plan.provider), region, old.as_ref()).map_err(error::bad)?;
    read.check_backend(plan, old.as_ref()).map_err(error::bad)
}

/// Parameters that the broker whose place this takes refuses by name where a plan does not have them.
const REFUSED_BY_NAME: [&str; 6] = [
    "additionalWorkerNodePools",
    "ingressFiltering",
    "accessControlList",
    "gvisor",
    "auditLogAccess",
    "additionalVolumeSizeGi",
];

/// Leaves out what that broker ignores: parameters that it does not know, and an empty region. What it does not know
/// has no effect on a cluster, also where it would have one here.
pub(crate) fn leave_out_unknown(plan: &CatalogPlan, purpose: Purpose, parameters: &mut Map<String, Value>) {
    let properties = plan.schema(purpose).and_then(|schema| schema["properties"].as_object());
    let is_known = |name: &str| properties.is_none_or(|properties| properties.contains_key(name));
    parameters.retain(|name, value| {
        let is_empty_region = name == "region" && value == "";
        (is_known(name) || REFUSED_BY_NAME.contains(&name.as_str())) && !is_empty_region
    });
}

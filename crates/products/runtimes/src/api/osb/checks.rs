//! What a request must fulfil before any client looks at what is there.

use crate::model::Parameters;
use crate::model::catalog::{CatalogPlan, Purpose};
use serde_json::{Map, Value};

use super::BrokerShared;
use super::error;
use super::instance_path::QueryParams;
use super::wire::MaintenanceInfo;
use server::http::Failure;

impl BrokerShared {
    /// The plan that a request means.
    pub(crate) fn plan(&self, service: &str, plan: &str) -> Result<&CatalogPlan, Failure> {
        self.service(service)?;
        self.catalog.plan(plan).ok_or_else(|| error::bad("plan_id: the catalog has no such plan"))
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

/// What all parameters of an instance mean together.
pub(crate) fn meaning(plan: &CatalogPlan, parameters: &Map<String, Value>) -> Result<Parameters, Failure> {
    let read = Parameters::read(parameters).map_err(error::bad)?;
    read.check(plan.defaults.min, plan.defaults.max).map_err(error::bad)?;
    Ok(read)
}

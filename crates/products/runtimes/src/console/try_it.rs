//! A runtime in the sandbox, to see how it looks.

use crate::api::osb::wire::Accepted;
use serde_json::json;
use uuid::Uuid;

use super::catalog::Catalog;
use console::{PageError, SignedIn};

/// What the sandbox has.
const PLAN: &str = "azure";
const REGION: &str = "westeurope";
const TENANT: &str = "try";

pub(super) async fn start(signed_in: &SignedIn, name: String) -> Result<String, PageError> {
    let catalog = Catalog::read(&signed_in.api).await?;
    let (service, plan) = catalog.find(PLAN)?;
    let id = Uuid::new_v4();
    let body = json!({
        "service_id": service.id, "plan_id": plan.id, "organization_guid": TENANT, "space_guid": TENANT,
        "context": {"globalaccount_id": TENANT, "subaccount_id": TENANT},
        "parameters": {"name": name, "region": REGION},
    });
    let path = format!("/v2/service_instances/{id}?accepts_incomplete=true");
    let accepted: Accepted = signed_in.api.put(&path, &body).await?.json()?;
    Ok(accepted.operation.map_or_else(
        || format!("/console/runtimes/{id}"),
        |operation| format!("/console/operations/{operation}"),
    ))
}

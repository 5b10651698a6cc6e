//! `/azure_offering_template`: what the portal of Azure reads when a client lets us into their account. The portal
//! comes from another site, without an identity, and takes no compressed answer.

use axum::Json;
use axum::extract::State;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL,
};
use axum::http::{HeaderName, StatusCode};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::LaunchState;
use super::error;
use server::http::Failure;

const CORS: [(HeaderName, &str); 4] = [
    (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (ACCESS_CONTROL_ALLOW_METHODS, "GET, OPTIONS"),
    (ACCESS_CONTROL_ALLOW_HEADERS, "*"),
    (ACCESS_CONTROL_MAX_AGE, "300"),
];
const SCHEMA: &str =
    "https://schema.management.azure.com/schemas/2019-08-01/subscriptionDeploymentTemplate.json#";
const API_VERSION: &str = "2022-10-01";
/// The built-in role that may make machines.
const CONTRIBUTOR: &str = "b24988ac-6180-42a0-ab88-20f7382dd24c";
const DEFINITIONS: &str = "Microsoft.ManagedServices/registrationDefinitions";
const ASSIGNMENTS: &str = "Microsoft.ManagedServices/registrationAssignments";

/// Who is let into an account of Azure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureOffering {
    /// The tenant from which machines are launched.
    pub tenant_id: String,
    /// The principal in it that launches them.
    pub principal_id: String,
    /// What people read before they agree.
    pub name: String,
    pub description: String,
}

impl AzureOffering {
    fn template(&self) -> Value {
        let definition = format!("[resourceId('{DEFINITIONS}', variables('definition'))]");
        json!({
            "$schema": SCHEMA,
            "contentVersion": "1.0.0.0",
            "variables": {
                "definition": format!("[guid(subscription().id, '{}', 'definition')]", self.principal_id),
                "assignment": format!("[guid(subscription().id, '{}', 'assignment')]", self.principal_id),
            },
            "resources": [
                {
                    "type": DEFINITIONS,
                    "apiVersion": API_VERSION,
                    "name": "[variables('definition')]",
                    "properties": {
                        "registrationDefinitionName": self.name,
                        "description": self.description,
                        "managedByTenantId": self.tenant_id,
                        "authorizations": [{
                            "principalId": self.principal_id,
                            "principalIdDisplayName": self.name,
                            "roleDefinitionId": CONTRIBUTOR,
                        }],
                    },
                },
                {
                    "type": ASSIGNMENTS,
                    "apiVersion": API_VERSION,
                    "name": "[variables('assignment')]",
                    "dependsOn": [definition],
                    "properties": {"registrationDefinitionId": definition},
                },
            ],
            "outputs": {
                "managedBy": {"type": "string", "value": self.tenant_id},
                "authorized": {"type": "string", "value": self.principal_id},
            },
        })
    }
}

/// The template that lets us into an account of Azure.
#[utoipa::path(
    get, path = "/azure_offering_template", tag = "sources", operation_id = "azure_offering_template",
    responses(
        (status = OK, body = Object, description = "A template of the Azure Resource Manager."),
        (status = NOT_FOUND, body = super::wire::Error, description = "Launching in Azure is not configured."),
    )
)]
pub(crate) async fn offering_template(
    State(shared): State<LaunchState>,
) -> Result<impl IntoResponse, Failure> {
    let offering = shared.api_parts.azure_offering.as_ref().ok_or_else(|| {
        error::not_found("template")
            .hint("an operator must configure the tenant from which machines are launched")
    })?;
    Ok((CORS, [(CACHE_CONTROL, "no-transform")], Json(offering.template())))
}

/// What a browser asks before it reads the template.
#[utoipa::path(
    options, path = "/azure_offering_template", tag = "sources", operation_id = "azure_offering_template_options",
    responses((status = OK, description = "Every site may read it."))
)]
pub(crate) async fn offering_template_options() -> impl IntoResponse {
    (StatusCode::OK, CORS)
}

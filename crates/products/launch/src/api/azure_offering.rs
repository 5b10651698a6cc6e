//! `/azure_offering_template`: what the portal of Azure reads when a customer delegates a subscription to us. The portal
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
use super::query::QueryParams;
use cloud::EXTERNAL_ID_PREFIX;
use server::http::Failure;
use server::principal::is_organisation;

const CORS: [(HeaderName, &str); 4] = [
    (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (ACCESS_CONTROL_ALLOW_METHODS, "GET, OPTIONS"),
    (ACCESS_CONTROL_ALLOW_HEADERS, "*"),
    (ACCESS_CONTROL_MAX_AGE, "300"),
];
const SCHEMA: &str =
    "https://schema.management.azure.com/schemas/2019-08-01/subscriptionDeploymentTemplate.json#";
const API_VERSION: &str = "2022-10-01";
/// The built-in role that may make instances.
const CONTRIBUTOR: &str = "b24988ac-6180-42a0-ab88-20f7382dd24c";
const DEFINITIONS: &str = "Microsoft.ManagedServices/registrationDefinitions";
const ASSIGNMENTS: &str = "Microsoft.ManagedServices/registrationAssignments";

/// Who is let into an account of Azure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureOffering {
    /// The tenant from which instances are launched.
    pub tenant_id: String,
    /// The principal in it that launches them.
    pub principal_id: String,
    /// What people read before they agree.
    pub name: String,
    pub description: String,
}

impl AzureOffering {
    /// The delegation names the organisation that may use the account: the client of Azure asks for that word, because
    /// the principal is the same for all organisations.
    fn template(&self, organisation: &str) -> Value {
        let guid = |word: &str| {
            format!("[guid(subscription().id, '{}', '{organisation}', '{word}')]", self.principal_id)
        };
        let definition = format!("[resourceId('{DEFINITIONS}', variables('definition'))]");
        json!({
            "$schema": SCHEMA,
            "contentVersion": "1.0.0.0",
            "variables": {
                "definition": guid("definition"),
                "assignment": guid("assignment"),
            },
            "resources": [
                {
                    "type": DEFINITIONS,
                    "apiVersion": API_VERSION,
                    "name": "[variables('definition')]",
                    "properties": {
                        "registrationDefinitionName": self.name,
                        "description": format!("{} {EXTERNAL_ID_PREFIX}{organisation}", self.description),
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

/// The template that delegates a subscription of Azure to the engine.
#[utoipa::path(
    get, path = "/azure_offering_template", tag = "sources", operation_id = "azure_offering_template",
    params(("organisation" = Option<String>, Query,
        description = "Who may launch in the account; without it the organisation of the server.")),
    responses(
        (status = OK, body = Object, description = "A template of the Azure Resource Manager."),
        (status = BAD_REQUEST, description = "The organisation cannot be one."),
        (status = NOT_FOUND, description = "Launching in Azure is not configured."),
    )
)]
pub(crate) async fn offering_template(
    State(shared): State<LaunchState>,
    asked: QueryParams,
) -> Result<impl IntoResponse, Failure> {
    let organisation = asked.text("organisation")?.unwrap_or(&shared.api_parts.default_org);
    if !is_organisation(organisation) {
        return Err(error::invalid("organisation", "must be the id of an organisation"));
    }
    let offering = shared.api_parts.azure_offering.as_ref().ok_or_else(|| {
        error::not_found("template")
            .hint("an operator must configure the tenant from which instances are launched")
    })?;
    Ok((CORS, [(CACHE_CONTROL, "no-transform")], Json(offering.template(organisation))))
}

/// What a browser asks before it reads the template.
#[utoipa::path(
    options, path = "/azure_offering_template", tag = "sources", operation_id = "azure_offering_template_options",
    responses((status = OK, description = "Every site may read it."))
)]
pub(crate) async fn offering_template_options() -> impl IntoResponse {
    (StatusCode::OK, CORS)
}

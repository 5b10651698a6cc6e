//! A client of the API of serverless runtimes, in the name of a user of OpenNebula.

mod credentials;
mod runtime;

use crate::api::wire::{OperationState, RuntimeOperation, RuntimeProgress};
use api::CognitBody;
use api::client::{Api, Auth, CallError, Client, ErrorFormat, Request};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use uuid::Uuid;

use app::cli::Global;
use app::client::{Address, CallResult};

pub use crate::model::FunctionRole;
pub(crate) use credentials::OpenNebulaArgs;
pub use runtime::{RuntimeBody, State};

static SERVERLESS: Api = Api {
    format: ErrorFormat::Cognit,
    noun: "",
    question: "does it offer serverless runtimes? Its setting serverless.enabled says so",
};

#[derive(Debug, Clone)]
pub(crate) struct ServerlessClient {
    pub(crate) http: Client,
}

#[derive(serde::Deserialize)]
struct RuntimeEnvelope {
    #[serde(rename = "SERVERLESS_RUNTIME")]
    runtime: RuntimeBody,
}

#[derive(serde::Deserialize)]
struct RuntimeListing {
    #[serde(rename = "SERVERLESS_RUNTIMES")]
    runtimes: Vec<RuntimeBody>,
}

impl ServerlessClient {
    pub(crate) fn find(global: &Global, args: &OpenNebulaArgs) -> anyhow::Result<ServerlessClient> {
        let credentials = args.credentials()?;
        let (user, password) = (credentials.user.clone(), credentials.secret().clone());
        let client = Address::find(global)?.client(&SERVERLESS, Auth::Basic { user, password })?;
        Ok(ServerlessClient { http: client.below(["serverless-runtimes"]) })
    }

    pub(crate) async fn runtime(&self, id: i32) -> CallResult<RuntimeBody> {
        let envelope: RuntimeEnvelope = self.http.get(&[&id.to_string()]).await?;
        Ok(envelope.runtime)
    }

    /// A page of runtimes, the newest first.
    pub(crate) async fn runtimes(&self, query: &[(&str, String)]) -> CallResult<Vec<RuntimeBody>> {
        let listing: RuntimeListing = self.http.request(Method::GET, &[])?.query(query).read().await?;
        Ok(listing.runtimes)
    }

    /// The same key with the same body is the same runtime.
    pub(crate) async fn create(&self, body: &Value, key: &str) -> CallResult<RuntimeOperation> {
        let request = self.http.request(Method::POST, &[])?.header("Idempotency-Key", key);
        change(request.json(body)).await
    }

    pub(crate) async fn update(&self, id: i32, body: &Value) -> CallResult<RuntimeOperation> {
        change(self.http.request(Method::PUT, &[&id.to_string()])?.json(body)).await
    }

    pub(crate) async fn delete(&self, id: i32) -> CallResult<RuntimeOperation> {
        change(self.http.request(Method::DELETE, &[&id.to_string()])?).await
    }

    pub(crate) async fn operation(&self, id: Uuid) -> CallResult<RuntimeOperation> {
        let progress: RuntimeProgress = self.http.get(&["operations", &id.to_string()]).await?;
        Ok(progress.operation)
    }
}

/// The answer comes at once, so that a change survives the connection on which it was asked for.
async fn change(request: Request<'_>) -> CallResult<RuntimeOperation> {
    let progress: RuntimeProgress = request.header("Prefer", "respond-async").read().await?;
    Ok(progress.operation)
}

/// The operation when it is over, or what it failed with.
pub(crate) fn succeeded(operation: RuntimeOperation) -> CallResult<RuntimeOperation> {
    if operation.state != OperationState::Failed {
        return Ok(operation);
    }
    let status = operation.status.and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let unexplained = || CognitBody {
        error: format!("operation {} failed and did not say why", operation.id),
        message: Value::Null,
    };
    let error = operation.runtime_error.unwrap_or_else(unexplained).into_error(status);
    Err(CallError::failed(ErrorFormat::Cognit, error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_failed_on_the_way_is_told_apart_from_what_was_never_begun() {
        let mut operation = json!({
            "ID": "00000000-0000-4000-8000-000000000001", "ACTION": "create", "STATE": "FAILED",
            "STATUS": 504, "REFUSAL": {"error": "too slow", "message": ""},
        });
        let read = |operation: &Value| succeeded(serde_json::from_value(operation.clone()).unwrap());
        let error = read(&operation).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.may_heal()), ("too slow", false));
        assert_eq!(app::client::exit(&error), app::exit::Exit::OPERATION_FAILED);
        operation["REFUSAL"] = Value::Null;
        assert!(read(&operation).unwrap_err().to_string().ends_with("failed and did not say why"));
        operation["STATE"] = "SUCCEEDED".into();
        assert!(read(&operation).is_ok());
    }
}

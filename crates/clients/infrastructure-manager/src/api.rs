//! What all calls to the API server share: how to reach it, the options of a write, lists, and errors.

use std::path::PathBuf;
use std::time::Duration;

use engine::secret::SecretString;
use http_client::{ANSWER_BYTES_MAX, Answer, DriverError, read_body, shorten};
use kubernetes::{ApiServer, ApiStatus, Kubeconfig, api_error};
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::SYSTEM;
use super::patch::safe_message;
use super::resources::WriteMode;

/// How to reach the API server.
#[derive(Debug, Clone)]
pub enum ApiAccess {
    Kubeconfig(SecretString),
    /// As in a pod: the file is read for every call.
    TokenFile {
        server: String,
        authority: Option<Vec<u8>>,
        token_file: PathBuf,
    },
}

impl ApiAccess {
    pub(super) fn server(&self, timeout: Duration) -> Result<ApiServer, DriverError> {
        let kubeconfig = match self {
            ApiAccess::Kubeconfig(yaml) => Kubeconfig::parse(yaml),
            ApiAccess::TokenFile { server, authority, token_file } => {
                Kubeconfig::of_token_file(server, authority.clone(), token_file.clone())
            }
        };
        ApiServer::new(SYSTEM, &kubeconfig.map_err(|error| SYSTEM.refused(error))?, timeout)
    }
}

pub(super) async fn refused_watch(mut response: Response) -> DriverError {
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let body = read_body(&mut response, ANSWER_BYTES_MAX).await.unwrap_or_default();
    error(&Answer { system: SYSTEM, status, headers, body })
}

/// Unknown fields are errors and not dropped, so that nothing that was asked for is lost in silence.
pub(super) fn with_options(mut url: Url, mode: WriteMode) -> Url {
    url.query_pairs_mut().append_pair("fieldValidation", "Strict");
    if mode == WriteMode::DryRun {
        url.query_pairs_mut().append_pair("dryRun", "All");
    }
    url
}

/// Only for an answer that is not a success.
pub(super) fn error(answer: &Answer) -> DriverError {
    let status = ApiStatus::of(answer);
    if answer.status == StatusCode::NOT_FOUND && status.reason == "NotFound" && !status.is_absent() {
        let name = shorten(&status.details.name);
        return SYSTEM
            .refused(format!("namespace {name} does not exist: create it, or configure another one"));
    }
    if answer.status == StatusCode::NOT_FOUND && status.reason.is_empty() {
        return SYSTEM.broken("404 Not Found: the resource type is not installed on this server");
    }
    match safe_message(&status.message) {
        safe if safe == status.message => api_error(answer),
        safe => SYSTEM.refused(format!("{}: {safe}", answer.status)),
    }
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
pub(super) struct ListObject<T> {
    #[serde(default)]
    pub(super) metadata: ListObjectMetadata,
    pub(super) items: Option<Vec<T>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ListObjectMetadata {
    #[serde(rename = "continue")]
    pub(super) next: Option<String>,
    pub(super) resource_version: String,
}

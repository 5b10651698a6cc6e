//! `GET /kubeconfig/{id}`

use crate::backend::ClusterEntry;
use crate::model::{InstanceRecord, Status};
use api::Code;
use axum::Extension;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use engine::AuditRow;
use engine::secret::{ExposeSecret, SecretError, SecretString};
use tracing::{error, warn};

use super::Shared;
use super::find_alive;
use server::RequestId;
use server::audit;
use server::http::Failure;
use server::principal::Principal;
use server::query::{Name, Query};

const HEADERS: [(axum::http::HeaderName, &str); 2] =
    [(CONTENT_TYPE, "application/x-yaml"), (CONTENT_DISPOSITION, "attachment; filename=\"kubeconfig.yaml\"")];

/// How to reach the cluster of a runtime, as an administrator of it.
///
/// It is a secret, so that the audit log says who got it.
#[utoipa::path(
    get, path = "/kubeconfig/{id}", tag = "runtimes", operation_id = "get_kubeconfig",
    params(("id" = String, Path, description = "The id of the service instance or of its runtime.")),
    responses(
        (status = OK, body = String, content_type = "application/x-yaml", description = "The file."),
        (status = NOT_FOUND,
         description = "There is none, or not yet: `runtime-not-found` or `kubeconfig-not-found`."),
    )
)]
pub(crate) async fn get_kubeconfig(
    State(app): State<Shared>,
    Extension(caller): Extension<Principal>,
    Extension(request): Extension<RequestId>,
    Name(id): Name,
    query: Query,
) -> Result<impl IntoResponse, Failure> {
    query.finish()?;
    let found = find_alive(&app, &id).await?;
    if !is_there(found.status()) {
        return Err(missing());
    }
    let kubeconfig = match &found.instance.kubeconfig {
        Some(sealed) => {
            let opened = app.engine.sealer(&found.row.tenant, &found.row.name).open(sealed);
            opened.map_err(|error| not_opened(&error))?
        }
        None => from_backend(&app, &found.instance).await?,
    };
    let row = AuditRow {
        at: app.engine.now(),
        who: caller.name,
        action: "runtime.kubeconfig".to_owned(),
        target: found.instance.instance_id,
        result: "200".to_owned(),
        request: request.0,
    };
    audit::write(&app, row).await;
    Ok((HEADERS, kubeconfig.expose_secret().to_owned()))
}

fn missing() -> Failure {
    let detail = "this runtime has no kubeconfig now; it has one once it is provisioned";
    Failure::new(Code::KubeconfigNotFound, detail)
}

/// Read when it is used, where the back end rotates it.
async fn from_backend(app: &Shared, instance: &InstanceRecord) -> Result<SecretString, Failure> {
    let backend = app.backends.as_ref().map(|backends| backends.of(instance));
    let (Some(backend), Some(id)) = (backend.filter(|one| !one.keeps_kubeconfig()), &instance.runtime_id)
    else {
        return Err(missing());
    };
    match backend.kubeconfig(instance.runtime(id)).await {
        Ok(ClusterEntry::Open(kubeconfig)) => Ok(kubeconfig),
        Ok(ClusterEntry::Gone) => Err(missing()),
        Err(halt) => {
            warn!(runtime.id = id, ?halt, "reading a kubeconfig failed");
            Err(missing())
        }
    }
}

fn is_there(status: Status) -> bool {
    !matches!(
        status,
        Status::Provisioning
            | Status::ProvisionFailed
            | Status::Suspended
            | Status::Resuming
            | Status::ResumeFailed
            | Status::Gone
    )
}

fn not_opened(error: &SecretError) -> Failure {
    error!(%error, "decrypting a kubeconfig failed");
    Failure::internal()
}

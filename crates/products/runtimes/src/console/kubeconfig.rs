//! `GET /console/runtimes/{id}/kubeconfig`

use axum::extract::Path;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use console::{SignedIn, path};

/// A file. The API writes down who got it.
pub(super) async fn download(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    let at = format!("/kubeconfig/{}", path::part(&id));
    match signed_in.api.send(Method::GET, &at, &[], None::<&()>).await {
        Ok(answer) => {
            let name = HeaderValue::from_static("attachment; filename=\"kubeconfig.yaml\"");
            let kind = HeaderValue::from_static("application/x-yaml");
            ([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, name)], answer.text()).into_response()
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

//! `GET /console/serverless/{id}/resize`

use crate::api::wire::ServerlessRuntime;
use askama::Template;
use axum::extract::Path;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use engine::Capability;
use serde_json::json;

use super::form::FunctionSize;
use super::show::find;
use super::{AT_ONCE, begun};
use console::{CsrfToken, Fields, PageError, Shell, SignedIn, see_other};

#[derive(Template)]
#[template(path = "resize.html")]
struct Resize {
    csrf: CsrfToken,
    id: i32,
    name: String,
    function: FunctionSize,
    data: Option<FunctionSize>,
    page_error: Option<String>,
}

impl Resize {
    fn of(signed_in: &SignedIn, id: i32, runtime: &ServerlessRuntime) -> Resize {
        let name = super::name(runtime);
        Resize {
            csrf: signed_in.csrf.clone(),
            id,
            name,
            function: FunctionSize::of("f", &runtime.faas),
            data: runtime.daas.as_ref().map(|daas| FunctionSize::of("d", daas)),
            page_error: None,
        }
    }

    fn shell(&self, signed_in: &SignedIn) -> Shell {
        Shell::new(signed_in, &super::SECTION, &format!("Resize {}", self.name))
    }

    fn is_good(&self) -> bool {
        self.function.is_good() && self.data.as_ref().is_none_or(FunctionSize::is_good)
    }
}

pub(super) async fn form(signed_in: SignedIn, Path(id): Path<i32>) -> Response {
    if !signed_in.can(Capability::Administer) {
        return PageError::needs(Capability::Administer).page(&signed_in);
    }
    match find(&signed_in.api, id).await {
        Ok(runtime) => {
            let content = Resize::of(&signed_in, id, &runtime);
            content.shell(&signed_in).page(&content)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn resize(signed_in: SignedIn, Path(id): Path<i32>, fields: Fields) -> Response {
    let runtime = match find(&signed_in.api, id).await {
        Ok(runtime) => runtime,
        Err(page_error) => return page_error.page(&signed_in),
    };
    let mut typed = Resize::of(&signed_in, id, &runtime);
    typed.function = FunctionSize::typed("f", &fields);
    typed.data = typed.data.map(|_| FunctionSize::typed("d", &fields));
    if !typed.is_good() {
        return typed.shell(&signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &typed);
    }
    // An empty flavour leaves it as it is.
    let mut body = json!({"SERVERLESS_RUNTIME": {"FAAS": typed.function.members("")}});
    if let Some(data) = &typed.data {
        body["SERVERLESS_RUNTIME"]["DAAS"] = data.members("");
    }
    let at = format!("/serverless-runtimes/{id}");
    let asked = signed_in.api.send(Method::PUT, &at, &[AT_ONCE], Some(&body)).await;
    match asked.and_then(|answer| begun(&answer)) {
        Ok(operation) => see_other(&format!("/console/serverless/operations/{operation}")),
        Err(page_error) => {
            let status = page_error.status;
            let content = Resize { page_error: Some(page_error.line()), ..typed };
            content.shell(&signed_in).page_with(status, &content)
        }
    }
}

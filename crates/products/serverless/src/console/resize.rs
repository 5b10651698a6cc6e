//! `GET /console/serverless/{id}/resize`

use crate::api::wire::ServerlessRuntime;
use askama::Template;
use axum::extract::Path;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use engine::Capability;
use serde_json::json;

use super::form::Machine;
use super::show::find;
use super::{AT_ONCE, begun};
use console::{CsrfToken, Fields, Shell, Trouble, Visitor, see_other};

#[derive(Template)]
#[template(path = "resize.html")]
struct Resize {
    csrf: CsrfToken,
    id: i32,
    name: String,
    function: Machine,
    data: Option<Machine>,
    trouble: Option<String>,
}

impl Resize {
    fn of(visitor: &Visitor, id: i32, runtime: &ServerlessRuntime) -> Resize {
        let name = super::name(runtime);
        Resize {
            csrf: visitor.csrf.clone(),
            id,
            name,
            function: Machine::of("f", &runtime.faas),
            data: runtime.daas.as_ref().map(|daas| Machine::of("d", daas)),
            trouble: None,
        }
    }

    fn shell(&self, visitor: &Visitor) -> Shell {
        Shell::new(visitor, &super::SECTION, &format!("Resize {}", self.name))
    }

    fn is_good(&self) -> bool {
        self.function.is_good() && self.data.as_ref().is_none_or(Machine::is_good)
    }
}

pub(super) async fn form(visitor: Visitor, Path(id): Path<i32>) -> Response {
    if !visitor.can(Capability::Administer) {
        return Trouble::needs(Capability::Administer).page(&visitor);
    }
    match find(&visitor.api, id).await {
        Ok(runtime) => {
            let content = Resize::of(&visitor, id, &runtime);
            content.shell(&visitor).page(&content)
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn resize(visitor: Visitor, Path(id): Path<i32>, fields: Fields) -> Response {
    let runtime = match find(&visitor.api, id).await {
        Ok(runtime) => runtime,
        Err(trouble) => return trouble.page(&visitor),
    };
    let mut typed = Resize::of(&visitor, id, &runtime);
    typed.function = Machine::typed("f", &fields);
    typed.data = typed.data.map(|_| Machine::typed("d", &fields));
    if !typed.is_good() {
        return typed.shell(&visitor).page_with(StatusCode::UNPROCESSABLE_ENTITY, &typed);
    }
    // An empty flavour leaves it as it is.
    let mut body = json!({"SERVERLESS_RUNTIME": {"FAAS": typed.function.members("")}});
    if let Some(data) = &typed.data {
        body["SERVERLESS_RUNTIME"]["DAAS"] = data.members("");
    }
    let at = format!("/serverless-runtimes/{id}");
    let asked = visitor.api.send(Method::PUT, &at, &[AT_ONCE], Some(&body)).await;
    match asked.and_then(|answer| begun(&answer)) {
        Ok(operation) => see_other(&format!("/console/serverless/operations/{operation}")),
        Err(trouble) => {
            let status = trouble.status;
            let content = Resize { trouble: Some(trouble.line()), ..typed };
            content.shell(&visitor).page_with(status, &content)
        }
    }
}

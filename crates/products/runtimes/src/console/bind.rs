//! `GET /console/runtimes/{id}/bind`: credentials for a cluster, shown once.

use crate::api::osb::wire::Binding;
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use uuid::Uuid;

use super::catalog::{Catalog, Purpose};
use super::form::Form;
use super::look::runtime;
use console::{CsrfToken, Fields, Shell, Trouble, Visitor, path};

const TITLE: &str = "Bind";

#[derive(Template)]
#[template(path = "bind.html")]
struct Bind {
    csrf: CsrfToken,
    id: String,
    /// The same binding twice is one, however often the button is pressed.
    binding: String,
    form: Form,
    trouble: Option<String>,
}

/// The one page that has the credentials. Nothing keeps it.
#[derive(Template)]
#[template(path = "bound.html")]
struct Bound {
    id: String,
    binding: String,
    credentials: String,
    expires_at: Option<String>,
}

pub(super) async fn form(visitor: Visitor, Path(id): Path<String>) -> Response {
    let drawn = async {
        let form = form_of(&visitor, &id).await?;
        Ok(draw(&visitor, &id, Uuid::new_v4().to_string(), form, None))
    };
    match drawn.await {
        Ok(bind) => Shell::new(&visitor, &super::SECTION, TITLE).page(&bind),
        Err(trouble) => Trouble::page(trouble, &visitor),
    }
}

async fn form_of(visitor: &Visitor, id: &str) -> Result<Form, Trouble> {
    let found = runtime(&visitor.api, id).await?;
    let catalog = Catalog::read(&visitor.api).await?;
    let (_, plan) = catalog.find(&found.service_plan_id)?;
    if !plan.bindable {
        let detail = format!("The plan {} offers no bindings.", plan.name);
        return Err(Trouble::new(StatusCode::CONFLICT, "No bindings", detail));
    }
    Ok(Form::new(&plan.schema(Purpose::Bind)))
}

fn draw(visitor: &Visitor, id: &str, binding: String, form: Form, trouble: Option<String>) -> Bind {
    Bind { csrf: visitor.csrf.clone(), id: path::part(id), binding, form, trouble }
}

pub(super) async fn bind(visitor: Visitor, Path(id): Path<String>, fields: Fields) -> Response {
    match make(&visitor, &id, &fields).await {
        Ok(Ok(bound)) => {
            let shell = Shell::new(&visitor, &super::SECTION, "Credentials");
            shell.page_with(StatusCode::OK, &bound)
        }
        Ok(Err(again)) => {
            let shell = Shell::new(&visitor, &super::SECTION, TITLE);
            shell.page_with(StatusCode::UNPROCESSABLE_ENTITY, &*again)
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

async fn make(visitor: &Visitor, id: &str, fields: &Fields) -> Result<Result<Bound, Box<Bind>>, Trouble> {
    let mut form = form_of(visitor, id).await?;
    let parameters = form.take(fields);
    let binding = fields.given("binding").map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
    let again = |form, trouble| Box::new(draw(visitor, id, binding.clone(), form, trouble));
    if !form.is_good() {
        return Ok(Err(again(form, None)));
    }
    let found = runtime(&visitor.api, id).await?;
    let body = json!({
        "service_id": found.service_class_id,
        "plan_id": found.service_plan_id,
        "parameters": parameters,
    });
    let instance = path::part(&found.instance_id);
    let place = format!("/v2/service_instances/{instance}/service_bindings/{}", path::part(&binding));
    match visitor.api.put(&place, &body).await {
        Ok(answer) => {
            let made: Binding = answer.json()?;
            Ok(Ok(Bound {
                id: instance,
                binding,
                credentials: made.credentials.kubeconfig,
                expires_at: made.metadata.map(|metadata| metadata.expires_at),
            }))
        }
        Err(trouble) if trouble.status == StatusCode::FORBIDDEN => Err(trouble),
        Err(trouble) => {
            let left = form.blame(&trouble.detail);
            Ok(Err(again(form, left)))
        }
    }
}

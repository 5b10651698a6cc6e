//! `GET /console/runtimes/{id}/bind`: credentials for a cluster, shown once.

use crate::api::osb::wire::{BindBody, Binding};
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use super::catalog::{Catalog, Purpose};
use super::look::runtime;
use console::{CsrfToken, Fields, PageError, SchemaForm, Shell, SignedIn, path};

const TITLE: &str = "Bind";

#[derive(Template)]
#[template(path = "bind.html")]
struct Bind {
    csrf: CsrfToken,
    id: String,
    /// The same binding twice is one, however often the button is pressed.
    binding: String,
    form: SchemaForm,
    page_error: Option<String>,
}

/// The one page that has the credentials. Nothing keeps it.
#[derive(Template)]
#[template(path = "bound.html")]
struct BindingView {
    id: String,
    binding: String,
    credentials: String,
    expires_at: Option<String>,
}

pub(super) async fn form(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    let drawn = async {
        let form = form_of(&signed_in, &id).await?;
        Ok(draw(&signed_in, &id, Uuid::new_v4().to_string(), form, None))
    };
    match drawn.await {
        Ok(bind) => Shell::new(&signed_in, &super::SECTION, TITLE).page(&bind),
        Err(page_error) => PageError::page(page_error, &signed_in),
    }
}

async fn form_of(signed_in: &SignedIn, id: &str) -> Result<SchemaForm, PageError> {
    let found = runtime(&signed_in.api, id).await?;
    let catalog = Catalog::read(&signed_in.api).await?;
    let (_, plan) = catalog.find(&found.service_plan_id)?;
    if !plan.bindable {
        let detail = format!("The plan {} offers no bindings.", plan.name);
        return Err(PageError::new(StatusCode::CONFLICT, "No bindings", detail));
    }
    Ok(SchemaForm::new(&plan.schema(Purpose::Bind)))
}

fn draw(
    signed_in: &SignedIn,
    id: &str,
    binding: String,
    form: SchemaForm,
    page_error: Option<String>,
) -> Bind {
    Bind { csrf: signed_in.csrf.clone(), id: path::part(id), binding, form, page_error }
}

pub(super) async fn bind(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    match make(&signed_in, &id, &fields).await {
        Ok(Ok(bound)) => {
            let shell = Shell::new(&signed_in, &super::SECTION, "Credentials");
            shell.page_with(StatusCode::OK, &bound)
        }
        Ok(Err(again)) => {
            let shell = Shell::new(&signed_in, &super::SECTION, TITLE);
            shell.page_with(StatusCode::UNPROCESSABLE_ENTITY, &*again)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn make(
    signed_in: &SignedIn,
    id: &str,
    fields: &Fields,
) -> Result<Result<BindingView, Box<Bind>>, PageError> {
    let mut form = form_of(signed_in, id).await?;
    let parameters = form.take(fields);
    let binding = fields.given("binding").map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
    let again = |form, page_error| Box::new(draw(signed_in, id, binding.clone(), form, page_error));
    if !form.is_good() {
        return Ok(Err(again(form, None)));
    }
    let found = runtime(&signed_in.api, id).await?;
    let body = BindBody {
        service_id: Some(found.service_class_id),
        plan_id: Some(found.service_plan_id),
        parameters: Some(parameters),
        ..BindBody::default()
    };
    let instance = path::part(&found.instance_id);
    let place = format!("/v2/service_instances/{instance}/service_bindings/{}", path::part(&binding));
    match signed_in.api.put(&place, &body).await {
        Ok(answer) => {
            let made: Binding = answer.json()?;
            Ok(Ok(BindingView {
                id: instance,
                binding,
                credentials: made.credentials.kubeconfig,
                expires_at: made.metadata.map(|metadata| metadata.expires_at),
            }))
        }
        Err(page_error) if page_error.status == StatusCode::FORBIDDEN => Err(page_error),
        Err(page_error) => {
            let left = form.blame(&page_error.detail);
            Ok(Err(again(form, left)))
        }
    }
}

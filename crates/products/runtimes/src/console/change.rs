//! `GET /console/runtimes/{id}/change`

use crate::api::osb::wire::UpdateBody;
use crate::api::types::Runtime;
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};

use super::catalog::{Catalog, PlanView, Purpose};
use super::look::{parameters, runtime};
use console::{CsrfToken, Fields, Flash, PageError, SchemaForm, Shell, SignedIn, path};

#[derive(Template)]
#[template(path = "change.html")]
struct UpdatePage {
    csrf: CsrfToken,
    id: String,
    name: String,
    form: SchemaForm,
    /// Other plans, where it can have one.
    plans: Vec<PlanView>,
    plan: String,
    page_error: Option<String>,
}

impl UpdatePage {
    fn shell(&self, signed_in: &SignedIn) -> Shell {
        Shell::new(signed_in, &super::SECTION, &format!("Update {}", self.name))
    }
}

/// What is there now.
struct Present {
    runtime: Runtime,
    parameters: Map<String, Value>,
    catalog: Catalog,
}

impl Present {
    async fn read(signed_in: &SignedIn, id: &str) -> Result<Present, PageError> {
        let catalog = Catalog::read(&signed_in.api).await?;
        let runtime = runtime(&signed_in.api, id).await?;
        let parameters = parameters(&signed_in.api, &runtime).await.unwrap_or_default();
        Ok(Present { runtime, parameters, catalog })
    }

    fn plan(&self) -> Result<&PlanView, PageError> {
        self.catalog.find(&self.runtime.service_plan_id).map(|(_, plan)| plan)
    }

    fn page(
        self,
        signed_in: &SignedIn,
        form: SchemaForm,
        page_error: Option<String>,
    ) -> Result<UpdatePage, PageError> {
        let can_move = self.plan()?.plan_updateable;
        let name = self.parameters.get("name").and_then(Value::as_str);
        let name = name.unwrap_or(&self.runtime.instance_id).to_owned();
        let plans = self.catalog.offers().filter(|_| can_move).map(|(_, plan)| plan.clone()).collect();
        Ok(UpdatePage {
            csrf: signed_in.csrf.clone(),
            id: path::part(&self.runtime.instance_id),
            name,
            form,
            plans,
            plan: self.runtime.service_plan_id,
            page_error,
        })
    }
}

pub(super) async fn form(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    let drawn = async {
        let present = Present::read(&signed_in, &id).await?;
        let form = SchemaForm::of_present(&present.plan()?.schema(Purpose::Update), &present.parameters);
        present.page(&signed_in, form, None)
    };
    match drawn.await {
        Ok(change) => change.shell(&signed_in).page(&change),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn change(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    match ask(&signed_in, &id, &fields).await {
        Ok(Ok(flash)) => flash.at(&format!("/console/runtimes/{}", path::part(&id))),
        Ok(Err(again)) => again.shell(&signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &*again),
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn ask(
    signed_in: &SignedIn,
    id: &str,
    fields: &Fields,
) -> Result<Result<Flash, Box<UpdatePage>>, PageError> {
    let present = Present::read(signed_in, id).await?;
    let mut form = SchemaForm::of_present(&present.plan()?.schema(Purpose::Update), &present.parameters);
    let typed = form.take(fields);
    if !form.is_good() {
        return Ok(Err(Box::new(present.page(signed_in, form, None)?)));
    }
    let changed = differing(typed, &in_force(&present.plan()?.schema(Purpose::Update), &present.parameters));
    let plan = fields.given("plan").filter(|plan| *plan != present.runtime.service_plan_id);
    if changed.is_empty() && plan.is_none() {
        return Ok(Ok(Flash::good("Nothing was changed.")));
    }
    let body = UpdateBody {
        service_id: present.runtime.service_class_id.clone(),
        plan_id: plan.map(str::to_owned),
        parameters: Some(changed),
        ..UpdateBody::default()
    };
    let at =
        format!("/v2/service_instances/{}?accepts_incomplete=true", path::part(&present.runtime.instance_id));
    match signed_in.api.patch(&at, &body).await {
        Ok(_) => Ok(Ok(Flash::good("Update started.").while_running())),
        Err(page_error) if page_error.status == StatusCode::FORBIDDEN => Err(page_error),
        Err(page_error) => {
            let left = form.blame(&page_error.detail);
            Ok(Err(Box::new(present.page(signed_in, form, left)?)))
        }
    }
}

/// What was asked for, and the defaults of the plan for the rest.
fn in_force(schema: &Value, present: &Map<String, Value>) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let defaults =
        properties.filter_map(|(key, property)| Some((key.clone(), property.get("default")?.clone())));
    let mut all: Map<String, Value> = defaults.collect();
    all.extend(present.clone());
    all
}

/// What stays as it is need not be sent.
fn differing(typed: Map<String, Value>, present: &Map<String, Value>) -> Map<String, Value> {
    typed.into_iter().filter(|(key, value)| present.get(key) != Some(value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_not_asked_for_is_as_the_plan_has_it() {
        let schema = json!({"properties": {"a": {"default": 1}, "b": {"default": 2}, "c": {}}});
        let present = json!({"b": 3}).as_object().cloned().unwrap();
        assert_eq!(Value::Object(in_force(&schema, &present)), json!({"a": 1, "b": 3}));
    }

    #[test]
    fn only_what_differs_is_sent() {
        let of = |value: Value| value.as_object().cloned().unwrap_or_default();
        let typed = of(json!({"a": 1, "b": "x", "c": ["y"], "d": {"e": 1}}));
        let present = of(json!({"a": 1, "b": "z", "c": ["y"], "d": {"e": 2}, "f": 5}));
        assert_eq!(Value::Object(differing(typed, &present)), json!({"b": "x", "d": {"e": 1}}));
    }
}

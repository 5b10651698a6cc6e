//! `GET /console/runtimes/new`: choose a plan, then fill in what it wants to know.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use uuid::Uuid;

use super::catalog::{Catalog, Plan, Purpose};
use super::form::Form;
use console::{CsrfToken, Fields, Flash, Shell, Trouble, Visitor, path};

/// Brokers insist on an organization and a space, which only one platform has.
const NOWHERE: &str = "console";

#[derive(Template)]
#[template(path = "choose.html")]
struct Choose {
    plans: Vec<Plan>,
}

#[derive(Template)]
#[template(path = "new.html")]
struct New {
    csrf: CsrfToken,
    plan: Plan,
    form: Form,
    /// The same id twice is one runtime, however often the button is pressed.
    id: String,
    account: String,
    subaccount: String,
    trouble: Option<String>,
}

impl New {
    fn shell(&self, visitor: &Visitor) -> Shell {
        Shell::new(visitor, &super::SECTION, &format!("Create a runtime: {}", self.plan.name))
    }
}

pub(super) async fn choose(visitor: Visitor) -> Response {
    match Catalog::read(&visitor.api).await {
        Ok(catalog) => {
            let plans = catalog.offers().map(|(_, plan)| plan.clone()).collect();
            Shell::new(&visitor, &super::SECTION, "Create a runtime").page(&Choose { plans })
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn form(visitor: Visitor, Path(plan): Path<String>) -> Response {
    let drawn = async {
        let catalog = Catalog::read(&visitor.api).await?;
        let (_, plan) = catalog.find(&plan)?;
        Ok(New {
            csrf: visitor.csrf.clone(),
            plan: plan.clone(),
            form: Form::new(&plan.schema(Purpose::Create)),
            id: Uuid::new_v4().to_string(),
            account: String::new(),
            subaccount: String::new(),
            trouble: None,
        })
    };
    match drawn.await {
        Ok(new) => new.shell(&visitor).page(&new),
        Err(trouble) => Trouble::page(trouble, &visitor),
    }
}

pub(super) async fn create(visitor: Visitor, Path(plan): Path<String>, fields: Fields) -> Response {
    match ask(&visitor, &plan, &fields).await {
        Ok(Ok(id)) => {
            let place = format!("/console/runtimes/{}", path::part(&id));
            Flash::good("Runtime requested. You can leave this page; it continues in the background.")
                .while_running()
                .at(&place)
        }
        Ok(Err(again)) => again.shell(&visitor).page_with(StatusCode::UNPROCESSABLE_ENTITY, &*again),
        Err(trouble) => trouble.page(&visitor),
    }
}

/// The id of the new runtime, or the form once more.
async fn ask(visitor: &Visitor, plan: &str, fields: &Fields) -> Result<Result<String, Box<New>>, Trouble> {
    let catalog = Catalog::read(&visitor.api).await?;
    let (service, plan) = catalog.find(plan)?;
    let mut form = Form::new(&plan.schema(Purpose::Create));
    let parameters = form.take(fields);
    let id = fields.given("id").map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
    let again = |form: Form, trouble: Option<String>| {
        Box::new(New {
            csrf: visitor.csrf.clone(),
            plan: plan.clone(),
            form,
            id: id.clone(),
            account: fields.text("account").to_owned(),
            subaccount: fields.text("subaccount").to_owned(),
            trouble,
        })
    };
    if !form.is_good() {
        return Ok(Err(again(form, None)));
    }
    let account = fields.given("account").unwrap_or(NOWHERE);
    let subaccount = fields.given("subaccount").unwrap_or(NOWHERE);
    let body = json!({
        "service_id": service.id,
        "plan_id": plan.id,
        "organization_guid": account,
        "space_guid": subaccount,
        "context": {"globalaccount_id": account, "subaccount_id": subaccount, "user_id": visitor.name()},
        "parameters": parameters,
    });
    let at = format!("/v2/service_instances/{}?accepts_incomplete=true", path::part(&id));
    match visitor.api.put(&at, &body).await {
        Ok(_) => Ok(Ok(id)),
        Err(trouble) if trouble.status == StatusCode::FORBIDDEN => Err(trouble),
        Err(trouble) => {
            let left = form.blame(&trouble.detail);
            Ok(Err(again(form, left)))
        }
    }
}

//! `GET /console/runtimes/new`: choose a plan, then fill in what it wants to know.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use super::catalog::{Catalog, PlanView, Purpose};
use crate::api::osb::wire::ProvisionBody;
use console::{CsrfToken, Fields, Flash, PageError, SchemaForm, Shell, SignedIn, path};

/// Brokers insist on an organization and a space, which only one platform has.
const NOWHERE: &str = "console";

#[derive(Template)]
#[template(path = "choose.html")]
struct Choose {
    plans: Vec<PlanView>,
}

#[derive(Template)]
#[template(path = "new.html")]
struct New {
    csrf: CsrfToken,
    plan: PlanView,
    form: SchemaForm,
    /// The same id twice is one runtime, however often the button is pressed.
    id: String,
    account: String,
    subaccount: String,
    page_error: Option<String>,
}

impl New {
    fn shell(&self, signed_in: &SignedIn) -> Shell {
        Shell::new(signed_in, &super::SECTION, &format!("Create a runtime: {}", self.plan.name))
    }
}

pub(super) async fn choose(signed_in: SignedIn) -> Response {
    match Catalog::read(&signed_in.api).await {
        Ok(catalog) => {
            let plans = catalog.offers().map(|(_, plan)| plan.clone()).collect();
            Shell::new(&signed_in, &super::SECTION, "Create a runtime").page(&Choose { plans })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn form(signed_in: SignedIn, Path(plan): Path<String>) -> Response {
    let drawn = async {
        let catalog = Catalog::read(&signed_in.api).await?;
        let (_, plan) = catalog.find(&plan)?;
        Ok(New {
            csrf: signed_in.csrf.clone(),
            plan: plan.clone(),
            form: SchemaForm::new(&plan.schema(Purpose::Create)),
            id: Uuid::new_v4().to_string(),
            account: String::new(),
            subaccount: String::new(),
            page_error: None,
        })
    };
    match drawn.await {
        Ok(new) => new.shell(&signed_in).page(&new),
        Err(page_error) => PageError::page(page_error, &signed_in),
    }
}

pub(super) async fn create(signed_in: SignedIn, Path(plan): Path<String>, fields: Fields) -> Response {
    match ask(&signed_in, &plan, &fields).await {
        Ok(Ok(id)) => {
            let place = format!("/console/runtimes/{}", path::part(&id));
            Flash::good("Runtime requested. You can leave this page; it continues in the background.")
                .while_running()
                .at(&place)
        }
        Ok(Err(again)) => again.shell(&signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &*again),
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// The id of the new runtime, or the form once more.
async fn ask(
    signed_in: &SignedIn,
    plan: &str,
    fields: &Fields,
) -> Result<Result<String, Box<New>>, PageError> {
    let catalog = Catalog::read(&signed_in.api).await?;
    let (service, plan) = catalog.find(plan)?;
    let mut form = SchemaForm::new(&plan.schema(Purpose::Create));
    let parameters = form.take(fields);
    let id = fields.given("id").map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
    let again = |form: SchemaForm, page_error: Option<String>| {
        Box::new(New {
            csrf: signed_in.csrf.clone(),
            plan: plan.clone(),
            form,
            id: id.clone(),
            account: fields.text("account").to_owned(),
            subaccount: fields.text("subaccount").to_owned(),
            page_error,
        })
    };
    if !form.is_good() {
        return Ok(Err(again(form, None)));
    }
    let account = fields.given("account").unwrap_or(NOWHERE);
    let subaccount = fields.given("subaccount").unwrap_or(NOWHERE);
    let context =
        [("globalaccount_id", account), ("subaccount_id", subaccount), ("user_id", signed_in.name())];
    let body = ProvisionBody {
        service_id: service.id.clone(),
        plan_id: plan.id.clone(),
        organization_guid: account.to_owned(),
        space_guid: subaccount.to_owned(),
        context: Some(context.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect()),
        parameters: Some(parameters),
        ..ProvisionBody::default()
    };
    let at = format!("/v2/service_instances/{}?accepts_incomplete=true", path::part(&id));
    match signed_in.api.put(&at, &body).await {
        Ok(_) => Ok(Ok(id)),
        Err(page_error) if page_error.status == StatusCode::FORBIDDEN => Err(page_error),
        Err(page_error) => {
            let left = form.blame(&page_error.detail);
            Ok(Err(again(form, left)))
        }
    }
}

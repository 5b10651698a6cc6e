//! `GET /console/serverless/new`

use askama::Template;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use engine::Capability;
use serde_json::{Value, json};
use uuid::Uuid;

use super::form::FunctionSize;
use super::{AT_ONCE, begun};
use crate::api::wire::FlavourList;
use console::{CsrfToken, Fields, PageError, Shell, SignedIn, see_other};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Template)]
#[template(path = "new.html")]
struct New {
    csrf: CsrfToken,
    /// Pressing the button twice makes one runtime.
    key: String,
    name: String,
    flavour: String,
    data_flavour: String,
    function: FunctionSize,
    data: FunctionSize,
    latency: String,
    location: String,
    /// What is wrong with the flavour.
    no_flavour: bool,
    no_latency: bool,
    page_error: Option<String>,
    /// What the fields offer.
    flavours: FlavourList,
}

impl New {
    fn empty(signed_in: &SignedIn) -> New {
        New {
            csrf: signed_in.csrf.clone(),
            key: Uuid::new_v4().to_string(),
            name: String::new(),
            flavour: String::new(),
            data_flavour: String::new(),
            function: FunctionSize::empty("f"),
            data: FunctionSize::empty("d"),
            latency: String::new(),
            location: String::new(),
            no_flavour: false,
            no_latency: false,
            page_error: None,
            flavours: FlavourList::default(),
        }
    }

    /// With the flavours that OpenNebula has. Without them the fields still take any text.
    async fn offering(self, signed_in: &SignedIn) -> New {
        let flavours = signed_in.api.get::<FlavourList>("/serverless-runtimes/flavours").await;
        New { flavours: flavours.unwrap_or_default(), ..self }
    }

    fn typed(signed_in: &SignedIn, fields: &Fields) -> New {
        let text = |name: &str| fields.text(name).to_owned();
        let empty = New::empty(signed_in);
        New {
            key: fields.given("key").map_or(empty.key, str::to_owned),
            name: text("name"),
            flavour: text("flavour"),
            data_flavour: text("data_flavour"),
            function: FunctionSize::typed("f", fields),
            data: FunctionSize::typed("d", fields),
            latency: text("latency"),
            location: text("location"),
            no_flavour: fields.given("flavour").is_none(),
            no_latency: fields.given("latency").is_some_and(|text| text.parse::<f64>().is_err()),
            ..empty
        }
    }

    fn is_good(&self) -> bool {
        !self.no_flavour && !self.no_latency && self.function.is_good() && self.data.is_good()
    }

    fn body(&self) -> Value {
        let mut runtime = json!({"FAAS": self.function.members(&self.flavour)});
        if !self.name.is_empty() {
            runtime["NAME"] = json!(self.name);
        }
        if !self.data_flavour.is_empty() {
            runtime["DAAS"] = self.data.members(&self.data_flavour);
        }
        if let Ok(latency) = self.latency.parse::<f64>() {
            runtime["DEVICE_INFO"]["LATENCY_TO_PE"] = json!(latency);
        }
        if !self.location.is_empty() {
            runtime["DEVICE_INFO"]["GEOGRAPHIC_LOCATION"] = json!(self.location);
        }
        json!({"SERVERLESS_RUNTIME": runtime})
    }
}

fn shell(signed_in: &SignedIn) -> Shell {
    Shell::new(signed_in, &super::SECTION, "Create a serverless runtime")
}

pub(super) async fn form(signed_in: SignedIn) -> Response {
    if !signed_in.can(Capability::Administer) {
        return PageError::needs(Capability::Administer).page(&signed_in);
    }
    shell(&signed_in).page(&New::empty(&signed_in).offering(&signed_in).await)
}

pub(super) async fn create(signed_in: SignedIn, fields: Fields) -> Response {
    let new = New::typed(&signed_in, &fields);
    if !new.is_good() {
        let content = new.offering(&signed_in).await;
        return shell(&signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &content);
    }
    let key = HeaderValue::from_str(&new.key).unwrap_or(HeaderValue::from_static("console"));
    let headers = [AT_ONCE, (KEY, key)];
    let asked = signed_in.api.send(Method::POST, "/serverless-runtimes", &headers, Some(&new.body())).await;
    match asked.and_then(|answer| begun(&answer)) {
        Ok(operation) => see_other(&format!("/console/serverless/operations/{operation}")),
        Err(page_error) => {
            let status = page_error.status;
            let content = New { page_error: Some(page_error.line()), ..new }.offering(&signed_in).await;
            shell(&signed_in).page_with(status, &content)
        }
    }
}

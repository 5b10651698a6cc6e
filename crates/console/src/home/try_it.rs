//! `GET /console/try` and `POST /console/try/{what}`: starts something in the sandbox, to see how it looks.

use ::launch::api::launches::wire::Launch;
use ::runtimes::api::osb::wire::Accepted;
use ::serverless::api::wire::Progress;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use engine::Role;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::api::LAUNCH;
use crate::desk::{Desk, Hub};
use crate::fields::Fields;
use crate::flash::Flash;
use crate::parts::Icon;
use crate::shell::Shell;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const PREFER: HeaderName = HeaderName::from_static("prefer");
/// What the sandbox has.
const PLAN: &str = "azure";
const REGION: &str = "westeurope";
const SOURCE: &str = "sandbox";
const ACCOUNT: &str = "123456789012";
/// Nobody has the private half of it.
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBC8QPJY09eKBK/w7uJRgWh7xwuD+N9RTq6n0JLjkOpX";

/// What can be started here by whoever looks; nothing outside of a sandbox.
pub(super) struct Offers {
    pub(super) word: String,
    pub(super) all: Vec<Offer>,
    /// Somebody with another role may start something.
    pub(super) is_sandbox: bool,
}

pub(super) struct Offer {
    pub(super) what: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) button: &'static str,
    pub(super) icon: Icon,
}

impl Offers {
    pub(super) fn new(desk: &Hub, visitor: &Visitor) -> Offers {
        let is_sandbox = desk.settings.is_sandbox;
        let is_admin = visitor.is(Role::Admin);
        let all = [
            (
                visitor.may_launch(),
                Offer {
                    what: "launch",
                    title: "Build and launch",
                    about: "Builds an image, uploads a key, and launches two machines of it in a cloud account.",
                    button: "Start a launch",
                    icon: Icon::Rocket,
                },
            ),
            (
                is_admin,
                Offer {
                    what: "runtime",
                    title: "A runtime",
                    about: "Asks the Provisioner for a Kubernetes cluster, as a platform does through the service broker.",
                    button: "Start a runtime",
                    icon: Icon::Cluster,
                },
            ),
            (
                is_admin,
                Offer {
                    what: "serverless",
                    title: "A serverless runtime",
                    about: "Asks OpenNebula for a machine that runs functions, as a device does.",
                    button: "Start a serverless runtime",
                    icon: Icon::Function,
                },
            ),
        ];
        let all = all.into_iter().filter(|(may, _)| *may && is_sandbox).map(|(_, offer)| offer).collect();
        Offers { word: visitor.word.clone(), all, is_sandbox }
    }
}

#[derive(Template)]
#[template(path = "home_try.html")]
struct Try {
    offers: Offers,
}

pub(super) async fn show(State(desk): State<Desk>, visitor: Visitor) -> Response {
    let offers = Offers::new(&desk, &visitor);
    Shell::new(&desk, &visitor, &crate::home::SECTION, "Try it").page(&Try { offers })
}

pub(super) async fn start(
    State(desk): State<Desk>,
    visitor: Visitor,
    Path(what): Path<String>,
    _fields: Fields,
) -> Response {
    if !desk.settings.is_sandbox {
        let detail = "This server works with real systems, so nothing is started just to see how it looks.";
        return Trouble::new(StatusCode::CONFLICT, "Not here", detail)
            .hint("Start a server with --sandbox to try things.")
            .page(&desk, &visitor);
    }
    let started = match what.as_str() {
        "runtime" => runtime(&visitor).await,
        "launch" => launch(&visitor).await,
        "serverless" => serverless(&visitor).await,
        _ => return Trouble::missing("such thing to try").page(&desk, &visitor),
    };
    match started {
        Ok(place) => Flash::good("It is started. This page follows it by itself.").at(&place),
        Err(trouble) => Flash::bad(trouble.line()).at("/console/try"),
    }
}

#[derive(Deserialize)]
struct Catalog {
    services: Vec<Service>,
}

#[derive(Deserialize)]
struct Service {
    id: String,
    plans: Vec<Plan>,
}

#[derive(Deserialize)]
struct Plan {
    id: String,
    name: String,
}

async fn runtime(visitor: &Visitor) -> Result<String, Trouble> {
    let catalog: Catalog = visitor.api.get("/v2/catalog").await?;
    let plan_of = |service: &Service| {
        let plan = service.plans.iter().find(|plan| plan.name == PLAN)?;
        Some((service.id.clone(), plan.id.clone()))
    };
    let found = catalog.services.iter().find_map(plan_of);
    let (service, plan) = found.ok_or_else(|| Trouble::missing("plan azure in the catalog"))?;
    let id = Uuid::from_u128(rand::random());
    let tenant = "try";
    let body = json!({
        "service_id": service, "plan_id": plan, "organization_guid": tenant, "space_guid": tenant,
        "context": {"globalaccount_id": tenant, "subaccount_id": tenant},
        "parameters": {"name": name(id), "region": REGION},
    });
    let path = format!("/v2/service_instances/{id}?accepts_incomplete=true");
    let accepted: Accepted = visitor.api.put(&path, &body).await?.json()?;
    Ok(accepted.operation.map_or_else(
        || format!("/console/runtimes/{id}"),
        |operation| format!("/console/operations/{operation}"),
    ))
}

async fn launch(visitor: &Visitor) -> Result<String, Trouble> {
    let name = name(Uuid::from_u128(rand::random()));
    let build = json!({
        "distribution": "rhel-9", "image_name": name,
        "image_requests": [{
            "architecture": "x86_64", "image_type": "aws",
            "upload_request": {"type": "aws", "options": {"share_with_accounts": [ACCOUNT]}},
        }],
    });
    let body = json!({
        "provider": "aws", "image": {"build": build},
        "parameters": {
            "source_id": SOURCE, "instance_type": "t3.small", "amount": 2, "name": name,
            "pubkey": {"name": "try", "body": KEY},
        },
    });
    let launch: Launch = visitor.api.post(&format!("{LAUNCH}/launches"), &body).await?.json()?;
    Ok(format!("/console/launches/{}", launch.id))
}

async fn serverless(visitor: &Visitor) -> Result<String, Trouble> {
    let name = name(Uuid::from_u128(rand::random()));
    let body = json!({"SERVERLESS_RUNTIME": {"NAME": name, "FAAS": {"FLAVOUR": "Function"}}});
    let headers = [(PREFER, HeaderValue::from_static("respond-async"))];
    let answer = visitor.api.send(Method::POST, "/serverless-runtimes", &headers, Some(&body)).await?;
    let progress: Progress = answer.json()?;
    Ok(format!("/console/operations/{}", progress.operation.id))
}

/// Short, and another one each time.
fn name(id: Uuid) -> String {
    format!("try-{}", &id.simple().to_string()[..6])
}

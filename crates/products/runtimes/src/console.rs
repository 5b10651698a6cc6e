//! Runtimes: what the service broker has made, and what can be done with it.

mod bind;
mod catalog;
mod change;
mod kubeconfig;
mod list;
mod look;
mod new;
mod remove;
mod rescue;
mod show;
mod state;
mod try_it;
mod upgrades;

use api::client::ErrorFormat;
use axum::Router;
use axum::http::{HeaderName, HeaderValue};
use axum::routing::{get, post};
use engine::Capability;

use console::list::live;
use console::parts::Icon;
use console::{ConsoleState, Pages, ProductApi, QuickStart, Section, SignedIn, path};

const VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-broker-api-version"), HeaderValue::from_static("2.17"));

static SECTION: Section = Section {
    title: "Runtimes",
    path: "/console/runtimes",
    icon: Icon::Cluster,
    position: 50,
    is_for: SignedIn::may_look,
};

/// Adds the pages of runtimes.
pub fn pages(pages: &mut Pages) {
    pages.section(&SECTION);
    pages.section(&upgrades::SECTION);
    pages.routes(routes().merge(upgrades::routes()));
    pages.offer(QuickStart {
        section: &SECTION,
        name: "runtime",
        title: "A runtime",
        about: "Asks the Provisioner for a Kubernetes cluster, as a platform does through the service broker.",
        button: "Start a runtime",
        is_for: |signed_in| signed_in.can(Capability::UseBroker),
        start: |signed_in, name| Box::pin(try_it::start(signed_in, name)),
    });
    pages.api(ProductApi {
        title: "the service broker",
        base: "/v2/",
        errors: ErrorFormat::Osb,
        headers: vec![VERSION],
    });
    pages.resource("runtime", |id| Some(page(id)));
    pages.resource("orchestration", |id| Some(upgrades::page(id)));
    pages.audited("upgrade", |id| (!id.is_empty() && !id.contains('/')).then(|| upgrades::page(id)));
    pages.resource("binding", |name| Some(page(name.split_once('/')?.0)));
    pages.audited("broker", |path| {
        let id = path.strip_prefix("/v2/service_instances/")?.split('/').next()?;
        (!id.is_empty()).then(|| page(id))
    });
    // The reason comes after the id.
    pages.audited("runtime", |target| {
        let id = target.split(": ").next()?;
        (!id.is_empty() && !id.contains('/')).then(|| page(id))
    });
}

fn page(id: &str) -> String {
    format!("{}/{}", SECTION.path, path::part(id))
}

fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/runtimes", get(list::list))
        .route("/console/runtimes/live", get(live::<list::Filters>))
        .route("/console/runtimes/new", get(new::choose))
        .route("/console/runtimes/new/{plan}", get(new::form).post(new::create))
        .route("/console/runtimes/{id}", get(show::show))
        .route("/console/runtimes/{id}/live", get(show::live))
        .route("/console/runtimes/{id}/change", get(change::form).post(change::change))
        .route("/console/runtimes/{id}/bind", get(bind::form).post(bind::bind))
        .route("/console/runtimes/{id}/unbind", post(remove::unbind))
        .route("/console/runtimes/{id}/deprovision", post(remove::deprovision))
        .route("/console/runtimes/{id}/rescue", get(rescue::form).post(rescue::rescue))
        .route("/console/runtimes/{id}/kubeconfig", get(kubeconfig::download))
}

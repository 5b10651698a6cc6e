//! Runtimes: what the service broker has made, and what can be done with it.

mod bind;
mod catalog;
mod change;
mod field;
mod form;
mod kubeconfig;
mod list;
mod look;
mod new;
mod remove;
mod rescue;
mod show;
mod state;

use axum::Router;
use axum::routing::{get, post};

use crate::desk::Desk;
use crate::list::live;
use crate::parts::Icon;
use crate::shell::Section;
use crate::visitor::Visitor;

pub(crate) const SECTION: Section =
    Section { title: "Runtimes", path: "/console/runtimes", icon: Icon::Cluster, is_for: Visitor::may_look };

pub(crate) fn routes() -> Router<Desk> {
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

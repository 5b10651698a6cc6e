//! `POST /console/runtimes/{id}/deprovision` and `…/unbind`: what is taken away, after a question.

use axum::extract::Path;
use axum::response::Response;

use super::look::runtime;
use console::{Fields, Flash, SignedIn, confirm, path};

/// What is asked, and what is said when it was done.
struct Removal {
    question: &'static str,
    yes: &'static str,
    done: &'static str,
    /// Of the instance; all of it where this is empty.
    below: String,
    /// The broker may answer before it is gone.
    can_wait: bool,
}

pub(super) async fn deprovision(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    let removal = Removal {
        question: "Deprovision this runtime? The cluster and everything in it is deleted.",
        yes: "Deprovision",
        done: "The runtime is being deprovisioned.",
        below: String::new(),
        can_wait: true,
    };
    remove(&signed_in, &id, &fields, &removal).await
}

pub(super) async fn unbind(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    let removal = Removal {
        question: "Delete this binding? Clients that use its credentials are locked out.",
        yes: "Unbind",
        done: "Credentials revoked.",
        below: format!("/service_bindings/{}", path::part(fields.text("binding"))),
        can_wait: false,
    };
    remove(&signed_in, &id, &fields, &removal).await
}

async fn remove(signed_in: &SignedIn, id: &str, fields: &Fields, removal: &Removal) -> Response {
    let place = format!("/console/runtimes/{}", path::part(id));
    if !confirm::is_confirmed(fields) {
        let Removal { question, yes, .. } = removal;
        return confirm::page(signed_in, &super::SECTION, question, yes, &place, fields);
    }
    let asked = async {
        let found = runtime(&signed_in.api, id).await?;
        let query = path::query([
            ("service_id", found.service_class_id.as_str()),
            ("plan_id", found.service_plan_id.as_str()),
            ("accepts_incomplete", if removal.can_wait { "true" } else { "" }),
        ]);
        let instance = path::part(&found.instance_id);
        signed_in.api.delete(&format!("/v2/service_instances/{instance}{}{query}", removal.below)).await
    };
    match asked.await {
        Ok(_) => Flash::good(removal.done).at(&place),
        Err(page_error) => page_error.back(signed_in, &place),
    }
}

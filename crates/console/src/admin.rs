//! Administration: users, tokens, the audit log, and the server itself.

mod audit;
mod keys;
mod overview;
mod people;
mod sessions;
mod settings;
mod tokens;

use std::fmt;

use api::types::{Proof, Role};
use axum::Router;
use axum::routing::{get, post};
use engine::Capability;

use crate::fields::Fields;
use crate::page_error::PageError;
use crate::parts::Icon;
use crate::shared::ConsoleState;
use crate::shell::Section;

pub(crate) static SECTION: Section = Section {
    title: "Administration",
    path: "/console/admin",
    icon: Icon::Gear,
    position: 930,
    is_for: |signed_in| signed_in.can(Capability::Administer),
};

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/admin", get(overview::show))
        .route("/console/admin/systems", get(overview::now))
        .route("/console/admin/tokens", get(tokens::list).post(tokens::create))
        .route("/console/admin/tokens/delete", post(tokens::delete))
        .route("/console/admin/people", get(people::list).post(people::create))
        .route("/console/admin/people/change", post(people::change))
        .route("/console/admin/people/delete", post(people::delete))
        .route("/console/admin/people/sign-out", post(people::sign_out))
        .route("/console/admin/sessions", get(sessions::list))
        .route("/console/admin/sessions/end", post(sessions::end))
        .route("/console/admin/audit", get(audit::list))
        .route("/console/admin/settings", get(settings::list))
        .route("/console/admin/keys", get(keys::list).post(keys::rotate))
}

/// The pages of this group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Overview,
    People,
    Sessions,
    Tokens,
    Audit,
    Settings,
    Keys,
}

const TABS: [(Tab, &str, &str); 7] = [
    (Tab::Overview, "Systems", "/console/admin"),
    (Tab::People, "Users", "/console/admin/people"),
    (Tab::Sessions, "Sessions", "/console/admin/sessions"),
    (Tab::Tokens, "Tokens", "/console/admin/tokens"),
    (Tab::Audit, "Audit log", "/console/admin/audit"),
    (Tab::Settings, "Settings", "/console/admin/settings"),
    (Tab::Keys, "Keys", "/console/admin/keys"),
];

/// Those that may look first, because most people get one of them.
fn roles() -> impl Iterator<Item = engine::Role> {
    let may_look = |role: &engine::Role| role.can(Capability::Read);
    let all = || engine::Role::ALL.into_iter();
    all().filter(may_look).chain(all().filter(move |role| !may_look(role)))
}

/// The grants of a form, with spaces between them.
fn grants(fields: &Fields) -> Vec<String> {
    fields.text("grants").split_whitespace().map(str::to_owned).collect()
}

/// What the API says about a field, as it is said beside the field.
fn said(page_error: &PageError) -> String {
    let line = page_error.line();
    let bare = ["name: ", "password: ", "grants: "]
        .iter()
        .find_map(|field| line.strip_prefix(field))
        .unwrap_or(&line);
    let mut chars = bare.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

/// A role or a way to sign in, as people call it.
struct Label(&'static str);

impl From<&Role> for Label {
    fn from(role: &Role) -> Label {
        Label(role.as_str())
    }
}

impl From<&Option<Role>> for Label {
    fn from(role: &Option<Role>) -> Label {
        role.as_ref().map_or(Label("none"), Label::from)
    }
}

impl From<&Proof> for Label {
    fn from(proof: &Proof) -> Label {
        match proof {
            Proof::Password => Label("password"),
            Proof::Token => Label("token"),
            Proof::Oidc => Label("identity provider"),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[test]
    fn what_is_said_beside_a_field_does_not_name_it_again() {
        let said = |detail: &str| said(&PageError::new(StatusCode::BAD_REQUEST, "", detail));
        assert_eq!(said("name: it is too long"), "It is too long.");
        assert_eq!(said("there is one already"), "There is one already.");
    }
}

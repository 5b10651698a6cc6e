//! `GET /console/admin/keys`

use api::types::KeyList;
use askama::Template;
use axum::extract::Query;
use axum::http::Method;
use axum::response::Response;
use serde::Deserialize;

use super::Tab;
use crate::confirm;
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::parts::{Icon, When};
use crate::shell::Shell;
use crate::signed_in::SignedIn;

const AT: &str = "/console/admin/keys";

#[derive(Template)]
#[template(path = "admin/keys.html")]
struct KeysPage {
    csrf: CsrfToken,
    here: Tab,
    keys: KeyList,
    is_counted: bool,
}

/// As it is in the address.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct KeysQuery {
    sealed: bool,
}

pub(super) async fn list(signed_in: SignedIn, Query(query): Query<KeysQuery>) -> Response {
    let path = if query.sealed { "/keys?sealed=true" } else { "/keys" };
    match signed_in.api.get::<KeyList>(path).await {
        Ok(keys) => Shell::new(&signed_in, &crate::admin::SECTION, "Keys").page(&KeysPage {
            csrf: signed_in.csrf.clone(),
            here: Tab::Keys,
            keys,
            is_counted: query.sealed,
        }),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn rotate(signed_in: SignedIn, fields: Fields) -> Response {
    if !confirm::is_confirmed(&fields) {
        let question =
            "Create a new key? It seals everything from now on; older keys still open what they sealed.";
        return confirm::page(&signed_in, &crate::admin::SECTION, question, "Create a key", AT, &fields);
    }
    match signed_in.api.send(Method::POST, "/keys/rotate", &[], None::<&()>).await {
        Ok(_) => Flash::good("A new key seals from now on. Make a new copy of the key ring.").at(AT),
        Err(page_error) => page_error.back(&signed_in, AT),
    }
}

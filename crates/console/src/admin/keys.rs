//! `GET /console/admin/keys`

use api::types::KeyList;
use askama::Template;
use axum::http::Method;
use axum::response::Response;

use super::Tab;
use crate::confirm;
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::parts::{Icon, When};
use crate::shell::Shell;
use crate::visitor::Visitor;

const AT: &str = "/console/admin/keys";

#[derive(Template)]
#[template(path = "admin/keys.html")]
struct Keys {
    csrf: CsrfToken,
    here: Tab,
    keys: KeyList,
}

pub(super) async fn list(visitor: Visitor) -> Response {
    match visitor.api.get::<KeyList>("/keys").await {
        Ok(keys) => Shell::new(&visitor, &crate::admin::SECTION, "Keys").page(&Keys {
            csrf: visitor.csrf.clone(),
            here: Tab::Keys,
            keys,
        }),
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn rotate(visitor: Visitor, fields: Fields) -> Response {
    if !confirm::is_confirmed(&fields) {
        let question =
            "Add a new key? It seals everything from now on; older keys still open what they sealed.";
        return confirm::page(&visitor, &crate::admin::SECTION, question, "Add a key", AT, &fields);
    }
    match visitor.api.send(Method::POST, "/keys/rotate", &[], None::<&()>).await {
        Ok(_) => Flash::good("A new key seals from now on. Make a new copy of the key ring.").at(AT),
        Err(trouble) => trouble.back(&visitor, AT),
    }
}

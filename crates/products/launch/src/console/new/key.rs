//! The third page: the public key.

use crate::api::wire::{PublicKeyList, PublicKeyResponse};
use askama::Template;

use super::super::LAUNCH;
use super::field::FieldNote;
use super::public_key;
use super::wizard::Wizard;
use console::{ApiClient, CsrfToken, PageError};

#[derive(Template)]
#[template(path = "new/key.html")]
pub(crate) struct KeyPage {
    csrf: CsrfToken,
    wizard: Wizard,
    keys: Vec<PublicKeyResponse>,
}

impl KeyPage {
    pub(crate) async fn draw(
        csrf: CsrfToken,
        mut wizard: Wizard,
        api: &ApiClient,
    ) -> Result<KeyPage, PageError> {
        let keys = keys(&mut wizard, api).await?;
        Ok(KeyPage { csrf, wizard, keys })
    }
}

/// The keys that are kept. Without a choice it is the only one, or a new one.
pub(crate) async fn keys(wizard: &mut Wizard, api: &ApiClient) -> Result<Vec<PublicKeyResponse>, PageError> {
    let found: PublicKeyList = api.get(&format!("{LAUNCH}/pubkeys?limit=200")).await?;
    if wizard.draft.get("key").is_empty() {
        wizard.draft.set("key", if found.data.is_empty() { "new" } else { "kept" });
    }
    if let ([only], true) = (found.data.as_slice(), wizard.draft.get("pubkey_id").is_empty()) {
        wizard.draft.set("pubkey_id", &only.id.to_string());
    }
    Ok(found.data)
}

/// What a key that was typed is.
pub(crate) fn told(body: &str, accepts: fn(&str) -> bool) -> FieldNote {
    match public_key::look(body, accepts) {
        Ok(known) => FieldNote::good(format!("{}, {} {}", known.kind, known.fingerprint, known.comment)),
        Err(said) => FieldNote { good: None, bad: Some(said.to_owned()) },
    }
}

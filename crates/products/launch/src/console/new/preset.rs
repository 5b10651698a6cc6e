//! What a new draft begins with, so that a launch can be reviewed at once: the newest image, an account, a small instance
//! and the own key.

use crate::api::images::Image;
use crate::api::wire::{PublicKeyList, PublicKeyResponse, Source, SourceList};
use cloud::ProviderKind;

use super::super::LAUNCH;
use super::begin::learn;
use super::draft::Draft;
use super::image::fitting;
use super::types::Types;
use console::{PageError, SignedIn};

/// What does not answer leaves its field empty; the page asks for it.
pub(super) async fn fill(draft: &mut Draft, signed_in: &SignedIn) {
    let api = &signed_in.api;
    let sources: Result<SourceList, PageError> = api.get(&format!("{LAUNCH}/sources")).await;
    let sources = sources.map(|found| found.data).unwrap_or_default();
    if draft.given("provider").is_none() {
        let has_account = |cloud: &ProviderKind| sources.iter().any(|one| one.provider == cloud.as_str());
        draft.choose_cloud(ProviderKind::clouds().find(has_account).unwrap_or(draft.provider()));
    }
    if draft.get("image").is_empty() {
        let images = fitting(api, draft.provider()).await.unwrap_or_default();
        let ready = |image: &&Image| image.status.as_deref() == Some("success");
        match images.iter().find(ready).or(images.first()) {
            Some(image) => {
                draft.set("image", "ready");
                draft.set("compose_id", &image.id.to_string());
                learn(draft, api).await;
            }
            None => draft.set("image", "build"),
        }
    }
    if draft.get("source_id").is_empty() {
        let of_cloud = |one: &&Source| one.provider == draft.provider().as_str();
        let is_open = |status: &str| ["", "available"].contains(&status);
        let mut there = sources.iter().filter(of_cloud);
        let first = there.clone().find(|source| is_open(&source.status)).or(there.next());
        let id = first.map(|source| source.id.clone()).unwrap_or_default();
        draft.set("source_id", &id);
    }
    if draft.get("instance_type").is_empty() && draft.get("launch_template_id").is_empty() {
        let first = Types::first(api, draft).await;
        draft.set("instance_type", first.unwrap_or_default());
    }
    if draft.get("key").is_empty() {
        let keys: Result<PublicKeyList, PageError> = api.get(&format!("{LAUNCH}/pubkeys?limit=200")).await;
        let keys = keys.map(|found| found.data).unwrap_or_default();
        draft.set("key", if keys.is_empty() { "new" } else { "kept" });
        // No login depends on the key of an instance in the sandbox.
        let own = own(&keys, signed_in.name()).or(keys.last().filter(|_| signed_in.is_sandbox()));
        let own = own.map(|key| key.id.to_string());
        draft.set("pubkey_id", own.as_deref().unwrap_or_default());
    }
}

/// The only key, or the one that has the name of the user in its own name or comment. A wizard never begins with the key of
/// another.
fn own<'a>(keys: &'a [PublicKeyResponse], user: &str) -> Option<&'a PublicKeyResponse> {
    if let [only] = keys {
        return Some(only);
    }
    let user = user.to_lowercase();
    let names = |key: &&PublicKeyResponse| {
        let comment = key.body.split_whitespace().nth(2).unwrap_or_default().to_lowercase();
        key.name.to_lowercase() == user || comment.split('@').next() == Some(user.as_str())
    };
    keys.iter().rev().find(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_another_is_not_chosen() {
        let key = |id: i64, name: &str, comment: &str| PublicKeyResponse {
            id,
            name: name.to_owned(),
            body: format!("ssh-ed25519 AAAA {comment}"),
            kind: "ssh-ed25519".to_owned(),
            fingerprint: String::new(),
            fingerprint_legacy: String::new(),
        };
        let keys = [key(1, "laptop", "ada@example"), key(2, "icarus", "icarus@example"), key(3, "Bob", "")];
        let chosen = |user: &str| own(&keys, user).map(|key| key.id);
        assert_eq!([chosen("ada"), chosen("bob"), chosen("eve")], [Some(1), Some(3), None]);
        assert_eq!(own(&keys[1..2], "ada").map(|key| key.id), Some(2), "there is no other");
        assert!(own(&[], "ada").is_none());
    }
}

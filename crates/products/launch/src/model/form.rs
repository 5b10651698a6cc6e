//! What a client fills in. Keys and accounts are named by their numbers; nothing has been looked up yet.

use cloud::ProviderKind;

use super::params::{KeyChoice, RequestedImage, RequestedParameters};
use super::profile::Profile;
use crate::api::types::NewParameters;

/// A launch, as it is asked for.
#[derive(Debug, Clone)]
pub struct LaunchForm {
    pub provider: ProviderKind,
    pub image: RequestedImage,
    /// Without them the launch waits for them.
    pub parameters: Option<NewParameters>,
    /// Without one the configured one is meant.
    pub profile: Option<Profile>,
}

impl NewParameters {
    pub(crate) fn asked(&self, provider: ProviderKind, key: Option<KeyChoice>) -> RequestedParameters {
        let user_data = self.user_data.clone().filter(|text| !text.is_empty());
        RequestedParameters { plain: self.filled(provider, key), user_data }
    }

    pub(crate) fn names_no_region(&self) -> bool {
        self.region.as_deref().is_none_or(|region| region.trim().is_empty())
    }

    /// Whether the same was asked for before. The number of a key stands for the key, and no region for the one that was
    /// found then.
    pub(crate) fn means(&self, provider: ProviderKind, asked: &RequestedParameters) -> bool {
        let same_key = self.pubkey_id == asked.plain.key.as_ref().map(|key| key.pubkey_id);
        let mut again = self.asked(provider, asked.plain.key.clone());
        if self.names_no_region() {
            again.plain.region.clone_from(&asked.plain.region);
        }
        same_key && again == *asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_filled_in_and_what_cannot_be_is_nobodys_amount() {
        let form = NewParameters { source_id: " 7 ".into(), name: Some(String::new()), ..Default::default() };
        let filled = form.asked(ProviderKind::Aws, None).plain;
        assert_eq!((filled.source_id.as_str(), filled.region.as_str()), ("7", "us-east-1"));
        assert_eq!((filled.amount, filled.name), (1, None));
        for amount in [-1, 0, i64::MAX] {
            let form = NewParameters { amount: Some(amount), ..form.clone() };
            assert_eq!(form.asked(ProviderKind::Aws, None).plain.amount, 0, "{amount}");
        }
    }

    #[test]
    fn two_forms_mean_the_same_when_every_field_does() {
        let key = KeyChoice { pubkey_id: 3, name: "k".into(), line: "ssh-ed25519 AAAA".into() };
        let form = NewParameters {
            source_id: "7".into(),
            pubkey_id: Some(3),
            user_data: Some("x".into()),
            ..Default::default()
        };
        let asked = form.asked(ProviderKind::Aws, Some(key));
        assert!(form.means(ProviderKind::Aws, &asked));
        for other in [
            NewParameters { amount: Some(2), ..form.clone() },
            NewParameters { pubkey_id: Some(4), ..form.clone() },
            NewParameters { pubkey_id: None, ..form.clone() },
            NewParameters { user_data: Some("y".into()), ..form.clone() },
        ] {
            assert!(!other.means(ProviderKind::Aws, &asked), "{other:?}");
        }
    }

    #[test]
    fn what_may_be_secret_is_not_shown() {
        let form = NewParameters { user_data: Some("hunter2".into()), ..Default::default() };
        let asked = form.asked(ProviderKind::Aws, None);
        let image = RequestedImage::Build { request: serde_json::json!({"password": "hunter2"}) };
        assert!(!format!("{form:?}{asked:?}{image:?}").contains("hunter2"));
    }
}

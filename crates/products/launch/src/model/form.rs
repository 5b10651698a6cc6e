//! What a client fills in. Keys and accounts are named by their numbers; nothing has been looked up yet.

use std::fmt;

use cloud::ProviderKind;
use engine::secret::{ExposeSecret, SecretString};

use super::params::{AskedImage, AskedParameters, KeyChoice, PlainParameters};
use super::profile::Profile;

#[derive(Debug, Clone)]
pub struct LaunchForm {
    pub provider: ProviderKind,
    pub image: AskedImage,
    /// Nothing means that they come later.
    pub parameters: Option<ParametersForm>,
    /// Nothing means the one that is configured.
    pub profile: Option<Profile>,
}

/// How and where to launch.
#[derive(Clone, Default)]
pub struct ParametersForm {
    pub source_id: String,
    /// Nothing means the region in which the provider's images are made.
    pub region: Option<String>,
    pub instance_type: Option<String>,
    pub launch_template_id: Option<String>,
    /// Nothing means one.
    pub amount: Option<i64>,
    pub name: Option<String>,
    pub pubkey_id: Option<i64>,
    pub poweroff: bool,
    pub subnet: Option<String>,
    pub security_groups: Vec<String>,
    /// Text for the first start of every instance.
    pub user_data: Option<SecretString>,
}

impl fmt::Debug for ParametersForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParametersForm")
            .field("source_id", &self.source_id)
            .field("region", &self.region)
            .field("instance_type", &self.instance_type)
            .field("launch_template_id", &self.launch_template_id)
            .field("amount", &self.amount)
            .field("pubkey_id", &self.pubkey_id)
            .finish_non_exhaustive()
    }
}

impl ParametersForm {
    /// The same with everything filled in that a client may leave out. Empty texts mean nothing, as they always
    /// did here. An amount that no `u32` can hold becomes zero, which no launch may have.
    pub(crate) fn filled(&self, provider: ProviderKind, key: Option<KeyChoice>) -> AskedParameters {
        let given = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let plain = PlainParameters {
            source_id: self.source_id.trim().to_owned(),
            region: given(&self.region).unwrap_or_else(|| provider.spec().home.to_owned()),
            instance_type: given(&self.instance_type),
            launch_template_id: given(&self.launch_template_id),
            amount: u32::try_from(self.amount.unwrap_or(1)).unwrap_or(0),
            name: given(&self.name),
            key,
            poweroff: self.poweroff,
            subnet: given(&self.subnet),
            security_groups: self.security_groups.clone(),
        };
        let user_data = self.user_data.as_ref().map(|text| text.expose_secret().to_owned());
        AskedParameters { plain, user_data: user_data.filter(|text| !text.is_empty()) }
    }

    /// Whether somebody has asked for the same before. The number of a key stands for the key.
    pub(crate) fn means(&self, provider: ProviderKind, asked: &AskedParameters) -> bool {
        let same_key = self.pubkey_id == asked.plain.key.as_ref().map(|key| key.pubkey_id);
        same_key && self.filled(provider, asked.plain.key.clone()) == *asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_filled_in_and_what_cannot_be_is_nobodys_amount() {
        let form =
            ParametersForm { source_id: " 7 ".into(), name: Some(String::new()), ..Default::default() };
        let filled = form.filled(ProviderKind::Aws, None).plain;
        assert_eq!((filled.source_id.as_str(), filled.region.as_str()), ("7", "us-east-1"));
        assert_eq!((filled.amount, filled.name), (1, None));
        for amount in [-1, 0, i64::MAX] {
            let form = ParametersForm { amount: Some(amount), ..form.clone() };
            assert_eq!(form.filled(ProviderKind::Aws, None).plain.amount, 0, "{amount}");
        }
    }

    #[test]
    fn two_forms_mean_the_same_when_every_field_does() {
        let key = KeyChoice { pubkey_id: 3, name: "k".into(), line: "ssh-ed25519 AAAA".into() };
        let form = ParametersForm {
            source_id: "7".into(),
            pubkey_id: Some(3),
            user_data: Some("x".into()),
            ..Default::default()
        };
        let asked = form.filled(ProviderKind::Aws, Some(key));
        assert!(form.means(ProviderKind::Aws, &asked));
        for other in [
            ParametersForm { amount: Some(2), ..form.clone() },
            ParametersForm { pubkey_id: Some(4), ..form.clone() },
            ParametersForm { pubkey_id: None, ..form.clone() },
            ParametersForm { user_data: Some("y".into()), ..form.clone() },
        ] {
            assert!(!other.means(ProviderKind::Aws, &asked), "{other:?}");
        }
    }

    #[test]
    fn what_may_be_secret_is_not_shown() {
        let form = ParametersForm { user_data: Some("hunter2".into()), ..Default::default() };
        let asked = form.filled(ProviderKind::Aws, None);
        let image = AskedImage::Build { request: serde_json::json!({"password": "hunter2"}) };
        assert!(!format!("{form:?}{asked:?}{image:?}").contains("hunter2"));
    }
}

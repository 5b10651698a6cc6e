//! What an instance is made of. A launch template says it beforehand, and a call can say otherwise.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::call_error::AwsError;
use super::form::AwsForm;
use super::signature::sha256;
use super::tags::{self, Tags};

const USER_DATA_BYTES_MAX: usize = 16 * 1024;
const TAGGED: &[&str] = &["instance", "volume", "network-interface", "spot-instances-request"];

/// What is known of a text for the first start; the text itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct UserData {
    bytes: usize,
    sha256: String,
}

impl UserData {
    fn read(encoded: &str) -> Result<Self, AwsError> {
        let malformed = |_| AwsError::new("InvalidUserData.Malformed", "UserData is not in base64");
        let text = STANDARD.decode(encoded).map_err(malformed)?;
        if text.len() > USER_DATA_BYTES_MAX {
            return Err(AwsError::invalid(format!("UserData has at most {USER_DATA_BYTES_MAX} bytes")));
        }
        Ok(UserData { bytes: text.len(), sha256: sha256(&text) })
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Details {
    pub(super) image: Option<String>,
    pub(super) instance_type: Option<String>,
    pub(super) key_name: Option<String>,
    pub(super) user_data: Option<UserData>,
    pub(super) subnet: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) zone: Option<String>,
    pub(super) http_tokens: Option<String>,
    pub(super) tags: Tags,
    pub(super) volume_tags: Tags,
}

impl Details {
    pub(super) fn read(form: &mut AwsForm) -> Result<Self, AwsError> {
        let mut metadata = form.sub("MetadataOptions");
        let http_tokens = metadata.take("HttpTokens");
        if http_tokens.as_ref().is_some_and(|text| !["required", "optional"].contains(&text.as_str())) {
            return Err(AwsError::invalid("MetadataOptions.HttpTokens must be required or optional"));
        }
        metadata.take("HttpEndpoint");
        metadata.number::<u32>("HttpPutResponseHopLimit")?;
        metadata.finish()?;
        let mut placement = form.sub("Placement");
        let zone = placement.take("AvailabilityZone");
        placement.finish()?;
        let mut tags = tags::read(form, TAGGED)?;
        Ok(Details {
            image: form.take("ImageId"),
            instance_type: form.take("InstanceType"),
            key_name: form.take("KeyName"),
            user_data: form.take("UserData").map(|encoded| UserData::read(&encoded)).transpose()?,
            subnet: form.take("SubnetId"),
            groups: form.list("SecurityGroupId")?,
            zone,
            http_tokens,
            tags: tags.remove("instance").unwrap_or_default(),
            volume_tags: tags.remove("volume").unwrap_or_default(),
        })
    }

    /// What is said here counts, and what is not is as there. Tags come together.
    pub(super) fn over(self, under: &Details) -> Details {
        let mut under = under.clone();
        under.tags.extend(self.tags);
        under.volume_tags.extend(self.volume_tags);
        Details {
            image: self.image.or(under.image),
            instance_type: self.instance_type.or(under.instance_type),
            key_name: self.key_name.or(under.key_name),
            user_data: self.user_data.or(under.user_data),
            subnet: self.subnet.or(under.subnet),
            groups: if self.groups.is_empty() { under.groups } else { self.groups },
            zone: self.zone.or(under.zone),
            http_tokens: self.http_tokens.or(under.http_tokens),
            tags: under.tags,
            volume_tags: under.volume_tags,
        }
    }
}

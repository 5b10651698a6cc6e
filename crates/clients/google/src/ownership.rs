//! Who an account is, and the proof that it belongs to the organisation that names it.
//!
//! All customers let the same service account in. Without a proof every organisation could name the project, the
//! image or the subnetwork of any other one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use cloud::{Category, CloudAccount, CloudError, CloudIdentity};
use engine::Timestamp;
use http_client::hex;
use serde::Deserialize;
use tracing::warn;

use crate::call::Call;
use crate::error::permission;
use crate::paths::project;
use crate::quotas::QuotaItem;
use crate::{Google, GoogleOptions};

/// The label of a project that names the organisation which may use it.
pub const ORGANISATION_LABEL: &str = "provision-engine-org";
const GOOD_FOR: Duration = Duration::from_mins(3);
const KEPT_MAX: usize = 2000;
const VALUE_CHARS_MAX: usize = 63;
const DIGEST: &str = "sha256-";

/// What was proved a short while ago, by project and organisation.
pub(super) struct Ownership {
    image_projects: Vec<String>,
    proved: Mutex<HashMap<(String, String), Timestamp>>,
}

impl Ownership {
    pub(super) fn new(options: &GoogleOptions) -> Ownership {
        Ownership { image_projects: options.image_projects.clone(), proved: Mutex::default() }
    }

    fn is_proved(&self, proof: &(String, String), now: Timestamp) -> bool {
        let proved = self.proved.lock().unwrap_or_else(PoisonError::into_inner);
        proved.get(proof).is_some_and(|until| now < *until)
    }

    fn keep(&self, proof: (String, String), now: Timestamp) {
        let mut proved = self.proved.lock().unwrap_or_else(PoisonError::into_inner);
        if proved.len() >= KEPT_MAX {
            proved.clear();
        }
        proved.insert(proof, now.plus(GOOD_FOR));
    }
}

/// A project as Compute Engine shows it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ComputeProject {
    name: String,
    #[serde(default)]
    common_instance_metadata: Metadata,
    #[serde(default)]
    pub(super) quotas: Vec<QuotaItem>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    items: Vec<MetadataItem>,
}

#[derive(Deserialize)]
struct MetadataItem {
    key: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct LabelledProject {
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

pub(super) async fn identity(google: &Google, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
    google.prove(place).await?;
    let project = google.project(place).await?;
    let os_login = project.common_instance_metadata.items.iter().find(|item| item.key == "enable-oslogin");
    if os_login.is_some_and(|item| item.value.eq_ignore_ascii_case("true")) {
        warn!(target: "google", project = project.name, "OS Login is on: instances ignore the public key of a launch");
    }
    Ok(CloudIdentity { account_id: project.name, name: google.tokens.email(place)? })
}

impl Google {
    pub(super) async fn project(&self, place: &CloudAccount<'_>) -> Result<ComputeProject, CloudError> {
        self.call(place, Call::get(format!("projects/{}", project(place)?))).await
    }

    /// The project of the account belongs to its organisation.
    pub(super) async fn prove(&self, place: &CloudAccount<'_>) -> Result<(), CloudError> {
        self.prove_project(place, &project(place)?).await
    }

    /// An image may be of a project that all may use, too.
    pub(super) async fn prove_image(&self, place: &CloudAccount<'_>, owner: &str) -> Result<(), CloudError> {
        if self.ownership.image_projects.iter().any(|open| open == owner) {
            return Ok(());
        }
        self.prove_project(place, owner).await
    }

    /// With a service account for each organisation there is nothing to prove: the owner of the project let it in.
    pub(super) async fn prove_project(
        &self,
        place: &CloudAccount<'_>,
        owner: &str,
    ) -> Result<(), CloudError> {
        if self.tokens.are_of_organisations() {
            return Ok(());
        }
        let org = &place.account.org;
        let proof = (owner.to_owned(), org.clone());
        if self.ownership.is_proved(&proof, self.clock.now()) {
            return Ok(());
        }
        // A lack of credentials is no lack of a label.
        self.tokens.token(&self.http, place).await?;
        let wanted = label_value(org);
        let found: Result<LabelledProject, CloudError> =
            self.call(place, Call::get(format!("projects/{owner}")).of_projects()).await;
        let found = match found {
            Err(error) if matches!(error.category, Category::Permission | Category::NotFound) => {
                let email = self.tokens.email(place)?;
                let message = format!(
                    "the project {owner} does not show its labels to {email}: give it resourcemanager.projects.get \
                     there, and set the label {ORGANISATION_LABEL}={wanted} ({})",
                    error.message
                );
                return Err(permission("ProjectNotProved", message));
            }
            found => found?,
        };
        if found.labels.get(ORGANISATION_LABEL) != Some(&wanted) {
            let message = format!(
                "the project {owner} does not say that it belongs to this organisation: set its label \
                 {ORGANISATION_LABEL}={wanted}"
            );
            return Err(permission("ProjectNotProved", message));
        }
        self.ownership.keep(proof, self.clock.now());
        Ok(())
    }
}

/// The organisation as a label can hold it. Two of them never look the same, so one that does not fit is a digest.
fn label_value(org: &str) -> String {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let is_plain =
        (1..=VALUE_CHARS_MAX).contains(&org.len()) && org.bytes().all(fits) && !org.starts_with(DIGEST);
    if is_plain {
        return org.to_owned();
    }
    let digest = hex(digest(&SHA256, org.as_bytes()).as_ref());
    format!("{DIGEST}{}", &digest[..40])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_organisations_have_the_same_label() {
        assert_eq!(label_value("org_7"), "org_7");
        let odd = ["", "Org_7", "org.7", "org-7 ", "sha256-", &"a".repeat(64)].map(label_value);
        for (number, value) in odd.iter().enumerate() {
            assert!(value.starts_with(DIGEST) && value.len() <= VALUE_CHARS_MAX, "{value}");
            assert!(!odd[..number].contains(value));
            assert_ne!(label_value(value), *value);
        }
    }
}

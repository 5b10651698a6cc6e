//! Whether a subscription belongs to the organisation that names it.
//!
//! All customers delegate to the same application of ours, so that it can be reached proves nothing: the delegation
//! itself must carry the organisation. Only an owner of the subscription can write it there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cloud::{
    Category, CloudAccount, CloudError, CloudIdentity, EXTERNAL_ID_PREFIX, LAUNCH_TAG, UploadTarget,
};
use engine::Timestamp;
use reqwest::Method;
use serde::Deserialize;

use super::arm::ArmCall;
use super::ids::Subscription;
use super::prepare::GROUPS;
use super::{Azure, image};

const SUBSCRIPTIONS: &str = "2022-12-01";
const MANAGED_SERVICES: &str = "2022-10-01";
/// A delegation that was taken back counts for no longer than this.
const PROOF_LIFE: Duration = Duration::from_mins(2);
/// More than there are subscriptions in use within the life of a proof.
const PROOFS_MAX: usize = 10_000;

/// Which organisations were just found to own which subscriptions.
#[derive(Default)]
pub(super) struct Proofs(Mutex<HashMap<(String, String), Timestamp>>);

impl Proofs {
    fn is_fresh(&self, key: &(String, String), now: Timestamp) -> bool {
        let proofs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        proofs.get(key).is_some_and(|until| now < *until)
    }

    fn keep(&self, key: (String, String), now: Timestamp) {
        let mut proofs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if proofs.len() >= PROOFS_MAX {
            proofs.retain(|_, until| now < *until);
        }
        if proofs.len() < PROOFS_MAX {
            proofs.insert(key, now.plus(PROOF_LIFE));
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubscriptionBody {
    subscription_id: String,
    #[serde(default)]
    tenant_id: Option<String>,
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    state: String,
}

#[derive(Deserialize)]
struct GroupBody {
    name: String,
    #[serde(default)]
    location: Option<String>,
    #[serde(default)]
    tags: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Assignment {
    properties: AssignmentProperties,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssignmentProperties {
    #[serde(default)]
    provisioning_state: String,
    #[serde(default)]
    registration_definition: Option<Definition>,
}

#[derive(Deserialize)]
struct Definition {
    #[serde(default)]
    properties: DefinitionProperties,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionProperties {
    #[serde(default)]
    registration_definition_name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    managed_by_tenant_id: Option<String>,
}

impl Assignment {
    /// Whether it delegates to this tenant and has the word of the organisation, as a word of its own.
    fn proves(&self, tenant: &str, word: &str) -> bool {
        let Some(Definition { properties }) = &self.properties.registration_definition else { return false };
        let is_ours = properties
            .managed_by_tenant_id
            .as_ref()
            .is_some_and(|managed| managed.eq_ignore_ascii_case(tenant));
        let texts = [&properties.registration_definition_name, &properties.description];
        let carries = texts.into_iter().flatten().any(|text| text.split_whitespace().any(|one| one == word));
        is_ours && carries && self.properties.provisioning_state.eq_ignore_ascii_case("Succeeded")
    }
}

pub(super) async fn identity(azure: &Azure, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
    let body = proved(azure, place).await?;
    let name = body.display_name.as_deref().map(http_client::shorten).unwrap_or_default();
    Ok(CloudIdentity { account_id: body.subscription_id, name })
}

/// An image goes into one of the groups of the subscription, in the tenant of the customer.
pub(super) async fn upload_target(
    azure: &Azure,
    place: &CloudAccount<'_>,
) -> Result<UploadTarget, CloudError> {
    let body = proved(azure, place).await?;
    let path = format!("{}/resourcegroups", Subscription::of(place)?.path());
    let groups: Vec<GroupBody> =
        azure.arm.list(place, &ArmCall::new(Method::GET, path, GROUPS), "a list of resource groups").await?;
    // What a launch made goes with it, and so would the image.
    let is_customers = |group: &GroupBody| !group.tags.keys().any(|tag| tag.eq_ignore_ascii_case(LAUNCH_TAG));
    let groups: Vec<GroupBody> = groups.into_iter().filter(is_customers).collect();
    let first = groups.first().and_then(|group| group.location.as_deref());
    Ok(UploadTarget {
        account_id: body.subscription_id,
        tenant_id: body.tenant_id,
        region: first.map(image::location),
        resource_groups: groups.into_iter().map(|group| group.name).collect(),
        principal: None,
    })
}

/// The subscription, which is enabled and belongs to the organisation.
async fn proved(azure: &Azure, place: &CloudAccount<'_>) -> Result<SubscriptionBody, CloudError> {
    let subscription = Subscription::of(place)?;
    let call = ArmCall::new(Method::GET, subscription.path(), SUBSCRIPTIONS);
    let body: SubscriptionBody = azure.arm.call(place, &call).await?.json("a subscription")?;
    if !body.state.eq_ignore_ascii_case("Enabled") {
        let message = format!(
            "the subscription {} is {}: enable it in Azure, or name another one",
            subscription.as_str(),
            http_client::shorten(&body.state)
        );
        return Err(CloudError::new(Category::Permission, "SubscriptionNotEnabled", message));
    }
    check_delegation(azure, place, &subscription).await?;
    Ok(body)
}

/// Asks again unless it was asked a short while ago.
pub(super) async fn prove(azure: &Azure, place: &CloudAccount<'_>) -> Result<(), CloudError> {
    let subscription = Subscription::of(place)?;
    if azure.proofs.is_fresh(&key(place, &subscription), azure.arm.clock.now()) {
        return Ok(());
    }
    check_delegation(azure, place, &subscription).await
}

fn key(place: &CloudAccount<'_>, subscription: &Subscription) -> (String, String) {
    (subscription.as_str().to_ascii_lowercase(), place.account.org.clone())
}

async fn check_delegation(
    azure: &Azure,
    place: &CloudAccount<'_>,
    subscription: &Subscription,
) -> Result<(), CloudError> {
    let path = format!("{}/providers/Microsoft.ManagedServices/registrationAssignments", subscription.path());
    let call =
        ArmCall::new(Method::GET, path, MANAGED_SERVICES).query("$expandRegistrationDefinition", "true");
    let asked_at = azure.arm.clock.now();
    let assignments: Vec<Assignment> = azure.arm.list(place, &call, "a list of delegations").await?;
    let org = &place.account.org;
    let word = format!("{EXTERNAL_ID_PREFIX}{org}");
    if assignments.iter().any(|assignment| assignment.proves(&azure.tenant, &word)) {
        azure.proofs.keep(key(place, subscription), asked_at);
        return Ok(());
    }
    let message = format!(
        "the subscription {} is not delegated to this service for the organisation {org}: deploy the offering \
         template of the organisation in it, whose name or description has the word {word}",
        subscription.as_str()
    );
    Err(CloudError::new(Category::Permission, "NotDelegated", message))
}

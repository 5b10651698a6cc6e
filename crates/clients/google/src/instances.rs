//! Instances that exist, and their end.

use std::collections::BTreeMap;

use cloud::{Category, CloudAccount, CloudError, CloudInstance, InstanceRequest, InstanceState, LAUNCH_TAG};
use engine::Timestamp;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http_client::shorten;
use serde::Deserialize;

use crate::call::Call;
use crate::error::invalid;
use crate::json::id;
use crate::names::Names;
use crate::paths::{Site, is_name_or_id};
use crate::{CALLS_AT_ONCE, Google, labels, operations};

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Instance {
    #[serde(deserialize_with = "id")]
    pub(super) id: String,
    pub(super) name: String,
    status: String,
    status_message: Option<String>,
    creation_timestamp: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    network_interfaces: Vec<NetworkInterface>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NetworkInterface {
    #[serde(rename = "networkIP")]
    network_ip: Option<String>,
    ipv6_address: Option<String>,
    #[serde(default)]
    access_configs: Vec<AccessConfig>,
}

#[derive(Debug, Clone, Deserialize)]
struct AccessConfig {
    #[serde(rename = "natIP")]
    nat_ip: Option<String>,
}

impl Instance {
    pub(super) fn is_of(&self, launch_tag: &str) -> bool {
        self.labels.get(LAUNCH_TAG).is_some_and(|tag| tag == launch_tag)
    }

    /// Made by a later call than the one that ended then.
    pub(super) fn is_newer_than(&self, ended_at: Option<Timestamp>) -> bool {
        let created_at = self.creation_timestamp.as_deref().and_then(Timestamp::parse);
        created_at.zip(ended_at).is_some_and(|(created_at, ended_at)| created_at > ended_at)
    }

    pub(super) fn read(&self) -> Result<CloudInstance, CloudError> {
        let state = state(&self.status).ok_or_else(|| {
            let message =
                format!("the instance {} has an unknown status {:?}", self.name, shorten(&self.status));
            CloudError::new(Category::Upstream, "", message)
        })?;
        let network = self.network_interfaces.first();
        let address = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let nat = network.and_then(|network| network.access_configs.first());
        Ok(CloudInstance {
            id: self.id.clone(),
            state,
            public_dns: None,
            public_ipv4: nat.and_then(|nat| address(&nat.nat_ip)),
            private_ipv4: network.and_then(|network| address(&network.network_ip)),
            private_ipv6: network.and_then(|network| address(&network.ipv6_address)),
            reason: self.status_message.as_deref().map(shorten),
        })
    }
}

/// TERMINATED is an instance that is switched off: it is still there, and its disk is paid for.
fn state(status: &str) -> Option<InstanceState> {
    Some(match status {
        "PENDING" | "PROVISIONING" | "STAGING" => InstanceState::Pending,
        "RUNNING" | "REPAIRING" => InstanceState::Running,
        "PENDING_STOP" | "STOPPING" | "SUSPENDING" => InstanceState::Stopping,
        "DEPROVISIONING" => InstanceState::ShuttingDown,
        "TERMINATED" | "STOPPED" | "SUSPENDED" => InstanceState::Stopped,
        _ => return None,
    })
}

/// Those with the label of the launch, and those with its names, which a list may show late. While a bulk call is
/// under way, the names that it has not made yet count as pending: their time to be deleted is still to come.
pub(super) async fn find(
    google: &Google,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
) -> Result<Vec<CloudInstance>, CloudError> {
    let names = Names::of(request)?;
    let filter = labels::filter(&request.launch_tag)?;
    let call = Call::get(Site::of(place)?.zonal("instances")).with("filter", filter);
    let mut found: Vec<Instance> = google.pages(place, call).await?;
    let is_listed = |name: &&String| !found.iter().any(|instance| instance.name == **name);
    let unseen: Vec<String> = names.instances.iter().filter(is_listed).cloned().collect();
    if unseen.is_empty() {
        return found.iter().map(Instance::read).collect();
    }
    let is_making = operations::is_making(google, place, &names).await?;
    let named = named(google, place, &unseen).await?;
    found.extend(named.into_iter().filter(|instance| instance.is_of(&request.launch_tag)));
    let mut all: Vec<CloudInstance> = found.iter().map(Instance::read).collect::<Result<_, _>>()?;
    if is_making {
        let is_there = |name: &&String| !found.iter().any(|instance| instance.name == **name);
        all.extend(unseen.iter().filter(is_there).map(|name| pending(name)));
    }
    Ok(all)
}

/// One that has no number yet. Its name is as good in every call.
fn pending(name: &str) -> CloudInstance {
    CloudInstance {
        id: name.to_owned(),
        state: InstanceState::Pending,
        public_dns: None,
        public_ipv4: None,
        private_ipv4: None,
        private_ipv6: None,
        reason: None,
    }
}

/// Those of these names or numbers that are there.
pub(super) async fn named(
    google: &Google,
    place: &CloudAccount<'_>,
    wanted: &[String],
) -> Result<Vec<Instance>, CloudError> {
    let calls = each(place, wanted, Call::get)?;
    let calls = calls.into_iter().map(|call| google.find_one::<Instance>(place, call));
    let found: Vec<Option<Instance>> = stream::iter(calls).buffered(CALLS_AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

pub(super) async fn describe(
    google: &Google,
    place: &CloudAccount<'_>,
    ids: &[String],
) -> Result<Vec<CloudInstance>, CloudError> {
    named(google, place, ids).await?.iter().map(Instance::read).collect()
}

/// Without a request id: a deletion that failed would be answered with the same failure for an hour.
pub(super) async fn delete(
    google: &Google,
    place: &CloudAccount<'_>,
    ids: &[String],
) -> Result<(), CloudError> {
    let calls = each(place, ids, Call::delete)?;
    let calls = calls.into_iter().map(|call| google.begin_deletion(place, call));
    stream::iter(calls).buffered(CALLS_AT_ONCE).try_for_each(|()| async { Ok(()) }).await
}

fn each(
    place: &CloudAccount<'_>,
    wanted: &[String],
    call: fn(String) -> Call,
) -> Result<Vec<Call>, CloudError> {
    let site = Site::of(place)?;
    if let Some(odd) = wanted.iter().find(|one| !is_name_or_id(one)) {
        return Err(invalid("InvalidInstance", format!("{odd:?} is not the id of an instance")));
    }
    Ok(wanted.iter().map(|one| call(site.zonal(&format!("instances/{one}")))).collect())
}

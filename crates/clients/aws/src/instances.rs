//! `DescribeInstances` and `TerminateInstances`.

use cloud::{CloudAccount, CloudError, CloudInstance, InstanceState, LAUNCH_TAG};
use http_client::shorten;

use super::form::QueryForm;
use super::xml::{Element, Parts as _, ResponseXmlError};
use super::{Aws, Category};

/// Far below what AWS allows, and few enough for one answer.
const PAGE_SIZE: u32 = 500;
/// AWS takes 200 values in a filter.
const IDS_MAX: usize = 100;

pub(super) async fn find(
    aws: &Aws,
    place: &CloudAccount<'_>,
    launch_tag: &str,
) -> Result<Vec<CloudInstance>, CloudError> {
    list(aws, place, form().filter(&format!("tag:{LAUNCH_TAG}"), [launch_tag])).await
}

/// By a filter, because one unknown id among those that are named would spoil the whole call.
pub(super) async fn describe(
    aws: &Aws,
    place: &CloudAccount<'_>,
    ids: &[String],
) -> Result<Vec<CloudInstance>, CloudError> {
    let mut all = Vec::new();
    for some in ids.chunks(IDS_MAX) {
        let found = list(aws, place, form().filter("instance-id", some.iter().map(String::as_str))).await?;
        all.extend(found.into_iter().filter(|instance| some.contains(&instance.id)));
    }
    Ok(all)
}

pub(super) async fn delete(aws: &Aws, place: &CloudAccount<'_>, ids: &[String]) -> Result<(), CloudError> {
    for some in ids.chunks(IDS_MAX) {
        match terminate(aws, place, some).await {
            Err(error) if spoiled(&error) => delete_known(aws, place, some).await?,
            answer => answer?,
        }
    }
    Ok(())
}

/// One id that AWS does not know keeps it from ending any of the others.
fn spoiled(error: &CloudError) -> bool {
    error.code.starts_with("InvalidInstanceID.")
}

async fn delete_known(aws: &Aws, place: &CloudAccount<'_>, ids: &[String]) -> Result<(), CloudError> {
    let known = describe(aws, place, ids).await?;
    let known: Vec<String> = known.into_iter().map(|instance| instance.id).collect();
    if known.is_empty() {
        return Ok(());
    }
    terminate(aws, place, &known).await.map_err(|error| {
        if !spoiled(&error) {
            return error;
        }
        let message = format!("an instance that was just listed is not there any more: {}", error.message);
        CloudError::new(Category::Upstream, error.code, message)
    })
}

async fn terminate(aws: &Aws, place: &CloudAccount<'_>, ids: &[String]) -> Result<(), CloudError> {
    let form = QueryForm::new("TerminateInstances").each("InstanceId", ids.iter().map(String::as_str));
    aws.ec2(place, &form).await.map(drop)
}

fn form() -> QueryForm {
    QueryForm::new("DescribeInstances").with("MaxResults", PAGE_SIZE.to_string())
}

async fn list(
    aws: &Aws,
    place: &CloudAccount<'_>,
    form: QueryForm,
) -> Result<Vec<CloudInstance>, CloudError> {
    let mut all = Vec::new();
    let read_page = |page: &Element| {
        for reservation in page.items("reservationSet") {
            all.extend(read_instances(reservation)?);
        }
        Ok(())
    };
    aws.pages(place, form, read_page).await?;
    Ok(all)
}

/// The instances of a reservation.
pub(super) fn read_instances(reservation: &Element) -> Result<Vec<CloudInstance>, ResponseXmlError> {
    reservation.items("instancesSet").map(read).collect()
}

fn read(item: &Element) -> Result<CloudInstance, ResponseXmlError> {
    let state = item.needed("instanceState/name")?;
    let reason = item.text("stateReason/message").or_else(|| item.text("reason"));
    Ok(CloudInstance {
        id: item.word("instanceId")?,
        state: state_of(state).ok_or(ResponseXmlError::Part("instanceState/name"))?,
        public_dns: item.maybe_word("dnsName")?,
        public_ipv4: item.maybe_word("ipAddress")?,
        private_ipv4: item.maybe_word("privateIpAddress")?,
        private_ipv6: ipv6(item)?,
        reason: reason.map(shorten),
    })
}

/// Old instances have it at hand, others only at their first network interface that has one.
fn ipv6(item: &Element) -> Result<Option<String>, ResponseXmlError> {
    if let Some(address) = item.maybe_word("ipv6Address")? {
        return Ok(Some(address));
    }
    let mut addresses =
        item.items("networkInterfaceSet").flat_map(|network| network.items("ipv6AddressesSet"));
    addresses.next().map(|address| address.word("ipv6Address")).transpose()
}

fn state_of(name: &str) -> Option<InstanceState> {
    Some(match name {
        "pending" => InstanceState::Pending,
        "running" => InstanceState::Running,
        "stopping" => InstanceState::Stopping,
        "stopped" => InstanceState::Stopped,
        "shutting-down" => InstanceState::ShuttingDown,
        "terminated" => InstanceState::Terminated,
        _ => return None,
    })
}

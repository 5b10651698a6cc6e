//! `DescribeInstances`, and what an instance looks like.

use std::net::Ipv4Addr;

use super::instance::{Ec2Instance, State};
use crate::aws::call_error::AwsError;
use crate::aws::filter::Filters;
use crate::aws::form::AwsForm;
use crate::aws::page::ResultPage;
use crate::aws::world::{AwsCall, AwsState};
use crate::aws::xml::Xml;

const FILTERS: &[&str] = &[
    "client-token",
    "image-id",
    "instance-id",
    "instance-state-name",
    "instance-type",
    "key-name",
    "reservation-id",
];

pub(in crate::aws) fn describe(
    aws_state: &AwsState,
    call: &AwsCall,
    mut form: AwsForm,
) -> Result<String, AwsError> {
    let ids = form.list("InstanceId")?;
    let filters = Filters::read(&mut form, FILTERS)?;
    if !ids.is_empty() && (form.has("MaxResults") || form.has("NextToken")) {
        let message = "InstanceId cannot be combined with MaxResults or NextToken";
        return Err(AwsError::new("InvalidParameterCombination", message));
    }
    // Who names instances gets all of them at once.
    let page_items = aws_state.controls.page_items.filter(|_| ids.is_empty());
    let page = ResultPage::read(&mut form, 5..=1000, page_items)?;
    form.finish()?;
    call.admit()?;
    let instances = &aws_state.instances;
    let named = instances.named(call, &ids)?;
    let is_asked_for = |instance: &&Ec2Instance| {
        instance.is_visible(call)
            && (ids.is_empty() || named.contains(&instance.number))
            && filters.fit(&instance.details.tags, |filter| instance.attribute(filter))
    };
    let found = instances.by_number.values().filter(is_asked_for);
    let (found, next) = page.cut(found.map(|instance| (instance.number, instance)));
    let reservations = found.chunk_by(|one, other| one.reservation == other.reservation);
    Ok(Xml::of(|xml| {
        xml.items("reservationSet", reservations, write_reservation);
        xml.maybe("nextToken", next);
    }))
}

/// Instances that were made together.
pub(super) fn write_reservation(xml: &mut Xml, instances: &[&Ec2Instance]) {
    if let Some(first) = instances.first() {
        xml.leaf("reservationId", &first.reservation);
        xml.leaf("ownerId", &first.site.account);
        xml.branch("groupSet", |_| ());
    }
    xml.items("instancesSet", instances, |xml, instance| write(xml, instance));
}

pub(super) fn write_state(xml: &mut Xml, name: &str, state: State) {
    xml.branch(name, |xml| {
        xml.leaf("code", state.code());
        xml.leaf("name", state.name());
    });
}

fn write(xml: &mut Xml, instance: &Ec2Instance) {
    let region = &instance.site.region;
    let public = instance.public_address();
    // What has ended has no addresses any more.
    let private = Some(instance.private_address()).filter(|_| instance.state != State::Terminated);
    xml.leaf("instanceId", &instance.id);
    xml.leaf("imageId", &instance.image.ami);
    write_state(xml, "instanceState", instance.state);
    xml.leaf("privateDnsName", private.map_or_else(String::new, |address| private_name(address, region)));
    xml.leaf("dnsName", public.map_or_else(String::new, |address| public_name(address, region)));
    write_reason(xml, instance);
    xml.maybe("keyName", instance.details.key_name.as_ref());
    xml.leaf("amiLaunchIndex", instance.index);
    xml.leaf("instanceType", instance.kind.name);
    xml.moment("launchTime", instance.launched_at);
    xml.branch("placement", |xml| {
        let zone = instance.details.zone.clone().unwrap_or_else(|| format!("{region}a"));
        xml.leaf("availabilityZone", zone);
        xml.leaf("tenancy", "default");
    });
    xml.branch("monitoring", |xml| xml.leaf("state", "disabled"));
    if let Some(private) = private {
        xml.leaf("subnetId", instance.details.subnet.as_deref().unwrap_or("subnet-00000000000000001"));
        xml.leaf("vpcId", "vpc-00000000000000001");
        xml.leaf("privateIpAddress", private);
        xml.maybe("ipAddress", public);
    }
    xml.items("groupSet", &instance.details.groups, |xml, group| {
        xml.leaf("groupId", group);
        xml.leaf("groupName", group);
    });
    xml.leaf("architecture", instance.image.architecture.as_str());
    xml.leaf("rootDeviceType", "ebs");
    xml.leaf("rootDeviceName", "/dev/sda1");
    xml.leaf("virtualizationType", "hvm");
    xml.leaf("clientToken", instance.client_token.as_deref().unwrap_or_default());
    xml.tags(&instance.details.tags);
    xml.leaf("hypervisor", "xen");
    xml.branch("metadataOptions", |xml| {
        xml.leaf("state", "applied");
        xml.leaf("httpTokens", instance.details.http_tokens.as_deref().unwrap_or("optional"));
        xml.leaf("httpEndpoint", "enabled");
    });
}

fn write_reason(xml: &mut Xml, instance: &Ec2Instance) {
    let (code, message) = match (&instance.reason, instance.state) {
        (Some(why), _) => (why.code.as_str(), why.message.as_str()),
        (None, State::Pending) => ("pending", "pending"),
        (None, _) => ("", ""),
    };
    // The short form is empty until an instance is on its way out.
    let short = if instance.reason.is_some() { message } else { "" };
    xml.leaf("reason", short);
    if !code.is_empty() {
        xml.branch("stateReason", |xml| {
            xml.leaf("code", code);
            xml.leaf("message", message);
        });
    }
}

fn dashes(address: Ipv4Addr) -> String {
    address.to_string().replace('.', "-")
}

fn private_name(address: Ipv4Addr, region: &str) -> String {
    let domain = if region == "us-east-1" { "ec2".into() } else { format!("{region}.compute") };
    format!("ip-{}.{domain}.internal", dashes(address))
}

fn public_name(address: Ipv4Addr, region: &str) -> String {
    let domain = if region == "us-east-1" { "compute-1".into() } else { format!("{region}.compute") };
    format!("ec2-{}.{domain}.amazonaws.com", dashes(address))
}

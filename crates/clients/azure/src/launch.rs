//! The names of everything that one launch makes. They follow from the launch tag, so that every call finds again what
//! an earlier one made, also in another process.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use cloud::{Category, CloudAccount, CloudError, InstanceRequest, LAUNCH_TAG};
use http_client::hex;

use super::ids::{Kind, ResourceId, Subscription, group_name, location};

/// What the hosted service calls instances that have no name.
const NAME_DEFAULT: &str = "redhat-vm";
/// With the digits behind it a name has at most 64 characters.
const NAME_CHARS_MAX: usize = 50;
const TAGS_MAX: usize = 50;
const TAG_NAME_CHARS_MAX: usize = 512;
const TAG_VALUE_CHARS_MAX: usize = 256;
/// The subnet in the network of a launch.
pub(super) const SUBNET: &str = "instances";

pub(super) struct LaunchNames<'a> {
    pub(super) request: &'a InstanceRequest,
    pub(super) subscription: Subscription,
    pub(super) location: &'a str,
    pub(super) tags: BTreeMap<&'a str, &'a str>,
    /// The group that the tenant named, which is never made and never deleted.
    named_group: Option<&'a str>,
    /// The tenant's own subnet, if it is not ours.
    pub(super) subnet: Option<ResourceId>,
    pub(super) security_group: Option<ResourceId>,
    prefix: String,
}

impl<'a> LaunchNames<'a> {
    pub(super) fn new(
        place: &CloudAccount<'a>,
        request: &'a InstanceRequest,
    ) -> Result<LaunchNames<'a>, CloudError> {
        let subscription = Subscription::of(place)?;
        let name = request.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(NAME_DEFAULT);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.len() > NAME_CHARS_MAX || !name.chars().all(is_plain) || name.starts_with('-') {
            return Err(invalid("InvalidName", "a name has 1 to 50 letters, digits and hyphens"));
        }
        let digest = hex(&digest(&SHA256, request.launch_tag.as_bytes()).as_ref()[..4]);
        let named = |text: &Option<String>, kind| {
            let read = |text: &String| ResourceId::parse(text, &subscription, &[kind]).map(|(id, _)| id);
            text.as_ref().map(read).transpose()
        };
        let subnet = named(&request.subnet, Kind::Subnet)?;
        let security_group = match request.security_groups.as_slice() {
            [] => None,
            [one] => named(&Some(one.clone()), Kind::SecurityGroup)?,
            _ => {
                let message = "an instance of Azure has one network security group: name one";
                return Err(invalid("InvalidSecurityGroups", message));
            }
        };
        Ok(LaunchNames {
            location: location(place.region)?,
            tags: tags(request)?,
            named_group: request.resource_group.as_deref().map(group_name).transpose()?,
            subnet,
            security_group,
            prefix: format!("{name}-{digest}"),
            subscription,
            request,
        })
    }

    /// Whether the group was made for this launch and goes with it.
    pub(super) fn owns_group(&self) -> bool {
        self.named_group.is_none()
    }

    pub(super) fn group(&self) -> &str {
        self.named_group.unwrap_or(&self.prefix)
    }

    pub(super) fn group_path(&self) -> String {
        self.subscription.group_path(self.group())
    }

    fn id(&self, kind: Kind, name: &str) -> ResourceId {
        self.subscription.id(self.group(), kind, name)
    }

    pub(super) fn own_security_group(&self) -> ResourceId {
        self.id(Kind::SecurityGroup, &format!("{}-nsg", self.prefix))
    }

    pub(super) fn own_network(&self) -> ResourceId {
        self.id(Kind::Network, &format!("{}-net", self.prefix))
    }

    pub(super) fn subnet(&self) -> ResourceId {
        self.subnet.clone().unwrap_or_else(|| self.own_network().below(&format!("subnets/{SUBNET}")))
    }

    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        0..self.request.most
    }

    pub(super) fn vm_name(&self, number: u32) -> String {
        format!("{}-{number:02}", self.prefix)
    }

    pub(super) fn vm(&self, number: u32) -> ResourceId {
        self.id(Kind::Vm, &self.vm_name(number))
    }

    pub(super) fn ip(&self, number: u32) -> ResourceId {
        self.id(Kind::PublicIp, &format!("{}-ip", self.vm_name(number)))
    }

    pub(super) fn nic(&self, number: u32) -> ResourceId {
        self.id(Kind::Nic, &format!("{}-nic", self.vm_name(number)))
    }

    pub(super) fn disk(&self, number: u32) -> ResourceId {
        self.id(Kind::Disk, &format!("{}-disk", self.vm_name(number)))
    }

    /// The name is taken by a resource of another launch, or of the customer.
    pub(super) fn duplicate(id: &ResourceId) -> CloudError {
        let message = format!(
            "{id} exists and does not belong to this launch: delete it, or choose another name or resource group"
        );
        CloudError::new(Category::Duplicate, "ForeignResource", message)
    }
}

fn tags(request: &InstanceRequest) -> Result<BTreeMap<&str, &str>, CloudError> {
    let mut tags = BTreeMap::new();
    for (name, value) in &request.tags {
        if name.eq_ignore_ascii_case(LAUNCH_TAG) {
            continue;
        }
        let is_bad = |c: char| "<>%&\\?/".contains(c) || c.is_control();
        let fits = (1..=TAG_NAME_CHARS_MAX).contains(&name.chars().count())
            && !name.contains(is_bad)
            && value.chars().count() <= TAG_VALUE_CHARS_MAX;
        if !fits {
            let message = format!(
                "the tag {:?} does not fit: names have at most {TAG_NAME_CHARS_MAX} characters and none of \
                 <>%&\\?/, values at most {TAG_VALUE_CHARS_MAX}",
                http_client::shorten(name)
            );
            return Err(invalid("InvalidTag", message));
        }
        tags.insert(name.as_str(), value.as_str());
    }
    tags.insert(LAUNCH_TAG, request.launch_tag.as_str());
    if tags.len() > TAGS_MAX {
        return Err(invalid("InvalidTag", format!("a resource of Azure has at most {TAGS_MAX} tags")));
    }
    Ok(tags)
}

fn invalid(code: &str, message: impl Into<String>) -> CloudError {
    CloudError::new(Category::Invalid, code, message)
}

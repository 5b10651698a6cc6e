//! The ids of resources. Our credentials reach the subscriptions of all customers, so an id that a tenant names is used
//! only after it was read here and found to be in the tenant's own subscription.

use std::fmt;

use cloud::{Access, Category, CloudAccount, CloudError};

const SEGMENT_CHARS_MAX: usize = 90;

/// A subscription, as the account names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subscription(String);

impl Subscription {
    pub(super) fn of(place: &CloudAccount<'_>) -> Result<Subscription, CloudError> {
        let Access::Name(id) = &place.account.access else {
            let message = "an account of Azure is named by the id of its subscription: give the source one";
            return Err(CloudError::new(Category::Permission, "NoSubscription", message));
        };
        if uuid::Uuid::try_parse(id).is_err() || id.len() != 36 {
            return Err(invalid("InvalidSubscription", "the id of a subscription is a UUID with hyphens"));
        }
        Ok(Subscription(id.clone()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn path(&self) -> String {
        format!("/subscriptions/{}", self.0)
    }

    pub(super) fn group_path(&self, group: &str) -> String {
        format!("/subscriptions/{}/resourceGroups/{group}", self.0)
    }

    pub(super) fn id(&self, group: &str, kind: Kind, name: &str) -> ResourceId {
        ResourceId(format!("{}/providers/{}/{name}", self.group_path(group), kind.path()))
    }
}

/// The kinds of resources that a launch names, each with the version of its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Vm,
    Disk,
    Image,
    GalleryImage,
    Nic,
    PublicIp,
    SecurityGroup,
    Network,
    Subnet,
}

pub(super) const COMPUTE: &str = "2024-07-01";
pub(super) const NETWORK: &str = "2024-05-01";
/// Disks and galleries have versions of their own.
const DISKS: &str = "2024-03-02";
const GALLERIES: &str = "2024-03-03";

impl Kind {
    pub(super) fn path(self) -> &'static str {
        match self {
            Kind::Vm => "Microsoft.Compute/virtualMachines",
            Kind::Disk => "Microsoft.Compute/disks",
            Kind::Image => "Microsoft.Compute/images",
            Kind::GalleryImage => "Microsoft.Compute/galleries/images/versions",
            Kind::Nic => "Microsoft.Network/networkInterfaces",
            Kind::PublicIp => "Microsoft.Network/publicIPAddresses",
            Kind::SecurityGroup => "Microsoft.Network/networkSecurityGroups",
            Kind::Network => "Microsoft.Network/virtualNetworks",
            Kind::Subnet => "Microsoft.Network/virtualNetworks/subnets",
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Kind::Vm | Kind::Image => COMPUTE,
            Kind::Disk => DISKS,
            Kind::GalleryImage => GALLERIES,
            Kind::Nic | Kind::PublicIp | Kind::SecurityGroup | Kind::Network | Kind::Subnet => NETWORK,
        }
    }
}

/// The id of a resource of a known kind in the subscription of the account. Azure compares ids without regard to case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceId(String);

impl ResourceId {
    /// Reads an id of one of these kinds. One in another subscription is refused.
    pub(super) fn parse(
        text: &str,
        subscription: &Subscription,
        kinds: &[Kind],
    ) -> Result<(ResourceId, Kind), CloudError> {
        let wrong = || {
            let wanted: Vec<&str> = kinds.iter().map(|kind| kind.path()).collect();
            let message = format!(
                "an id of {} begins with /subscriptions/, names its resource group and has plain characters only",
                wanted.join(" or ")
            );
            invalid("InvalidResourceId", message)
        };
        let segments: Vec<&str> = text.strip_prefix('/').ok_or_else(wrong)?.split('/').collect();
        let [subscriptions, named, groups, _, providers, namespace, rest @ ..] = segments.as_slice() else {
            return Err(wrong());
        };
        let fixed = [(subscriptions, "subscriptions"), (groups, "resourceGroups"), (providers, "providers")];
        if fixed.iter().any(|(found, word)| !found.eq_ignore_ascii_case(word))
            || !segments.iter().all(|segment| is_segment(segment))
            || rest.is_empty()
            || rest.len() % 2 != 0
        {
            return Err(wrong());
        }
        let types: Vec<&str> = rest.iter().step_by(2).copied().collect();
        let path = format!("{namespace}/{}", types.join("/"));
        let kind = kinds.iter().find(|kind| kind.path().eq_ignore_ascii_case(&path)).ok_or_else(wrong)?;
        if !named.eq_ignore_ascii_case(subscription.as_str()) {
            let message = format!(
                "the id names the subscription {named}, and the account is the subscription {}: name a resource of \
                 the account",
                subscription.as_str()
            );
            return Err(CloudError::new(Category::Permission, "ForeignSubscription", message));
        }
        Ok((ResourceId(text.to_owned()), *kind))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn group(&self) -> &str {
        self.0.split('/').nth(4).unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn below(&self, path: &str) -> ResourceId {
        ResourceId(format!("{}/{path}", self.0))
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a resource group, as a tenant writes it.
pub(super) fn group_name(text: &str) -> Result<&str, CloudError> {
    if is_segment(text) {
        return Ok(text);
    }
    let message =
        "the name of a resource group has 1 to 90 letters, digits and - _ . ( ), and no dot at its end";
    Err(invalid("InvalidResourceGroup", message))
}

/// The name of a location, such as `westeurope`.
pub(super) fn location(text: &str) -> Result<&str, CloudError> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if (1..=32).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(text);
    }
    Err(invalid("InvalidRegion", "a region of Azure is written like westeurope: small letters and digits"))
}

/// It cannot leave its place in a path.
fn is_segment(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.()".contains(&byte);
    (1..=SEGMENT_CHARS_MAX).contains(&text.len()) && text.bytes().all(fits) && !text.ends_with('.')
}

fn invalid(code: &str, message: impl Into<String>) -> CloudError {
    CloudError::new(Category::Invalid, code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "4b9d213f-712f-4d17-a483-8a10bbe9df3a";

    fn parse(text: &str) -> Result<(ResourceId, Kind), String> {
        let kinds = [Kind::Image, Kind::GalleryImage];
        ResourceId::parse(text, &Subscription(OURS.to_owned()), &kinds).map_err(|error| error.code)
    }

    #[test]
    fn an_id_of_the_own_subscription_is_read_whatever_its_case() {
        let text = format!(
            "/Subscriptions/{}/resourcegroups/G/providers/microsoft.compute/IMAGES/i",
            OURS.to_uppercase()
        );
        let (id, kind) = parse(&text).unwrap();
        assert_eq!((id.as_str(), id.group(), id.name(), kind), (text.as_str(), "G", "i", Kind::Image));
        let version = format!(
            "/subscriptions/{OURS}/resourceGroups/g/providers/Microsoft.Compute/galleries/a/images/b/versions/1.0.0"
        );
        assert_eq!(parse(&version).unwrap().1, Kind::GalleryImage);
    }

    #[test]
    fn an_id_of_another_subscription_is_refused() {
        let other = "00000000-0000-0000-0000-000000000001";
        let text = format!("/subscriptions/{other}/resourceGroups/g/providers/Microsoft.Compute/images/i");
        assert_eq!(parse(&text).unwrap_err(), "ForeignSubscription");
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_id() {
        let base = format!("/subscriptions/{OURS}/resourceGroups/g/providers/Microsoft.Compute");
        for text in [
            String::new(),
            "composer-api-1".to_owned(),
            base.clone(),
            format!("{base}/images"),
            format!("{base}/images/.."),
            format!("{base}/images/i/"),
            format!("{base}/images/i?x=1"),
            format!("{base}/images/i%2F"),
            format!("{base}/disks/i"),
            format!("{base}/images/i/more/x"),
            format!("https://evil.example{base}/images/i"),
            format!("{base}/images/{}", "x".repeat(91)),
        ] {
            assert_eq!(parse(&text).unwrap_err(), "InvalidResourceId", "{text}");
        }
        assert!(location("west europe").is_err() && location("westeurope").is_ok());
        assert!(group_name("a/b").is_err() && group_name("my-group.1").is_ok());
    }
}

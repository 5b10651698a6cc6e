//! The images that instances can be made from, in all regions.
//!
//! The image builder registers images here and says which accounts may use them. Ids that begin with
//! `ami-0abc` need no registration: everybody can see them, in every region.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::call_error::AwsError;
use super::filter::Filters;
use super::form::AwsForm;
use super::ids::is_well_formed;
use super::tags::Tags;
use super::world::{AwsCall, AwsState};
use super::xml::Xml;

const PUBLIC_PREFIX: &str = "ami-0abc";
/// Of the public ones, those that begin so are for ARM.
const PUBLIC_ARM_PREFIX: &str = "ami-0abcaa64";

const IMAGES_MAX: usize = 100_000;

/// The account in which images are built.
pub(super) const BUILDER_ACCOUNT: &str = "888888888888";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Architecture {
    #[serde(rename = "i386")]
    I386,
    #[serde(rename = "x86_64")]
    X86_64,
    #[serde(rename = "arm64", alias = "aarch64")]
    Arm64,
}

impl Architecture {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Architecture::I386 => "i386",
            Architecture::X86_64 => "x86_64",
            Architecture::Arm64 => "arm64",
        }
    }
}

impl FromStr for Architecture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "i386" => Ok(Architecture::I386),
            "x86_64" => Ok(Architecture::X86_64),
            "arm64" | "aarch64" => Ok(Architecture::Arm64),
            _ => Err(format!("{text:?} is not an architecture; there are i386, x86_64 and arm64")),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AwsImage {
    pub(super) ami: String,
    pub(super) region: String,
    pub(super) architecture: Architecture,
    /// Who may use it, besides the account in which it was built.
    #[serde(default)]
    pub(super) accounts: Vec<String>,
    #[serde(default)]
    pub(super) is_public: bool,
}

impl AwsImage {
    fn is_visible_to(&self, account: &str) -> bool {
        self.is_public || account == BUILDER_ACCOUNT || self.accounts.iter().any(|shared| shared == account)
    }

    fn name(&self) -> String {
        format!("image {}", self.ami)
    }

    fn attribute(&self, filter: &str) -> Option<String> {
        match filter {
            "architecture" => Some(self.architecture.as_str().to_owned()),
            "image-id" => Some(self.ami.clone()),
            "name" => Some(self.name()),
            "state" => Some("available".to_owned()),
            _ => None,
        }
    }

    fn write(&self, xml: &mut Xml) {
        xml.leaf("imageId", &self.ami);
        xml.leaf("imageLocation", format_args!("{BUILDER_ACCOUNT}/{}", self.name()));
        xml.leaf("imageState", "available");
        xml.leaf("imageOwnerId", BUILDER_ACCOUNT);
        xml.leaf("isPublic", self.is_public);
        xml.leaf("architecture", self.architecture.as_str());
        xml.leaf("imageType", "machine");
        xml.leaf("name", self.name());
        xml.leaf("rootDeviceType", "ebs");
        xml.leaf("rootDeviceName", "/dev/sda1");
        xml.leaf("virtualizationType", "hvm");
        xml.leaf("hypervisor", "xen");
    }
}

#[derive(Debug, Default)]
pub(crate) struct Images {
    registered: Mutex<BTreeMap<(String, String), AwsImage>>,
}

impl Images {
    /// Makes an image known in a region, to these accounts. Registering it again replaces it.
    pub(crate) fn register(&self, ami: &str, region: &str, architecture: Architecture, accounts: &[String]) {
        self.add(AwsImage {
            ami: ami.to_owned(),
            region: region.to_owned(),
            architecture,
            accounts: accounts.to_vec(),
            is_public: false,
        });
    }

    pub(super) fn add(&self, image: AwsImage) {
        let mut registered = self.registered();
        while registered.len() >= IMAGES_MAX {
            registered.pop_first();
        }
        registered.insert((image.region.clone(), image.ami.clone()), image);
    }

    /// Answers false where there is none.
    pub(super) fn forget(&self, ami: &str, region: &str) -> bool {
        self.registered().remove(&(region.to_owned(), ami.to_owned())).is_some()
    }

    /// The image that a call means, if its caller can see it.
    pub(super) fn require(&self, call: &AwsCall, ami: &str) -> Result<AwsImage, AwsError> {
        if let Some(image) = self.find(ami, &call.site.region, &call.site.account) {
            return Ok(image);
        }
        let code =
            if is_well_formed(ami, "ami") { "InvalidAMIID.NotFound" } else { "InvalidAMIID.Malformed" };
        Err(AwsError::new(code, format!("there is no image {ami:?} that this account can see")))
    }

    /// As an account sees it.
    fn find(&self, ami: &str, region: &str, account: &str) -> Option<AwsImage> {
        if let Some(image) = self.registered().get(&(region.to_owned(), ami.to_owned())) {
            return image.is_visible_to(account).then(|| image.clone());
        }
        ami.starts_with(PUBLIC_PREFIX).then(|| AwsImage {
            ami: ami.to_owned(),
            region: region.to_owned(),
            architecture: if ami.starts_with(PUBLIC_ARM_PREFIX) {
                Architecture::Arm64
            } else {
                Architecture::X86_64
            },
            accounts: Vec::new(),
            is_public: true,
        })
    }

    /// All registered ones of a region that an account can see.
    fn visible(&self, region: &str, account: &str) -> Vec<AwsImage> {
        let is_meant = |image: &&AwsImage| image.region == region && image.is_visible_to(account);
        self.registered().values().filter(is_meant).cloned().collect()
    }

    pub(super) fn all(&self) -> Vec<AwsImage> {
        self.registered().values().cloned().collect()
    }

    fn registered(&self) -> MutexGuard<'_, BTreeMap<(String, String), AwsImage>> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn describe(aws_state: &AwsState, call: &AwsCall, mut form: AwsForm) -> Result<String, AwsError> {
    let ids = form.list("ImageId")?;
    let owners = form.list("Owner")?;
    form.list("ExecutableBy")?;
    let filters = Filters::read(&mut form, &["architecture", "image-id", "name", "state"])?;
    form.finish()?;
    call.admit()?;
    let mut images = if ids.is_empty() {
        aws_state.images.visible(&call.site.region, &call.site.account)
    } else {
        ids.iter().map(|id| aws_state.images.require(call, id)).collect::<Result<_, _>>()?
    };
    images.retain(|image| {
        let is_owned = owners.is_empty() || owners.iter().any(|owner| owner == BUILDER_ACCOUNT);
        is_owned && filters.fit(&Tags::new(), |filter| image.attribute(filter))
    });
    Ok(Xml::of(|xml| xml.items("imagesSet", images, |xml, image| image.write(xml))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_seen_where_it_is_by_whom_it_was_shared_with() {
        let images = Images::default();
        images.register("ami-1", "us-east-1", Architecture::Arm64, &["1".into()]);
        let sees = |region, account| images.find("ami-1", region, account).is_some();
        assert!(sees("us-east-1", "1") && sees("us-east-1", BUILDER_ACCOUNT));
        assert!(!sees("us-east-1", "2") && !sees("eu-west-1", "1"));
        assert_eq!((images.visible("us-east-1", "1").len(), images.visible("us-east-1", "2").len()), (1, 0));
        assert!(images.forget("ami-1", "us-east-1") && !sees("us-east-1", "1"));
    }

    #[test]
    fn everyone_sees_a_public_one() {
        let images = Images::default();
        let found = |ami| images.find(ami, "eu-west-1", "1").map(|image| image.architecture);
        assert_eq!(found("ami-0abcdef0123456789"), Some(Architecture::X86_64));
        assert_eq!(found("ami-0abcaa64000000000"), Some(Architecture::Arm64));
        assert_eq!(found("ami-0bcdef01234567890"), None);
    }
}

//! What Image Builder can build.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::identity_header::{IdentityError, IdentityHeader};

/// Which organisations may build a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    All,
    /// Those with a subscription of RHEL.
    Entitled,
    /// Those on an allow list, which is empty here.
    Restricted,
}

/// Name, description and access. `rhel-8`, `rhel-9` and `rhel-10` stand for the newest minor release.
const DISTRIBUTIONS: [(&str, &str, Access); 15] = [
    ("rhel-8", "Red Hat Enterprise Linux (RHEL) 8", Access::Entitled),
    ("rhel-8.10", "Red Hat Enterprise Linux (RHEL) 8", Access::Entitled),
    ("rhel-9", "Red Hat Enterprise Linux (RHEL) 9", Access::Entitled),
    ("rhel-9.6", "Red Hat Enterprise Linux (RHEL) 9", Access::Entitled),
    ("rhel-9.8", "Red Hat Enterprise Linux (RHEL) 9", Access::Entitled),
    ("rhel-10", "Red Hat Enterprise Linux (RHEL) 10", Access::Entitled),
    ("rhel-10.0", "Red Hat Enterprise Linux (RHEL) 10", Access::Entitled),
    ("rhel-10.2", "Red Hat Enterprise Linux (RHEL) 10", Access::Entitled),
    ("rhel-9-nightly", "Red Hat Enterprise Linux (RHEL) 9 Nightly", Access::Restricted),
    ("rhel-10-nightly", "Red Hat Enterprise Linux (RHEL) 10 Nightly", Access::Restricted),
    ("centos-9", "CentOS Stream 9", Access::All),
    ("centos-10", "CentOS Stream 10", Access::All),
    ("fedora-42", "Fedora Linux 42", Access::Restricted),
    ("fedora-43", "Fedora Linux 43", Access::Restricted),
    ("fedora-44", "Fedora Linux 44", Access::Restricted),
];

/// Image type, and where an image of it goes.
const IMAGE_TYPES: [(&str, &str); 16] = [
    ("aws", "aws"),
    ("ami", "aws"),
    ("azure", "azure"),
    ("vhd", "azure"),
    ("gcp", "gcp"),
    ("guest-image", "aws.s3"),
    ("image-installer", "aws.s3"),
    ("edge-commit", "aws.s3"),
    ("edge-installer", "aws.s3"),
    ("rhel-edge-commit", "aws.s3"),
    ("rhel-edge-installer", "aws.s3"),
    ("vsphere", "aws.s3"),
    ("vsphere-ova", "aws.s3"),
    ("wsl", "aws.s3"),
    ("oci", "oci.objectstorage"),
    ("network-installer", "aws.s3"),
];

pub(super) const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];
pub(super) const BOOTC_PREFIX: &str = "registry.redhat.io/";

pub(super) fn target_of(image_type: &str) -> Option<&'static str> {
    IMAGE_TYPES.iter().find(|(name, _)| *name == image_type).map(|(_, target)| *target)
}

/// A distribution that the caller has no subscription for is as good as unknown.
pub(super) fn allowed(distribution: &str, who: &IdentityHeader) -> Result<(), IdentityError> {
    let access = DISTRIBUTIONS.iter().find(|(name, ..)| *name == distribution).map(|(.., access)| *access);
    match access {
        Some(Access::All) => Ok(()),
        Some(Access::Entitled) if who.is_entitled => Ok(()),
        Some(Access::Restricted) if who.is_entitled || !distribution.starts_with("rhel") => {
            let why = format!("This account's organization is not authorized to build {distribution} images");
            Err(IdentityError::new(StatusCode::FORBIDDEN, why))
        }
        _ => Err(IdentityError::bad_request("distribution not available")),
    }
}

pub(super) fn distributions(who: &IdentityHeader) -> Value {
    let allowed = DISTRIBUTIONS.iter().filter(|(name, ..)| allowed(name, who).is_ok());
    allowed.map(|(name, description, _)| json!({"name": name, "description": description})).collect()
}

/// On ARM there are images for AWS and images to download, and no others.
pub(super) fn architectures() -> Value {
    let all: Vec<&str> = IMAGE_TYPES.iter().map(|(name, _)| *name).collect();
    let arm = vec!["aws", "guest-image", "image-installer"];
    let one = |(arch, types)| json!({"arch": arch, "image_types": types, "repositories": []});
    ARCHITECTURES.into_iter().zip([all, arm]).map(one).collect()
}

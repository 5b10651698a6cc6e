//! What Image Builder can build.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::requester::Complaint;

/// Name, words for people, and whether everybody may have it.
const DISTRIBUTIONS: [(&str, &str, bool); 14] = [
    ("rhel-8", "Red Hat Enterprise Linux (RHEL) 8", true),
    ("rhel-810", "Red Hat Enterprise Linux (RHEL) 8.10", true),
    ("rhel-9", "Red Hat Enterprise Linux (RHEL) 9", true),
    ("rhel-94", "Red Hat Enterprise Linux (RHEL) 9.4", true),
    ("rhel-95", "Red Hat Enterprise Linux (RHEL) 9.5", true),
    ("rhel-96", "Red Hat Enterprise Linux (RHEL) 9.6", true),
    ("rhel-10", "Red Hat Enterprise Linux (RHEL) 10", true),
    ("rhel-9-nightly", "Red Hat Enterprise Linux (RHEL) 9, last night's", false),
    ("rhel-10-nightly", "Red Hat Enterprise Linux (RHEL) 10, last night's", false),
    ("centos-9", "CentOS Stream 9", true),
    ("centos-10", "CentOS Stream 10", true),
    ("fedora-41", "Fedora Linux 41", true),
    ("fedora-42", "Fedora Linux 42", true),
    ("fedora-43", "Fedora Linux 43", true),
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

pub(super) fn allowed(distribution: &str) -> Result<(), Complaint> {
    match DISTRIBUTIONS.iter().find(|(name, ..)| *name == distribution) {
        None => Err(Complaint::bad_request(format!("{distribution:?} is not a distribution"))),
        Some((.., false)) => {
            let why = format!("the distribution {distribution} is not allowed for this organisation");
            Err(Complaint::new(StatusCode::FORBIDDEN, why))
        }
        Some(_) => Ok(()),
    }
}

pub(super) fn distributions() -> Value {
    let allowed = DISTRIBUTIONS.iter().filter(|(.., is_allowed)| *is_allowed);
    allowed.map(|(name, description, _)| json!({"name": name, "description": description})).collect()
}

pub(super) fn architectures() -> Value {
    let types: Vec<&str> = IMAGE_TYPES.iter().map(|(name, _)| *name).collect();
    let one = |arch| json!({"arch": arch, "image_types": types, "repositories": []});
    ARCHITECTURES.into_iter().map(one).collect()
}

//! The names of instances and calls, which follow from the tag of a launch: every try asks for the same.

use aws_lc_rs::digest::{SHA256, digest};
use cloud::{CloudError, InstanceRequest};
use http_client::hex;

use crate::error::invalid;
use crate::paths::is_name;

const DEFAULT_PREFIX: &str = "inst";
/// Of the digest of the tag; the names and calls of a launch begin with it or have it in them.
const DIGITS: usize = 8;

pub(super) struct Names {
    digits: String,
    /// One for each instance, `most` of them.
    pub(super) instances: Vec<String>,
}

impl Names {
    pub(super) fn of(request: &InstanceRequest) -> Result<Names, CloudError> {
        let digits = digits(&request.launch_tag);
        let prefix = request.name.as_deref().unwrap_or(DEFAULT_PREFIX);
        let width = request.most.to_string().len().max(2);
        let instances: Vec<String> =
            (1..=request.most).map(|number| format!("{prefix}-{digits}-{number:0width$}")).collect();
        if instances.iter().any(|name| !is_name(name)) {
            let message = format!(
                "{prefix:?} cannot begin the name of an instance: use 1 to 50 small letters, digits and hyphens, a \
                 letter first"
            );
            return Err(invalid("InvalidName", message));
        }
        Ok(Names { digits, instances })
    }

    /// Whether a call is one of this launch.
    pub(super) fn has_made(&self, request_id: &str) -> bool {
        request_id.starts_with(&self.digits)
    }
}

/// The UUID that stands for a call. It begins with the digits of the launch, so that the calls of a launch are known
/// without the idempotency key; the rest follows from the key.
pub(super) fn request_id(launch_tag: &str, key: &str) -> String {
    let mut rest = hex(digest(&SHA256, key.as_bytes()).as_ref());
    rest.truncate(24);
    let all = format!("{}{rest}", digits(launch_tag));
    // Version 8 leaves the other bits to us; the variant is that of RFC 9562.
    format!("{}-{}-8{}-a{}-{}", &all[..8], &all[8..12], &all[13..16], &all[17..20], &all[20..])
}

fn digits(launch_tag: &str) -> String {
    let mut digits = hex(digest(&SHA256, launch_tag.as_bytes()).as_ref());
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_try_has_the_same_names_and_every_launch_its_own() {
        let request = |tag: &str, most| InstanceRequest { most, ..InstanceRequest::new(tag) };
        let names = Names::of(&request("one", 2)).unwrap();
        assert_eq!(names.instances, ["inst-7692c3ad-01", "inst-7692c3ad-02"]);
        assert_eq!(Names::of(&request("two", 1)).unwrap().instances, ["inst-3fc4ccfe-01"]);
        let many = Names::of(&request("one", 100)).unwrap().instances;
        assert_eq!((many[0].as_str(), many[99].as_str()), ("inst-7692c3ad-001", "inst-7692c3ad-100"));
        let web = InstanceRequest { name: Some("w".repeat(51)), ..request("one", 99) };
        assert_eq!(Names::of(&web).unwrap().instances[98].len(), 63);
        for name in ["Web", "1", "", "web_", &"w".repeat(52)] {
            let odd = InstanceRequest { name: Some(name.to_owned()), ..request("one", 1) };
            assert_eq!(Names::of(&odd).err().unwrap().code, "InvalidName", "{name}");
        }
    }

    #[test]
    fn a_call_is_known_by_its_launch_and_by_its_key() {
        let names = Names::of(&InstanceRequest::new("one")).unwrap();
        let (first, second) = (request_id("one", "key-0"), request_id("one", "key-1"));
        assert_ne!(first, second);
        assert_eq!(request_id("one", "key-0"), first);
        assert!(
            names.has_made(&first) && names.has_made(&second) && !names.has_made(&request_id("two", "key-0"))
        );
        let shape: Vec<usize> = first.split('-').map(str::len).collect();
        assert_eq!((shape.as_slice(), &first[14..15], &first[19..20]), (&[8, 4, 4, 4, 12][..], "8", "a"));
    }
}

//! What a caller may build, as the Image Builder says.

use std::cmp::Reverse;

use api::Code;
use identity::CallerIdentity;
use image_builder::{BuilderError, Distribution, DistributionArchitecture};

use super::api_error::LaunchApiError;
use super::params::LaunchOwner;
use super::resolve::{builder_error, no_builder};
use super::settings::Launches;

/// RHEL first, then the others by their name; of each the newest first.
pub async fn list(
    launches: &Launches,
    who: &LaunchOwner,
    identity: Option<&CallerIdentity>,
) -> Result<Vec<Distribution>, LaunchApiError> {
    let builder = launches.builder.as_ref().ok_or_else(no_builder)?;
    let caller_identity = launches.builder_identity(who, identity)?.identity;
    let mut all = builder.distributions(&caller_identity).await.map_err(|error| builder_error(&error))?;
    all.sort_by_cached_key(|one| order(&one.name));
    Ok(all)
}

pub async fn architectures(
    launches: &Launches,
    who: &LaunchOwner,
    identity: Option<&CallerIdentity>,
    distribution: &str,
) -> Result<Vec<DistributionArchitecture>, LaunchApiError> {
    let builder = launches.builder.as_ref().ok_or_else(no_builder)?;
    let caller_identity = launches.builder_identity(who, identity)?.identity;
    builder.architectures(&caller_identity, distribution).await.map_err(|error| match error {
        BuilderError::Refused { status: 400 | 404, .. } | BuilderError::Unknown => {
            LaunchApiError::not_found("such distribution for this organisation")
        }
        BuilderError::Refused { status: 403, message } => LaunchApiError::new(Code::Forbidden, message),
        error => builder_error(&error),
    })
}

type VersionOrder = (bool, String, Reverse<u32>, bool, Reverse<u32>, String);

/// `rhel-9` stands for the newest 9, and so comes before `rhel-9.8`.
fn order(name: &str) -> VersionOrder {
    let (family, version) = name.split_once('-').unwrap_or((name, ""));
    let (major, minor) = version.split_once('.').unwrap_or((version, ""));
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let is_minor = !minor.is_empty();
    let family_name = family.to_owned();
    (family != "rhel", family_name, Reverse(number(major)), is_minor, Reverse(number(minor)), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_rhel_comes_first() {
        let sorted = [
            "rhel-10",
            "rhel-10.2",
            "rhel-10.0",
            "rhel-9",
            "rhel-9.8",
            "rhel-9.6",
            "rhel-8",
            "rhel-8.10",
            "centos-10",
            "centos-9",
            "fedora-43",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by_cached_key(|name| order(name));
        assert_eq!(names, sorted);
    }
}

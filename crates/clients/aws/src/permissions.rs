//! What an account allows. Everything is tried that leaves nothing behind, instead of reading what policies say.

use cloud::{CloudAccount, CloudError, Fingerprints, InstanceRequest, Page, Permissions, Provider as _};

use super::Aws;

const NO_IMAGE: &str = "ami-00000000000000000";
const NO_KEY: &str = "00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00";
const DRY_RUN: &str = "rehearsal";

/// The actions that a launch needs, each proven by a call that changes nothing.
pub(super) async fn permissions(aws: &Aws, place: &CloudAccount<'_>) -> Result<Permissions, CloudError> {
    let unproven = ["ec2:ImportKeyPair", "ec2:DeleteKeyPair", "ec2:TerminateInstances"];
    let mut found = Permissions { missing: Vec::new(), unproven: unproven.map(str::to_owned).into() };
    found.note("sts:AssumeRole", aws.identity(place).await)?;
    if !found.missing.is_empty() {
        // Who is not let in can do nothing at all, and need not be asked further.
        return Ok(found);
    }
    // The smallest launch with everything that a real one asks for, tags included.
    let request = InstanceRequest {
        instance_type: Some("t3.small".to_owned()),
        tags: vec![("rh-org".to_owned(), place.account.org.clone())],
        ..InstanceRequest::new(DRY_RUN)
    };
    let no_key = Fingerprints { any_of: vec![NO_KEY.to_owned()] };
    found.note("ec2:DescribeRegions", aws.regions(place).await)?;
    found.note("ec2:DescribeImages", aws.image(place, NO_IMAGE).await)?;
    found.note("ec2:DescribeKeyPairs", aws.find_key(place, &no_key).await)?;
    found.note("ec2:DescribeInstances", aws.find(place, &request).await)?;
    let page = Page { limit: 5, token: None };
    found.note("ec2:DescribeLaunchTemplates", aws.templates(place, &page).await)?;
    found.note("ec2:RunInstances", aws.dry_run(place, &request).await)?;
    Ok(found)
}

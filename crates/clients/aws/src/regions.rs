//! The regions that are open to an account.

use cloud::{CloudError, Place};

use super::Aws;
use super::form::Form;
use super::xml::Parts as _;

pub(super) async fn regions(aws: &Aws, place: &Place<'_>) -> Result<Vec<String>, CloudError> {
    let answer = aws.ec2(place, &Form::new("DescribeRegions")).await?;
    let names = answer.items("regionInfo").map(|region| region.word("regionName"));
    let mut names = names.collect::<Result<Vec<String>, _>>()?;
    names.sort();
    Ok(names)
}

//! The regions that are open to an account.

use cloud::{CloudAccount, CloudError};

use super::Aws;
use super::form::QueryForm;
use super::xml::Parts as _;

pub(super) async fn regions(aws: &Aws, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
    let answer = aws.ec2(place, &QueryForm::new("DescribeRegions")).await?;
    let names = answer.items("regionInfo").map(|region| region.word("regionName"));
    let mut names = names.collect::<Result<Vec<String>, _>>()?;
    names.sort();
    Ok(names)
}

//! The identity of the engine in an account (`GetCallerIdentity`).

use cloud::{CloudAccount, CloudError, CloudIdentity};

use super::Aws;
use super::form::QueryForm;
use super::xml::Parts as _;

pub(super) async fn identity(aws: &Aws, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
    let answer = aws.sts(place, &QueryForm::new("GetCallerIdentity")).await?;
    Ok(CloudIdentity {
        account_id: answer.word("GetCallerIdentityResult/Account")?,
        name: answer.word("GetCallerIdentityResult/Arn")?,
    })
}

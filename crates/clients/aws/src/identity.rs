//! Who we are in an account.

use cloud::{CloudError, Identity, Place};

use super::Aws;
use super::form::Form;
use super::xml::Parts as _;

pub(super) async fn identity(aws: &Aws, place: &Place<'_>) -> Result<Identity, CloudError> {
    let answer = aws.sts(place, &Form::new("GetCallerIdentity")).await?;
    Ok(Identity {
        account_id: answer.word("GetCallerIdentityResult/Account")?,
        name: answer.word("GetCallerIdentityResult/Arn")?,
    })
}

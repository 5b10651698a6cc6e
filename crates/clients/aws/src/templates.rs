//! Launch templates.

use cloud::{CloudAccount, CloudError, LaunchTemplate, Page, Templates};

use super::Aws;
use super::form::QueryForm;
use super::xml::{Parts as _, ResponseXmlError};

/// The most that AWS allows.
const PAGE_SIZE_MAX: u32 = 200;

pub(super) async fn templates(
    aws: &Aws,
    place: &CloudAccount<'_>,
    page: &Page,
) -> Result<Templates, CloudError> {
    let limit = page.limit.clamp(1, PAGE_SIZE_MAX);
    let form = QueryForm::new("DescribeLaunchTemplates")
        .with("MaxResults", limit.to_string())
        .maybe("NextToken", page.token.as_deref());
    let answer = aws.ec2(place, &form).await?;
    let items = answer.items("launchTemplates").map(|item| {
        Ok(LaunchTemplate { id: item.word("launchTemplateId")?, name: item.word("launchTemplateName")? })
    });
    let items = items.collect::<Result<Vec<LaunchTemplate>, ResponseXmlError>>()?;
    Ok(Templates { items, next: answer.text("nextToken").map(str::to_owned) })
}

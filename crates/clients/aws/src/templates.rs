//! Launch templates.

use cloud::{CloudError, Page, Place, Template, Templates};

use super::Aws;
use super::form::Form;
use super::xml::{Parts as _, Unreadable};

/// The most that AWS allows.
const PAGE_SIZE_MAX: u32 = 200;

pub(super) async fn templates(aws: &Aws, place: &Place<'_>, page: &Page) -> Result<Templates, CloudError> {
    let limit = page.limit.clamp(1, PAGE_SIZE_MAX);
    let form = Form::new("DescribeLaunchTemplates")
        .with("MaxResults", limit.to_string())
        .maybe("NextToken", page.token.as_deref());
    let answer = aws.ec2(place, &form).await?;
    let items = answer.items("launchTemplates").map(|item| {
        Ok(Template { id: item.word("launchTemplateId")?, name: item.word("launchTemplateName")? })
    });
    let items = items.collect::<Result<Vec<Template>, Unreadable>>()?;
    Ok(Templates { items, next: answer.text("nextToken").map(str::to_owned) })
}

//! `RunInstances`, also as a dry run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::{Category, CloudAccount, CloudError, Created, InstanceRequest, LAUNCH_TAG};

use super::form::QueryForm;
use super::images::BAD_IMAGE;
use super::instances::read_instances;
use super::xml::Parts as _;
use super::{Aws, ResponseXmlError};

/// AWS takes no longer one, and no other characters.
const TOKEN_CHARS_MAX: usize = 64;
/// Looks like the id of an image, and is none.
const NO_IMAGE: &str = "ami-00000000000000000";

pub(super) async fn create(
    aws: &Aws,
    place: &CloudAccount<'_>,
    instance_request: &InstanceRequest,
    token: &str,
) -> Result<Created, CloudError> {
    if !(1..=TOKEN_CHARS_MAX).contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("a client token has 1 to {TOKEN_CHARS_MAX} visible ASCII characters");
        return Err(CloudError::new(Category::Invalid, "InvalidClientToken", message));
    }
    let form =
        form(instance_request).maybe("ImageId", instance_request.image.as_deref()).with("ClientToken", token);
    let answer = aws.ec2(place, &form).await?;
    let instances = read_instances(&answer)?;
    if instances.is_empty() {
        return Err(ResponseXmlError::Part("instancesSet").into());
    }
    Ok(Created { reservation: answer.maybe_word("reservationId")?, instances, again: None })
}

pub(super) async fn dry_run(
    aws: &Aws,
    place: &CloudAccount<'_>,
    instance_request: &InstanceRequest,
) -> Result<(), CloudError> {
    let image = instance_request.image.as_deref().unwrap_or(NO_IMAGE);
    let form = form(instance_request).with("ImageId", image).with("DryRun", "true");
    match aws.ec2(place, &form).await {
        Err(error) if error.code == "DryRunOperation" => Ok(()),
        Err(error) if instance_request.image.is_none() && error.code.starts_with(BAD_IMAGE) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => {
            let message = format!(
                "a dry run was carried out; delete the instances with the tag {LAUNCH_TAG}={}",
                instance_request.launch_tag
            );
            Err(CloudError::new(Category::Invalid, "DryRunIgnored", message))
        }
    }
}

/// Everything but the image and the token.
fn form(instance_request: &InstanceRequest) -> QueryForm {
    let tags: Vec<(&str, &str)> = instance_request
        .tags
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .filter(|(key, _)| *key != LAUNCH_TAG)
        .chain(instance_request.name.as_deref().map(|name| ("Name", name)))
        .chain([(LAUNCH_TAG, instance_request.launch_tag.as_str())])
        .collect();
    let user_data = instance_request.user_data.as_ref().map(|text| STANDARD.encode(text));
    let form = QueryForm::new("RunInstances")
        .with("MinCount", instance_request.least.to_string())
        .with("MaxCount", instance_request.most.to_string())
        .maybe("InstanceType", instance_request.instance_type.as_deref())
        .maybe("KeyName", instance_request.key_name.as_deref())
        .maybe("UserData", user_data.as_deref())
        .maybe("SubnetId", instance_request.subnet.as_deref())
        .each("SecurityGroupId", instance_request.security_groups.iter().map(String::as_str))
        .tagged(1, "instance", &tags)
        .tagged(2, "volume", &tags);
    match &instance_request.template {
        Some(id) if id.starts_with("lt-") => form.with("LaunchTemplate.LaunchTemplateId", id.as_str()),
        Some(name) => form.with("LaunchTemplate.LaunchTemplateName", name.as_str()),
        // A template has its own options, which are the account's to choose.
        None => form.with("MetadataOptions.HttpTokens", "required"),
    }
}

//! What `RunInstances` is asked for, and whether it can be had.

use crate::aws::call_error::AwsError;
use crate::aws::catalog::{self, InstanceType};
use crate::aws::details::Details;
use crate::aws::form::AwsForm;
use crate::aws::images::AwsImage;
use crate::aws::signature::sha256;
use crate::aws::templates::Which;
use crate::aws::world::{AwsCall, AwsState};

const CLIENT_TOKEN_CHARS_MAX: usize = 64;
const COUNT_MAX: usize = 1000;
const TYPE_DEFAULT: &str = "m1.small";

/// Networks and groups whose ids begin so do not exist; all others do.
const MISSING_SUBNET: &str = "subnet-0bad";
const MISSING_GROUP: &str = "sg-0bad";

#[derive(Debug)]
pub(super) struct RunInstances {
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) client_token: Option<String>,
    /// A digest of all parameters but the token, by which two orders can be compared.
    pub(super) outline: String,
    template: Option<Which>,
    details: Details,
}

/// An order of which everything exists.
#[derive(Debug)]
pub(super) struct Sound {
    pub(super) image: AwsImage,
    pub(super) kind: &'static InstanceType,
    pub(super) details: Details,
}

impl RunInstances {
    pub(super) fn read(mut form: AwsForm) -> Result<Self, AwsError> {
        let client_token = form.take("ClientToken");
        let is_long = |token: &String| !token.is_ascii() || token.len() > CLIENT_TOKEN_CHARS_MAX;
        if client_token.as_ref().is_some_and(is_long) {
            let message = format!("ClientToken has at most {CLIENT_TOKEN_CHARS_MAX} ASCII characters");
            return Err(AwsError::invalid(message));
        }
        let outline = sha256(form.outline().as_bytes());
        let least = form.number("MinCount")?.ok_or_else(|| AwsError::missing("MinCount"))?;
        let most = form.number("MaxCount")?.ok_or_else(|| AwsError::missing("MaxCount"))?;
        if least < 1 || most < least || most > COUNT_MAX {
            let message = format!("MinCount and MaxCount must be in order and between 1 and {COUNT_MAX}");
            return Err(AwsError::invalid(message));
        }
        let template = Which::read_from(form.sub("LaunchTemplate"))?;
        let details = Details::read(&mut form)?;
        form.finish()?;
        Ok(RunInstances { least, most, client_token, outline, template, details })
    }

    /// Finds everything that is named.
    pub(super) fn check(&self, aws_state: &AwsState, call: &AwsCall) -> Result<Sound, AwsError> {
        let details = match &self.template {
            None => self.details.clone(),
            Some(which) => self.details.clone().over(aws_state.templates.details(&call.site, which)?),
        };
        let ami = details.image.as_deref().ok_or_else(|| AwsError::missing("ImageId"))?;
        let image = aws_state.images.require(call, ami)?;
        let name = details.instance_type.as_deref().unwrap_or(TYPE_DEFAULT);
        let kind = catalog::find(name)
            .ok_or_else(|| AwsError::invalid(format!("there is no instance type {name:?}")))?;
        if !kind.suits(image.architecture) {
            let (of_type, of_image) = (kind.architecture(), image.architecture.as_str());
            let message = format!("the instance type {name} is for {of_type}, and the image for {of_image}");
            return Err(AwsError::invalid(message));
        }
        if let Some(name) = &details.key_name
            && !aws_state.key_pairs.has(&call.site, name)
        {
            return Err(AwsError::new("InvalidKeyPair.NotFound", format!("there is no key pair {name:?}")));
        }
        check_network(&details, &call.site.region)?;
        Ok(Sound { image, kind, details })
    }
}

fn check_network(details: &Details, region: &str) -> Result<(), AwsError> {
    if let Some(subnet) = &details.subnet
        && (subnet.starts_with(MISSING_SUBNET) || !subnet.starts_with("subnet-"))
    {
        return Err(AwsError::new("InvalidSubnetID.NotFound", format!("there is no subnet {subnet:?}")));
    }
    let is_missing = |group: &&String| group.starts_with(MISSING_GROUP) || !group.starts_with("sg-");
    if let Some(group) = details.groups.iter().find(is_missing) {
        return Err(AwsError::new("InvalidGroup.NotFound", format!("there is no security group {group:?}")));
    }
    if details.zone.as_ref().is_some_and(|zone| !zone.starts_with(region)) {
        return Err(AwsError::invalid("Placement.AvailabilityZone is not in this region"));
    }
    Ok(())
}

//! Tags: what callers write on things so that they find them again.

use std::collections::BTreeMap;

use super::call_error::AwsError;
use super::form::AwsForm;

pub(super) type Tags = BTreeMap<String, String>;

const TAGS_MAX: usize = 50;
const KEY_CHARS_MAX: usize = 128;
const VALUE_CHARS_MAX: usize = 256;

/// The tags of a call, by the kind of thing that they are for.
pub(super) fn read(form: &mut AwsForm, kinds: &[&str]) -> Result<BTreeMap<String, Tags>, AwsError> {
    let mut by_kind = BTreeMap::new();
    for mut specification in form.groups("TagSpecification")? {
        let kind = specification.need("ResourceType")?;
        if !kinds.contains(&kind.as_str()) {
            return Err(AwsError::invalid(format!("{kind:?} is nothing that this call can tag")));
        }
        let mut tags = Tags::new();
        for mut tag in specification.groups("Tag")? {
            let (key, value) = (tag.need("Key")?, tag.take("Value").unwrap_or_default());
            tag.finish()?;
            check(&key, &value)?;
            if tags.insert(key, value).is_some() {
                return Err(AwsError::invalid("a tag is there twice"));
            }
        }
        specification.finish()?;
        if tags.len() > TAGS_MAX {
            return Err(AwsError::new("TagLimitExceeded", format!("there are more than {TAGS_MAX} tags")));
        }
        if by_kind.insert(kind, tags).is_some() {
            return Err(AwsError::invalid("a kind of thing is tagged twice"));
        }
    }
    Ok(by_kind)
}

/// The same, for a call that makes only one kind of thing.
pub(super) fn read_for(form: &mut AwsForm, kind: &str) -> Result<Tags, AwsError> {
    Ok(read(form, &[kind])?.remove(kind).unwrap_or_default())
}

fn check(key: &str, value: &str) -> Result<(), AwsError> {
    let is_short = (1..=KEY_CHARS_MAX).contains(&key.chars().count());
    if !is_short || value.chars().count() > VALUE_CHARS_MAX {
        let limits = format!("{KEY_CHARS_MAX} and {VALUE_CHARS_MAX} characters");
        return Err(AwsError::invalid(format!("key and value of a tag have at most {limits}")));
    }
    if key.starts_with("aws:") {
        return Err(AwsError::invalid("keys of tags that begin with aws: are reserved"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        read_for(&mut AwsForm::parse(text.as_bytes()).unwrap(), "instance").unwrap_err().message
    }

    #[test]
    fn tags_that_are_not_allowed_are_refused() {
        let tag = |rest: &str| format!("TagSpecification.1.ResourceType=instance&TagSpecification.1.{rest}");
        assert!(refused("TagSpecification.1.ResourceType=moon").contains("moon"));
        assert!(refused(&tag("Tag.1.Key=aws:a")).contains("reserved"));
        assert!(refused(&tag(&format!("Tag.1.Key={}", "x".repeat(129)))).contains("at most"));
        assert!(refused(&tag("Tag.1.Key=a&TagSpecification.1.Tag.2.Key=a")).contains("twice"));
        assert!(refused(&tag("Tag.1.Value=a")).contains("TagSpecification.1.Tag.1.Key is missing"));
        let many: Vec<String> = (0..51).map(|at| format!("TagSpecification.1.Tag.{at}.Key=k{at}")).collect();
        assert!(
            refused(&format!("TagSpecification.1.ResourceType=instance&{}", many.join("&"))).contains("50")
        );
    }
}

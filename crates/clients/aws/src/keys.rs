//! Key pairs: the public keys for logins to instances.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::{Category, CloudAccount, CloudError, CloudKey, Fingerprints, KeyMaterial, LAUNCH_TAG};

use super::Aws;
use super::form::QueryForm;
use super::xml::{Element, Parts as _, ResponseXmlError};

/// The tag by which the hosted service knows the key pairs that it uploaded.
const KEY_TAG: &str = "rh-kid";
const KEY_TAG_CHARS: usize = 22;
const BASE_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Follows from the mark, so that every try sends the same.
fn key_tag(launch_tag: &str) -> String {
    let digest = digest(&SHA256, launch_tag.as_bytes());
    let mut rest = digest.as_ref().iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte));
    let mut tag = String::from("pk-");
    for _ in 0..KEY_TAG_CHARS {
        tag.push(char::from(BASE_62[usize::try_from(rest % 62).unwrap_or_default()]));
        rest /= 62;
    }
    tag
}

/// What AWS shows of a key is not the key, so the same key is found by its fingerprint alone. Among several, one
/// that no launch will delete is preferred.
pub(super) async fn find(
    aws: &Aws,
    place: &CloudAccount<'_>,
    fingerprints: &Fingerprints,
) -> Result<Option<CloudKey>, CloudError> {
    let wanted = &fingerprints.any_of;
    if wanted.is_empty() {
        return Ok(None);
    }
    let form = QueryForm::new("DescribeKeyPairs").filter("fingerprint", wanted.iter().map(String::as_str));
    let answer = aws.ec2(place, &form).await?;
    let is_wanted = |item: &&Element| {
        item.text("keyFingerprint").is_some_and(|shown| wanted.iter().any(|fingerprint| fingerprint == shown))
    };
    let keys = answer.items("keySet").filter(is_wanted).map(read);
    let keys = keys.collect::<Result<Vec<CloudKey>, ResponseXmlError>>()?;
    Ok(keys.into_iter().min_by_key(|key| (key.launch_tag.is_some(), key.name.clone())))
}

pub(super) async fn upload(
    aws: &Aws,
    place: &CloudAccount<'_>,
    name: &str,
    key: &KeyMaterial,
    launch_tag: &str,
) -> Result<CloudKey, CloudError> {
    let form = QueryForm::new("ImportKeyPair")
        .with("KeyName", name)
        .with("PublicKeyMaterial", STANDARD.encode(&key.line))
        .tagged(1, "key-pair", &[(LAUNCH_TAG, launch_tag), (KEY_TAG, &key_tag(launch_tag))]);
    let answer = aws.ec2(place, &form).await?;
    let (id, name) = (answer.word("keyPairId")?, answer.word("keyName")?);
    Ok(CloudKey { id, name, launch_tag: Some(launch_tag.to_owned()) })
}

/// By its name, once it is certain that the name still belongs to the same key pair.
pub(super) async fn delete(aws: &Aws, place: &CloudAccount<'_>, key: &CloudKey) -> Result<(), CloudError> {
    let named = QueryForm::new("DescribeKeyPairs").with("KeyName.1", key.name.as_str());
    let answer = match aws.ec2(place, &named).await {
        Err(error) if error.is(Category::NotFound) => return Ok(()),
        answer => answer?,
    };
    let is_it = |item: &Element| key.id.is_empty() || item.text("keyPairId") == Some(key.id.as_str());
    if !answer.items("keySet").any(is_it) {
        return Ok(());
    }
    match aws.ec2(place, &QueryForm::new("DeleteKeyPair").with("KeyName", key.name.as_str())).await {
        Err(error) if error.is(Category::NotFound) => Ok(()),
        answer => answer.map(drop),
    }
}

fn read(item: &Element) -> Result<CloudKey, ResponseXmlError> {
    let is_tag = |tag: &&Element| tag.text("key") == Some(LAUNCH_TAG);
    let launch_tag = item.items("tagSet").find(is_tag).map(|tag| tag.word("value")).transpose()?;
    Ok(CloudKey { id: item.word("keyPairId")?, name: item.word("keyName")?, launch_tag })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_a_key_pair_has_the_form_of_the_hosted_service() {
        let tag = key_tag("mark");
        let (start, rest) = tag.split_at(3);
        assert_eq!((start, rest.len()), ("pk-", 22));
        assert!(rest.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{tag}");
        assert_eq!(key_tag("mark"), tag);
        assert_ne!(key_tag("other"), tag);
    }
}

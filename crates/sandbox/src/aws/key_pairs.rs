//! Key pairs: public keys that instances let in, by names that are unique at a site.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use time::OffsetDateTime;

use super::call_error::AwsError;
use super::filter::Filters;
use super::form::AwsForm;
use super::public_key::PublicKey;
use super::tags::{self, Tags};
use super::world::{AwsCall, AwsState, KEY_PAIR, RegionSite};
use super::xml::Xml;

const NAME_CHARS_MAX: usize = 255;
const PAIRS_MAX: usize = 5000;

#[derive(Debug)]
struct KeyPair {
    id: String,
    name: String,
    key: PublicKey,
    tags: Tags,
    made_at: OffsetDateTime,
}

impl KeyPair {
    fn write(&self, xml: &mut Xml) {
        xml.leaf("keyPairId", &self.id);
        xml.leaf("keyFingerprint", &self.key.fingerprint);
        xml.leaf("keyName", &self.name);
    }

    fn attribute(&self, filter: &str) -> Option<String> {
        match filter {
            "fingerprint" => Some(self.key.fingerprint.clone()),
            "key-name" => Some(self.name.clone()),
            "key-pair-id" => Some(self.id.clone()),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct KeyPairs {
    by_name: BTreeMap<RegionSite, BTreeMap<String, KeyPair>>,
}

impl KeyPairs {
    pub(super) fn has(&self, site: &RegionSite, name: &str) -> bool {
        self.by_name.get(site).is_some_and(|pairs| pairs.contains_key(name))
    }

    fn at(&self, site: &RegionSite) -> impl Iterator<Item = &KeyPair> {
        self.by_name.get(site).into_iter().flat_map(BTreeMap::values)
    }
}

pub(super) fn import(
    aws_state: &mut AwsState,
    call: &AwsCall,
    mut form: AwsForm,
) -> Result<String, AwsError> {
    let name = form.need("KeyName")?;
    let material = form.need("PublicKeyMaterial")?;
    let tags = tags::read_for(&mut form, "key-pair")?;
    form.finish()?;
    let is_plain = name.is_ascii() && !name.contains(char::is_control) && name.trim() == name;
    if !is_plain || !(1..=NAME_CHARS_MAX).contains(&name.len()) {
        return Err(AwsError::invalid(format!("KeyName has 1 to {NAME_CHARS_MAX} plain characters")));
    }
    let text = STANDARD.decode(material).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let key = text.and_then(|text| PublicKey::parse(&text)).ok_or_else(|| {
        AwsError::new("InvalidKey.Format", "the key is not an RSA or ED25519 key in the format of OpenSSH")
    })?;
    call.allow()?;
    let pairs = aws_state.key_pairs.by_name.entry(call.site.clone()).or_default();
    if pairs.contains_key(&name) {
        let message = format!("there is a key pair {name:?} already");
        return Err(AwsError::new("InvalidKeyPair.Duplicate", message));
    }
    if pairs.len() >= PAIRS_MAX {
        return Err(AwsError::new("KeyPairLimitExceeded", "there are too many key pairs"));
    }
    call.end_dry_run()?;
    let pair = KeyPair { id: aws_state.ids.make("key"), name, key, tags, made_at: call.now };
    aws_state.ledger.make(KEY_PAIR, &call.site.ledger_token(&pair.id), "");
    let xml = Xml::of(|xml| {
        pair.write(xml);
        xml.tags(&pair.tags);
    });
    pairs.insert(pair.name.clone(), pair);
    Ok(xml)
}

pub(super) fn describe(aws_state: &AwsState, call: &AwsCall, mut form: AwsForm) -> Result<String, AwsError> {
    let names = form.list("KeyName")?;
    let ids = form.list("KeyPairId")?;
    let shows_keys = form.flag("IncludePublicKey")?;
    let filters = Filters::read(&mut form, &["fingerprint", "key-name", "key-pair-id"])?;
    form.finish()?;
    call.admit()?;
    let pairs = || aws_state.key_pairs.at(&call.site);
    let missing_name = names.iter().find(|name| !aws_state.key_pairs.has(&call.site, name));
    let missing_id = ids.iter().find(|id| !pairs().any(|pair| pair.id == **id));
    if let Some(missing) = missing_name.or(missing_id) {
        return Err(AwsError::new("InvalidKeyPair.NotFound", format!("there is no key pair {missing:?}")));
    }
    let is_asked_for = |pair: &&KeyPair| {
        let is_open = names.is_empty() && ids.is_empty();
        let is_named = is_open || names.contains(&pair.name) || ids.contains(&pair.id);
        is_named && filters.fit(&pair.tags, |filter| pair.attribute(filter))
    };
    Ok(Xml::of(|xml| {
        xml.items("keySet", pairs().filter(is_asked_for), |xml, pair| {
            pair.write(xml);
            xml.leaf("keyType", pair.key.kind);
            xml.tags(&pair.tags);
            xml.moment("createTime", pair.made_at);
            xml.maybe("publicKey", shows_keys.then_some(&pair.key.line));
        });
    }))
}

/// Finding nothing to delete is success.
pub(super) fn delete(
    aws_state: &mut AwsState,
    call: &AwsCall,
    mut form: AwsForm,
) -> Result<String, AwsError> {
    let (name, id) = (form.take("KeyName"), form.take("KeyPairId"));
    form.finish()?;
    if name.is_none() && id.is_none() {
        return Err(AwsError::missing("KeyName"));
    }
    call.admit()?;
    let is_meant = |pair: &&KeyPair| {
        name.as_ref().is_none_or(|name| *name == pair.name) && id.as_ref().is_none_or(|id| *id == pair.id)
    };
    let found = aws_state.key_pairs.at(&call.site).find(is_meant).map(|pair| pair.name.clone());
    let pairs = aws_state.key_pairs.by_name.get_mut(&call.site);
    let removed = pairs.zip(found).and_then(|(pairs, name)| pairs.remove(&name));
    if let Some(pair) = &removed {
        aws_state.ledger.take_back(KEY_PAIR, &call.site.ledger_token(&pair.id));
    }
    Ok(Xml::of(|xml| {
        xml.leaf("return", true);
        xml.maybe("keyPairId", removed.map(|pair| pair.id));
    }))
}

//! Keeping a new key.

use api::Code;
use engine::store::{Expect, ResourceRow};
use engine::{Engine, Resource};
use http::StatusCode;

use super::claim::{Claimed, Name};
use super::{PublicKeyRecord, StoredPublicKey, internal, resource};
use crate::model::api_error::{Flaw, LaunchApiError, quoted};
use crate::model::numbers;
use crate::model::params::LaunchOwner;
use crate::model::public_key::PublicKey;

/// As in the hosted service. What a cloud does not take in a name is replaced when the key is uploaded.
const NAME_CHARS_MAX: usize = 255;
/// Others may write between a look and a write; then we look again.
const LOOKS_MAX: usize = 5;

/// Neither the key nor its name may be there already.
pub async fn create(
    engine: &Engine,
    who: &LaunchOwner,
    name: &str,
    body: &str,
) -> Result<StoredPublicKey, LaunchApiError> {
    let name = name.trim();
    let key = check(name, body)
        .map_err(|field_errors| LaunchApiError::with_field_errors(StatusCode::BAD_REQUEST, field_errors))?;
    let record = PublicKeyRecord {
        name: name.to_owned(),
        body: body.trim().to_owned(),
        line: key.line(),
        kind: key.kind().as_str().to_owned(),
        fingerprint: key.fingerprint_bare(),
        fingerprint_legacy: key.fingerprint_legacy(),
        created_at: engine.now(),
        gone_at: None,
    };
    let row = resource(who, &record.fingerprint);
    let claim = Name { engine, who, name, key: &row };
    for _ in 0..LOOKS_MAX {
        let seen = engine.resource(&row).await?;
        if let Some(there) = seen.as_ref().filter(|there| there.gone_at.is_none()) {
            return Err(same_key(there));
        }
        match claim.take().await? {
            Claimed::Ours => {}
            Claimed::Taken => return Err(same_name(name)),
            Claimed::Changed => continue,
        }
        let expect = seen.map_or(Expect::Absent, |there| Expect::Version(there.version));
        let record_update = record.record_update().map_err(internal)?;
        if !engine.write_resource(&row, &who.tenant(), expect, Some(record_update)).await? {
            continue;
        }
        if !claim.is_ours().await? {
            withdraw(engine, who, &row, &record).await?;
            return Err(same_name(name));
        }
        let number = engine.resource(&row).await?.map(|row| row.number).ok_or_else(super::missing)?;
        return Ok(StoredPublicKey { number, record });
    }
    Err(LaunchApiError::conflict("another request is changing the same key or name; try again"))
}

/// The same, except that a key which is there already is welcome, whatever it is called.
pub async fn keep(
    engine: &Engine,
    who: &LaunchOwner,
    name: &str,
    body: &str,
) -> Result<StoredPublicKey, LaunchApiError> {
    let refused = match create(engine, who, name, body).await {
        Err(refused) if refused.known() == Some(Code::DuplicatePublicKey) => refused,
        other => return other,
    };
    let key = PublicKey::parse(body).map_err(|_| refused.clone())?;
    let row = engine.resource(&resource(who, &key.fingerprint_bare())).await?;
    let row = row.filter(|row| row.gone_at.is_none()).ok_or(refused)?;
    Ok(StoredPublicKey { number: row.number, record: numbers::read(&row)? })
}

/// Takes a key back that lost its name while it was written.
async fn withdraw(
    engine: &Engine,
    who: &LaunchOwner,
    row: &str,
    record: &PublicKeyRecord,
) -> Result<(), LaunchApiError> {
    let gone = PublicKeyRecord { gone_at: Some(engine.now()), ..record.clone() };
    let record_update = gone.record_update().map_err(internal)?;
    if let Some(there) = engine.resource(row).await? {
        let expect = Expect::Version(there.version);
        engine.write_resource(row, &who.tenant(), expect, Some(record_update)).await?;
    }
    Ok(())
}

fn check(name: &str, body: &str) -> Result<PublicKey, Vec<Flaw>> {
    let mut field_errors = Vec::new();
    if !(1..=NAME_CHARS_MAX).contains(&name.chars().count()) || name.chars().any(char::is_control) {
        let message = format!("must have 1 to {NAME_CHARS_MAX} characters and no control characters");
        field_errors.push(Flaw::new("name", message));
    }
    match PublicKey::parse(body) {
        Ok(key) if field_errors.is_empty() => return Ok(key),
        Ok(_) => {}
        Err(error) => field_errors.push(
            Flaw::new("body", error.to_string())
                .hint("send the one line of a .pub file that ssh-keygen made"),
        ),
    }
    Err(field_errors)
}

fn same_key(there: &ResourceRow) -> LaunchApiError {
    let name = numbers::read::<PublicKeyRecord>(there).map(|record| record.name).unwrap_or_default();
    let message = format!("this key already exists, as {} with id {}", quoted(&name), there.number);
    LaunchApiError::new(Code::DuplicatePublicKey, message).at("body").hint("use the key that is there")
}

fn same_name(name: &str) -> LaunchApiError {
    let message = format!("another key is called {} already", quoted(name));
    LaunchApiError::new(Code::DuplicatePublicKeyName, message).at("name").hint("choose another name")
}

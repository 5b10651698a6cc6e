//! Making, finding and deleting sources, for APIs.

use api::Code;
use cloud::{Access, ProviderKind};
use engine::store::{Expect, Receipt, ResourceWrite, StoreError, Write};
use engine::{Engine, Resource, Timestamp};
use http::StatusCode;
use uuid::Uuid;

use super::{Finding, SOURCES_MAX, Sealing, Source, SourceDirectory, SourceError, SourceRecord, SourceStore};
use crate::model::api_error::{Flaw, LaunchApiError, field_error};
use crate::model::numbers::fresh_id;
use crate::model::params::LaunchOwner;
use crate::model::settings::Launches;

/// A source that a user wants to have kept.
#[derive(Debug, Clone)]
pub struct NewSource {
    pub name: String,
    pub provider: ProviderKind,
    pub access: Access,
}

const NAME_CHARS_MAX: usize = 255;
/// Others may write between a look and a write; then we look again.
const LOOKS_MAX: usize = 5;

pub async fn list(
    launches: &Launches,
    who: &LaunchOwner,
    provider: Option<ProviderKind>,
) -> Result<Vec<Source>, LaunchApiError> {
    Ok(launches.accounts.all(who, provider).await?)
}

pub async fn get(launches: &Launches, who: &LaunchOwner, id: &str) -> Result<Source, LaunchApiError> {
    let all = launches.accounts.all(who, None).await?;
    all.into_iter().find(|source| source.id == id).ok_or_else(missing)
}

pub async fn create(
    launches: &Launches,
    engine: &Engine,
    who: &LaunchOwner,
    new: &NewSource,
) -> Result<Source, LaunchApiError> {
    let directory = &launches.accounts;
    let SourceStore::Here { store, ring } = &directory.kept else { return Err(elsewhere()) };
    check(&who.org, new)
        .map_err(|field_errors| LaunchApiError::with_field_errors(StatusCode::BAD_REQUEST, field_errors))?;
    if directory.all(who, None).await?.len() >= SOURCES_MAX {
        let message = format!("an organisation can have {SOURCES_MAX} sources");
        return Err(LaunchApiError::conflict(message).hint("delete those that are not in use"));
    }
    let (tenant, uid) = (who.tenant(), fresh_id(engine));
    let name = resource(who, uid);
    let sealing = Sealing { ring: ring.as_ref(), tenant: &tenant, row: &name };
    let record = SourceRecord::new(&new.name, &uid.to_string(), new.provider, &new.access, &sealing)
        .ok_or_else(|| {
            LaunchApiError::new(Code::NoKeyRing, "this server has no key ring to seal secrets with")
                .hint("give it one, or make a source without a secret")
        })?;
    let record_update = Some(record.record_update().map_err(internal)?);
    let write =
        ResourceWrite { name: name.clone(), tenant, expect: Expect::Absent, record_update, at: engine.now() };
    store.commit(Write::Resource(Box::new(write))).await?;
    let row = store.resource(&name).await?.ok_or_else(missing)?;
    Ok(record.shown(row.number.to_string()))
}

/// Forgets a source. Launches that need it still will fail and say so.
pub async fn delete(
    launches: &Launches,
    engine: &Engine,
    who: &LaunchOwner,
    id: &str,
) -> Result<(), LaunchApiError> {
    let directory = &launches.accounts;
    if !directory.is_built_in() {
        return Err(elsewhere());
    }
    if directory.defaults.iter().any(|default| default.id == id) {
        return Err(LaunchApiError::conflict("this source is part of the sandbox and is always there"));
    }
    let now = engine.now();
    let gone = directory.change(who, id, now, |record| record.gone_at = Some(now)).await?;
    if gone { Ok(()) } else { Err(missing()) }
}

impl SourceDirectory {
    /// Remembers what a look at a source brought. `false` where it is not kept here.
    pub async fn learn(&self, who: &LaunchOwner, id: &str, finding: &Finding) -> Result<bool, SourceError> {
        self.change(who, id, finding.at, |record| record.finding = Some(finding.clone())).await
    }

    async fn change(
        &self,
        who: &LaunchOwner,
        id: &str,
        at: Timestamp,
        change: impl Fn(&mut SourceRecord),
    ) -> Result<bool, SourceError> {
        let SourceStore::Here { store, .. } = &self.kept else { return Ok(false) };
        for _ in 0..LOOKS_MAX {
            let Some((row, mut record)) = self.record(who, id).await? else { return Ok(false) };
            change(&mut record);
            let record_update = Some(record.record_update().map_err(StoreError::Refused)?);
            let expect = Expect::Version(row.version);
            let write = ResourceWrite { name: row.name, tenant: row.tenant, expect, record_update, at };
            if store.commit(Write::Resource(Box::new(write))).await? == Receipt::Saved {
                return Ok(true);
            }
        }
        Err(StoreError::Unavailable("another request keeps changing this source".into()).into())
    }
}

fn check(org: &str, new: &NewSource) -> Result<(), Vec<Flaw>> {
    let mut field_errors = Vec::new();
    let length = new.name.chars().count();
    if !(1..=NAME_CHARS_MAX).contains(&length) || new.name.chars().any(char::is_control) {
        let message = format!("must have 1 to {NAME_CHARS_MAX} characters and no control characters");
        field_errors.push(Flaw::new("name", message));
    }
    match &new.provider.spec().source {
        Some(spec) => field_errors.extend((spec.check)(org, &new.access).into_iter().map(field_error)),
        None => field_errors.push(Flaw::new("provider", format!("{} needs no source", new.provider))),
    }
    if field_errors.is_empty() { Ok(()) } else { Err(field_errors) }
}

fn resource(who: &LaunchOwner, uid: Uuid) -> String {
    format!("source:{}:{}", who.org, uid.simple())
}

fn missing() -> LaunchApiError {
    LaunchApiError::not_found("such source").at("source_id")
}

fn elsewhere() -> LaunchApiError {
    LaunchApiError::new(Code::SourcesElsewhere, "sources are kept by another service here")
        .hint("make and delete them there")
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn internal(error: String) -> LaunchApiError {
    tracing::error!(error, "saving a source failed");
    LaunchApiError::new(Code::Internal, "the source could not be saved; the reason is in the log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_in_a_source_is_told_with_its_field() {
        let role = |arn: &str, external_id: Option<&str>| Access::Role {
            arn: arn.into(),
            external_id: external_id.map(Into::into),
        };
        let good = "arn:aws:iam::123456789012:role/path/launcher";
        let aws = ProviderKind::Aws;
        for (provider, name, access, fields) in [
            (aws, "a", role(good, Some("org-7")), &[][..]),
            (aws, "", role(good, None), &["name"]),
            (aws, "a\n", role("arn:aws:iam::12:role/x", Some("ä")), &["name", "arn", "external_id"]),
            (aws, "a", role("arn:aws:iam::123456789012:user/x", None), &["arn"]),
            (aws, "a", role("arn:aws:iam::123456789012:role/x y", None), &["arn"]),
            (
                aws,
                "a",
                Access::Keys { id: "x".into(), secret: "y".into() },
                &["access_key_id", "secret_access_key"],
            ),
            (aws, "a", Access::Name("x".into()), &["access"]),
            (ProviderKind::Azure, "a", role(good, None), &["access"]),
            (ProviderKind::Gcp, "a", Access::Name("my-project".into()), &[]),
            (ProviderKind::Gcp, "a", Access::Name("../x".into()), &["access"]),
            (ProviderKind::Noop, "a", Access::Name("x".into()), &["provider"]),
        ] {
            let field_errors =
                check("org", &NewSource { name: name.into(), provider, access }).err().unwrap_or_default();
            let told: Vec<&str> = field_errors.iter().map(|field_error| field_error.field.as_str()).collect();
            assert_eq!(told, fields, "{field_errors:?}");
        }
    }
}

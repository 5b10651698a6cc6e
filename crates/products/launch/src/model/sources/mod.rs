//! Sources: the accounts in clouds that an organisation lets us use. They are kept here, or in a service outside
//! that knows them.

mod keep;
mod record;

use std::sync::Arc;

use api::Code;
use cloud::{Access, Account, ProviderKind};
use engine::secret::{Sealed, Sealer, SecretError, SecretString, SharedRing};
use engine::store::{ResourceQuery, ResourceRow, Store, StoreError};
use engine::{Halt, Resource};
use http_client::DriverError;
pub use sources::Source;
use sources::{Link, SourcesApi};

pub use self::keep::{NewSource, create, delete, get, list};
pub use self::record::{Finding, SourceRecord};
use super::api_error::LaunchApiError;
use super::numbers;
use super::params::LaunchOwner;

/// Where sources are found. Cheap to clone.
#[derive(Clone)]
pub struct SourceDirectory {
    kept: SourceStore,
    /// What everybody finds without having made it.
    defaults: Arc<[DefaultSource]>,
}

#[derive(Clone)]
enum SourceStore {
    Here { store: Arc<dyn Store>, ring: Option<SharedRing> },
    Outside(SourcesApi),
}

/// A source that is there for every organisation.
#[derive(Debug, Clone)]
pub struct DefaultSource {
    pub id: String,
    pub name: String,
    pub provider: ProviderKind,
    pub access: Access,
}

impl DefaultSource {
    /// The account that the sandbox knows in this cloud. `None` where no account is needed.
    pub fn of_sandbox(provider: ProviderKind) -> Option<DefaultSource> {
        let spec = provider.spec().source.as_ref()?;
        let account = spec.sandbox_account.to_owned();
        let access = if spec.by_role {
            Access::Role { arn: account, external_id: None }
        } else {
            Access::Name(account)
        };
        // The first cloud had the name for itself.
        let id = match provider {
            ProviderKind::Aws => SANDBOX.to_owned(),
            other => format!("{SANDBOX}-{other}"),
        };
        Some(DefaultSource { name: id.clone(), id, provider, access })
    }

    /// All accounts that the sandbox knows.
    pub fn all_of_sandbox() -> Vec<DefaultSource> {
        ProviderKind::ALL.into_iter().filter_map(DefaultSource::of_sandbox).collect()
    }
}

const SANDBOX: &str = "sandbox";
/// More than any organisation has accounts.
const SOURCES_MAX: usize = 1000;

/// Why a source could not be read. That there is none is no error.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Outside(#[from] DriverError),
    /// The ring has changed, or will have in a moment.
    #[error("the access of source {id} cannot be opened: {cause}")]
    Locked { id: String, cause: SecretError },
}

impl From<SourceError> for Halt {
    fn from(error: SourceError) -> Halt {
        let cause = error.to_string().into();
        match error {
            SourceError::Outside(error) => error.into(),
            SourceError::Store(error) if !error.may_heal() => Halt::Fail { cause },
            SourceError::Locked { cause: SecretError::DoesNotOpen, .. } => Halt::Fail { cause },
            SourceError::Store(_) | SourceError::Locked { .. } => Halt::Retry { after: None, cause },
        }
    }
}

impl From<SourceError> for LaunchApiError {
    fn from(error: SourceError) -> LaunchApiError {
        match error {
            SourceError::Store(error) => error.into(),
            SourceError::Outside(error) => error.into(),
            SourceError::Locked { .. } => {
                tracing::error!(%error, "source not usable");
                LaunchApiError::new(Code::SourceLocked, "the access of this source cannot be opened")
                    .at("source_id")
                    .hint("put the key back that sealed it, or create the source again")
            }
        }
    }
}

impl SourceDirectory {
    /// Sources are kept here. Those that have a secret need a ring: see [`sealed_by`](Self::sealed_by).
    pub fn built_in(store: Arc<dyn Store>) -> SourceDirectory {
        SourceDirectory { kept: SourceStore::Here { store, ring: None }, defaults: Arc::default() }
    }

    /// Sources are asked of a service outside.
    pub fn outside(sources: SourcesApi) -> SourceDirectory {
        SourceDirectory { kept: SourceStore::Outside(sources), defaults: Arc::default() }
    }

    #[must_use]
    pub fn sealed_by(mut self, with: SharedRing) -> SourceDirectory {
        if let SourceStore::Here { ring, .. } = &mut self.kept {
            *ring = Some(with);
        }
        self
    }

    #[must_use]
    pub fn with_defaults(mut self, sources: Vec<DefaultSource>) -> SourceDirectory {
        self.defaults = sources.into();
        self
    }

    /// Whether sources can be made and deleted here.
    pub fn is_built_in(&self) -> bool {
        matches!(self.kept, SourceStore::Here { .. })
    }

    /// The service outside, where there is one.
    pub fn service(&self) -> Option<&SourcesApi> {
        match &self.kept {
            SourceStore::Outside(sources) => Some(sources),
            SourceStore::Here { .. } => None,
        }
    }

    /// The account behind a source, and how we get in.
    pub async fn get(&self, who: &LaunchOwner, id: &str) -> Result<Option<Account>, SourceError> {
        Ok(self.link(who, id).await?.map(|link| link.account))
    }

    /// As `get`, with what a service outside wants to hear about later.
    pub async fn link(&self, who: &LaunchOwner, id: &str) -> Result<Option<Link>, SourceError> {
        if let Some(default) = self.defaults.iter().find(|default| default.id == id) {
            return Ok(Some(Link { account: default.account(&who.org), application: None }));
        }
        match &self.kept {
            SourceStore::Outside(sources) => Ok(sources.link(&who.organisation(), id).await?),
            SourceStore::Here { ring, .. } => {
                let Some((row, record)) = self.record(who, id).await? else { return Ok(None) };
                let sealing = Sealing { ring: ring.as_ref(), row: &row.name, tenant: &row.tenant };
                let account = record
                    .account(&who.org, id, &sealing)
                    .map_err(|cause| SourceError::Locked { id: id.to_owned(), cause })?;
                Ok(Some(Link { account, application: None }))
            }
        }
    }

    /// The sources of an organisation, of one provider or of all, in the order in which they were made.
    pub async fn all(
        &self,
        who: &LaunchOwner,
        provider: Option<ProviderKind>,
    ) -> Result<Vec<Source>, SourceError> {
        let is_wanted = |source: &Source| provider.is_none_or(|provider| source.provider == provider);
        let mut sources: Vec<Source> = self.defaults.iter().map(DefaultSource::shown).collect();
        match &self.kept {
            SourceStore::Outside(outside) => {
                sources.extend(outside.list(&who.organisation(), provider).await?);
            }
            SourceStore::Here { store, .. } => {
                let query = ResourceQuery {
                    kind: SourceRecord::KIND.to_owned(),
                    tenant: Some(who.tenant()),
                    limit: SOURCES_MAX,
                    ..ResourceQuery::default()
                };
                let kept = numbers::readable::<SourceRecord>(store.resources(&query).await?.rows);
                sources.extend(kept.map(|(row, record)| record.shown(row.number.to_string())));
            }
        }
        sources.retain(is_wanted);
        Ok(sources)
    }

    /// The row of a source that is kept here.
    async fn record(
        &self,
        who: &LaunchOwner,
        id: &str,
    ) -> Result<Option<(ResourceRow, SourceRecord)>, StoreError> {
        let (SourceStore::Here { store, .. }, Ok(number)) = (&self.kept, id.parse::<i64>()) else {
            return Ok(None);
        };
        let page = store.resources(&numbers::query::<SourceRecord>(&who.tenant(), number)).await?;
        let Some(row) = page.rows.into_iter().find(|row| row.number == number) else { return Ok(None) };
        let record = numbers::read(&row)?;
        Ok(Some((row, record)))
    }
}

impl DefaultSource {
    fn account(&self, org: &str) -> Account {
        let (org, source) = (org.to_owned(), self.id.clone());
        Account { org, source, provider: self.provider, access: self.access.clone() }
    }

    fn shown(&self) -> Source {
        Source {
            id: self.id.clone(),
            name: self.name.clone(),
            uid: None,
            provider: self.provider,
            type_id: None,
            status: Some("available".to_owned()),
        }
    }
}

/// Seals for one row. Without a ring nothing can be sealed, and nothing that was sealed can be opened.
pub(crate) struct Sealing<'a> {
    ring: Option<&'a SharedRing>,
    tenant: &'a str,
    row: &'a str,
}

impl Sealing<'_> {
    fn sealer(&self) -> Option<Sealer> {
        // The same context as everything else that is sealed for a resource.
        self.ring.map(|ring| Sealer::new(ring, format!("{}\n{}", self.tenant, self.row)))
    }

    fn seal(&self, secret: &SecretString) -> Option<Sealed> {
        self.sealer().map(|sealer| sealer.seal(secret))
    }

    fn open(&self, sealed: &Sealed) -> Result<SecretString, SecretError> {
        let sealer = self.sealer().ok_or_else(|| SecretError::UnknownKey(sealed.key_id().to_owned()))?;
        sealer.open(sealed)
    }
}

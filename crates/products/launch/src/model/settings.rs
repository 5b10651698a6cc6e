//! What launches share, as it was configured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cloud::noop::Noop;
use cloud::{Provider, ProviderKind};
use engine::store::{MemoryStore, Store};
use http_client::DriverError;
use image_builder::ImageBuilder;

use crate::clouds;

use super::builder_identity::{ANY, ServiceIdentities};
use super::event_rate::EventRateLimit;
use super::profile::{Profile, ProfileName};
use super::rate_limit::RateLimit;
use super::sources::{DefaultSource, SourceDirectory};

/// The outside systems of launches, and how they are made.
#[derive(Clone)]
pub struct Launches {
    pub providers: BTreeMap<ProviderKind, Arc<dyn Provider>>,
    pub builder: Option<ImageBuilder>,
    /// What callers without an identity header are there.
    pub identities: ServiceIdentities,
    pub accounts: SourceDirectory,
    /// How fast launches may come in.
    pub event_rate: Arc<EventRateLimit>,
    /// How often this process looks at builds.
    pub rate_limit: Arc<RateLimit>,
    /// Where the records of other launches are.
    pub store: Arc<dyn Store>,
    pub settings: LaunchSettings,
}

impl Launches {
    /// Where nothing can be launched and nothing built.
    pub fn unconnected() -> Launches {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        Launches::new(SourceDirectory::built_in(Arc::clone(&store)), store, LaunchSettings::default())
    }

    /// With the provider that makes nothing, and no other.
    pub fn new(accounts: SourceDirectory, store: Arc<dyn Store>, settings: LaunchSettings) -> Launches {
        let rate_limit = Arc::new(RateLimit::new(settings.polls_per_second));
        let launches = Launches {
            providers: BTreeMap::new(),
            builder: None,
            identities: ServiceIdentities::default(),
            accounts,
            event_rate: Arc::default(),
            rate_limit,
            store,
            settings,
        };
        launches.with_provider(Arc::new(Noop))
    }

    /// Everything at the address of a sandbox, with an account and an Image Builder that serve every organisation.
    pub fn beside(url: &str, store: Arc<dyn Store>, timeout: Duration) -> Result<Launches, DriverError> {
        let builder = ImageBuilder::new(&format!("{url}/api/image-builder/v1"), timeout)?;
        let accounts =
            SourceDirectory::built_in(Arc::clone(&store)).with_defaults(DefaultSource::all_of_sandbox());
        let launches = Launches::new(accounts, store, LaunchSettings::default());
        let launches = clouds::beside(url, timeout)?.into_iter().fold(launches, Launches::with_provider);
        let identities = ServiceIdentities::of_sandbox(ANY);
        Ok(Launches { builder: Some(builder), identities, ..launches })
    }

    #[must_use]
    pub fn with_provider(mut self, provider: Arc<dyn Provider>) -> Launches {
        self.providers.insert(provider.kind(), provider);
        self
    }

    /// With other settings, and what follows from them.
    #[must_use]
    pub fn with_settings(self, settings: LaunchSettings) -> Launches {
        let rate_limit = Arc::new(RateLimit::new(settings.polls_per_second));
        Launches { rate_limit, settings, ..self }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct LaunchSettings {
    /// The profile of a request that names none.
    pub profile: Profile,
    /// How many instances one launch may have.
    pub amount_max: u32,
    /// How many launches of one organisation may be under way.
    pub active_max: u32,
    /// The pause between two looks at a build: this at first, then longer.
    pub poll_first: Duration,
    pub poll_max: Duration,
    /// How many looks at builds this process takes in a second.
    pub polls_per_second: u32,
    /// How long instances may take to get an address.
    pub address_deadline: Duration,
    /// The pause between two looks at instances.
    pub instance_poll: Duration,
    /// How long a call whose answer was lost may still be on its way.
    pub settle: Duration,
    /// The pause before the second try of a call that failed; it doubles with every further one.
    pub retry_first: Duration,
    /// How long to wait for capacity of the cloud.
    pub capacity_patience: Duration,
    /// How long trouble may last that keeps us from taking something back, before a person has to look.
    pub undo_patience: Duration,
    /// Instances of AWS write tags for Insights at their first start.
    pub insights_tags: bool,
    /// Stands behind the number in the tag `rh-rid`.
    pub environment: Option<String>,
}

impl Default for LaunchSettings {
    fn default() -> Self {
        LaunchSettings {
            profile: ProfileName::Wizard.profile(),
            amount_max: 45,
            active_max: 1000,
            poll_first: Duration::from_secs(5),
            poll_max: Duration::from_secs(60),
            polls_per_second: 50,
            address_deadline: Duration::from_secs(300),
            instance_poll: Duration::from_secs(2),
            settle: Duration::from_secs(15),
            retry_first: Duration::from_secs(1),
            capacity_patience: Duration::from_secs(30 * 60),
            undo_patience: Duration::from_hours(6),
            insights_tags: true,
            environment: None,
        }
    }
}

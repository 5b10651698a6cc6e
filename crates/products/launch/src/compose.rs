//! Launches and the API in front of them, put together from the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::api::{LaunchApiParts, Permissions, Probe, ReadyService};
use crate::clouds;
use crate::model::builder_identity::ServiceIdentities;
use crate::model::sources::{DefaultSource, SourceDirectory};
use crate::model::{LaunchSettings, Launches};
use crate::workflows::notice::{Kafka, Notices};
use ::image_builder::ImageBuilder;
use ::kafka::{KafkaOptions, Sasl, Security};
use ::rbac::Rbac;
use ::sources::SourcesApi;
use ::webhook::Webhook;
use anyhow::{Context, Result, bail};
use api::Permission;
use engine::secret::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::settings::Kafka as KafkaSettings;
use crate::settings::Settings;
use app::compose::secret;
use app::config::Config;
use app::product::Platform;

/// The sandbox is on this host and answers at once.
const SANDBOX_LIMIT: Duration = Duration::from_secs(5);

/// What launches need, and where word about images comes from.
#[derive(Clone)]
pub struct CloudClients {
    pub(crate) launches: Arc<Launches>,
    pub(crate) notices: Arc<Notices>,
    pub(crate) events: Option<Events>,
    rbac: Option<Rbac>,
    sources: Option<SourcesApi>,
    callback_secret: Option<SecretString>,
    /// Where the sandbox stands in for an Image Builder.
    sandbox: Option<String>,
    has_cloud: bool,
}

/// Where messages about images are read.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    pub(crate) kafka: KafkaOptions,
    pub(crate) topic: String,
}

impl CloudClients {
    /// `sandbox` stands in for what has no address.
    pub(crate) async fn connect(given: &Settings, platform: &Platform<'_>) -> Result<CloudClients> {
        let Platform { config, sandbox, store, ring } = *platform;
        let timeout = given.call_timeout.get();
        let sources = given.sources.as_ref().map(|url| SourcesApi::new(url.as_str(), timeout));
        let sources = sources.transpose().context("cannot use the Sources API")?;
        let rbac = given.rbac.as_ref().map(|url| Rbac::new(url.as_str(), timeout));
        let rbac = rbac.transpose().context("cannot use launch.rbac.url")?;
        let clouds = clouds::connect(given, sandbox)?;
        let directory = match &sources {
            Some(sources) => SourceDirectory::outside(sources.clone()),
            None => SourceDirectory::built_in(Arc::clone(store)).sealed_by(ring.clone()),
        };
        let of_sandbox = clouds.iter().filter(|cloud| cloud.is_sandbox).map(|cloud| cloud.provider.kind());
        let directory = directory.with_defaults(of_sandbox.filter_map(DefaultSource::of_sandbox).collect());
        let retry_first = config.engine.retry.first.get();
        let settings = LaunchSettings { retry_first, ..given.made.clone() };
        let mut launches = Launches::new(directory, Arc::clone(store), settings);
        let has_cloud = !clouds.is_empty();
        for cloud in clouds {
            launches = launches.with_provider(cloud.provider);
        }
        let builder = given.image_builder.as_ref().map(|url| url.as_str().to_owned());
        let builder_stands_in = sandbox.filter(|_| builder.is_none());
        let builder = builder.or_else(|| builder_stands_in.map(|url| format!("{url}/api/image-builder/v1")));
        launches.builder = builder.map(|url| ImageBuilder::new(&url, timeout)).transpose()?;
        launches.identities = match builder_stands_in {
            Some(_) => given.identities.clone().or(ServiceIdentities::of_sandbox(&given.organisation)),
            None => given.identities.clone(),
        };
        let kafka = kafka(given, config, sandbox).await?;
        let events = kafka.clone().map(|kafka| Events { kafka, topic: given.kafka.image_topic.clone() });
        let callback_secret = match &given.callback_secret {
            Some(path) => Some(secret(path)?),
            None => builder_stands_in.map(|_| SecretString::from(uuid::Uuid::new_v4().to_string())),
        };
        Ok(CloudClients {
            launches: Arc::new(launches),
            notices: Arc::new(notices(given, sandbox, kafka.as_ref())?),
            events,
            rbac,
            sources,
            callback_secret,
            sandbox: builder_stands_in.map(str::to_owned),
            has_cloud,
        })
    }

    pub(crate) fn api_parts(&self, config: &Config) -> Result<Option<LaunchApiParts>> {
        let given = config.section::<Settings>();
        if !given.enabled || !self.has_cloud {
            return Ok(None);
        }
        if let Some(environment) = &given.made.environment
            && !is_environment(environment)
        {
            bail!(
                "launch.environment: {environment:?} must be 1 to {ENVIRONMENT_CHARS_MAX} letters, digits, dots, hyphens or underscores"
            );
        }
        let permission = |text: &String| {
            let form = "is not of the form provisioning:RESOURCE:VERB";
            Permission::parse(text).with_context(|| format!("launch.header_permissions: {text:?} {form}"))
        };
        let mut probes: BTreeMap<ReadyService, Arc<dyn Probe>> = BTreeMap::new();
        if let Some(rbac) = &self.rbac {
            probes.insert(ReadyService::Rbac, Arc::new(rbac.clone()));
        }
        if let Some(sources) = &self.sources {
            probes.insert(ReadyService::Sources, Arc::new(sources.clone()));
        }
        if let Some(builder) = &self.launches.builder {
            probes.insert(ReadyService::ImageBuilder, Arc::new(builder.clone()));
        }
        Ok(Some(LaunchApiParts {
            trusted_proxies: config.identity.trusted_proxies.clone(),
            rbac: self.rbac.clone().map(|rbac| Arc::new(rbac) as Arc<dyn Permissions>),
            permissions_last: given.rbac_cache.get(),
            header_permissions: given.header_permissions.iter().map(permission).collect::<Result<_>>()?,
            default_org: given.organisation.clone(),
            callback_secret: self.callback_secret.clone(),
            probes,
            ..LaunchApiParts::new(Arc::clone(&self.launches))
        }))
    }

    /// Tells the sandbox's Image Builder where this engine listens, so that it can say when images are ready.
    pub(crate) async fn introduce(&self, own_url: &str) -> Result<()> {
        let (Some(sandbox), Some(secret)) = (&self.sandbox, &self.callback_secret) else { return Ok(()) };
        let client = ::http_client::http_client().timeout(SANDBOX_LIMIT).build()?;
        let callback = json!({
            "url": format!("{own_url}{}/image-ready", crate::api::BASE),
            "secret": secret.expose_secret(),
        });
        let notify = json!({"callbacks": true, "events": self.events.is_some()});
        for (path, body) in [("callbacks", callback), ("notify", notify)] {
            let answer = client.post(format!("{sandbox}/image-builder/{path}")).json(&body).send().await?;
            answer.error_for_status()?;
        }
        Ok(())
    }
}

/// It becomes part of a tag.
const ENVIRONMENT_CHARS_MAX: usize = 40;

fn is_environment(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=ENVIRONMENT_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The brokers that are configured, or those of the sandbox.
async fn kafka(given: &Settings, config: &Config, sandbox: Option<&str>) -> Result<Option<KafkaOptions>> {
    let KafkaSettings { brokers, group, .. } = &given.kafka;
    let (brokers, security) = match (brokers, sandbox) {
        (Some(brokers), _) => (brokers.clone(), kafka_security(given, config)?),
        (None, Some(url)) => {
            let brokers = brokers_of(url).await.context("cannot ask the sandbox for its brokers")?;
            (brokers, Security::default())
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(KafkaOptions { brokers, group: group.clone(), security }))
}

fn kafka_security(given: &Settings, config: &Config) -> Result<Security> {
    let KafkaSettings { security_protocol, sasl_mechanism, username, password, .. } = &given.kafka;
    let sasl = match (security_protocol.starts_with("sasl"), username, password) {
        (false, ..) => None,
        (true, Some(username), Some(password)) => Some(Sasl {
            mechanism: sasl_mechanism.clone(),
            username: username.clone(),
            password: secret(password)?,
        }),
        (true, ..) => bail!(
            "launch.kafka.security_protocol: {security_protocol} needs launch.kafka.username and \
             launch.kafka.password_file"
        ),
    };
    Ok(Security { tls: security_protocol.ends_with("ssl"), sasl, ca_file: config.server.ca_file.clone() })
}

async fn brokers_of(sandbox: &str) -> Result<String> {
    let client = ::http_client::http_client().timeout(SANDBOX_LIMIT).build()?;
    let answer: Value =
        client.get(format!("{sandbox}/kafka")).send().await?.error_for_status()?.json().await?;
    answer["bootstrap"].as_str().map(str::to_owned).context("it names none")
}

/// Who is told how launches ended.
fn notices(given: &Settings, sandbox: Option<&str>, kafka: Option<&KafkaOptions>) -> Result<Notices> {
    let notices = match (&given.webhook, sandbox) {
        (Some(url), _) => {
            let secret = given.webhook_secret.as_deref().map(secret).transpose()?;
            let webhook = Webhook::new(url.as_str(), secret, given.call_timeout.get());
            Notices::none().and(webhook.context("cannot use the webhook")?)
        }
        (None, Some(url)) => Notices::beside(url)?,
        (None, None) => Notices::none(),
    };
    let Some(options) = kafka else { return Ok(notices) };
    let kafka = Kafka::new(options).context("cannot use Kafka")?;
    let (topic, status_topic) = (given.kafka.notification_topic.clone(), given.kafka.status_topic.clone());
    Ok(notices.and(Kafka { topic, status_topic, ..kafka }))
}

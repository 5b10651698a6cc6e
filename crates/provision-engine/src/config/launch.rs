//! The settings of launches: how they behave, whom they serve, and where the outside systems are.

use std::path::PathBuf;

use workflows::launch::LaunchSettings;
use workflows::launch::builder_identity::{ANY, ServiceIdentities};
use workflows::launch::identity::{ORG_CHARS_MAX, ServiceIdentity};
use workflows::launch::profile::{
    AfterPivot, Detach, ImageSource, OnLaunchFailure, Partial, Profile, ProfileName, Surface,
};

use super::settings::Kind;
use super::tree::{Entry, Node, Value};
use super::values::{self, FromNode};
use super::{HttpUrl, Period, Reader};

#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) enabled: bool,
    pub(crate) organisation: String,
    pub(crate) organisation_claim: String,
    pub(crate) trusted_proxies: Vec<String>,
    pub(crate) header_permissions: Vec<String>,
    pub(crate) rbac: Option<HttpUrl>,
    pub(crate) rbac_cache: Period,
    pub(crate) sources: Option<HttpUrl>,
    pub(crate) image_builder: Option<HttpUrl>,
    pub(crate) identities: ServiceIdentities,
    pub(crate) call_timeout: Period,
    pub(crate) aws: Aws,
    pub(crate) kafka: Kafka,
    pub(crate) webhook: Option<HttpUrl>,
    pub(crate) webhook_secret: Option<PathBuf>,
    pub(crate) callback_secret: Option<PathBuf>,
    /// How launches behave.
    pub(crate) made: LaunchSettings,
}

#[derive(Debug, Clone)]
pub(crate) struct Aws {
    pub(crate) enabled: bool,
    pub(crate) ec2: String,
    pub(crate) sts: String,
    pub(crate) region: String,
    pub(crate) access_key_id: Option<String>,
    pub(crate) secret_access_key: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub(crate) struct Kafka {
    pub(crate) brokers: Option<String>,
    pub(crate) security_protocol: String,
    pub(crate) sasl_mechanism: String,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<PathBuf>,
    pub(crate) group: String,
    pub(crate) image_topic: String,
    pub(crate) notification_topic: String,
    pub(crate) status_topic: String,
}

/// The words of a setting are those under which its values are saved.
macro_rules! words {
    ($($name:ty),+) => {
        $(impl FromNode for $name {
            fn read(node: &Node, _: Kind) -> Result<$name, Box<Node>> {
                values::text(node, |text| serde_json::from_value(text.into()).ok())
            }
        })+
    };
}

words!(ProfileName, ImageSource, Surface, Detach, OnLaunchFailure, Partial, AfterPivot);

impl FromNode for ServiceIdentities {
    fn read(node: &Node, _: Kind) -> Result<ServiceIdentities, Box<Node>> {
        let mut all = std::collections::BTreeMap::new();
        for Entry { key, node, .. } in entries(node)? {
            if key != ANY && !is_id(key) {
                return Err(Box::new(Node::text(key.clone())));
            }
            all.insert(key.clone(), identity(node)?);
        }
        Ok(ServiceIdentities::new(all))
    }
}

fn identity(node: &Node) -> Result<ServiceIdentity, Box<Node>> {
    let wrong = |node: &Node| Box::new(node.clone());
    let id = |node: &Node| values::text(node, |text| is_id(text).then(|| text.to_owned())).map(Some);
    let mut identity = ServiceIdentity::default();
    for Entry { key, node, .. } in entries(node)? {
        match (key.as_str(), &node.value) {
            ("org_id", _) => identity.org_id = id(node)?,
            ("account_number", _) => identity.account_number = id(node)?,
            ("entitlements", Value::List(names)) if names.len() <= ENTITLEMENTS_MAX => {
                let names = names.iter().map(&id).collect::<Result<Vec<_>, _>>()?;
                identity.entitlements = names.into_iter().flatten().collect();
            }
            _ => return Err(wrong(node)),
        }
    }
    Ok(identity)
}

fn entries(node: &Node) -> Result<&[Entry], Box<Node>> {
    if let Value::Map(entries) = &node.value { Ok(entries) } else { Err(Box::new(node.clone())) }
}

/// An organisation, an account number or an entitlement: it goes into a header as it is.
fn is_id(text: &str) -> bool {
    (1..=ORG_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

const ENTITLEMENTS_MAX: usize = 100;

impl Reader<'_> {
    pub(super) fn launch(&mut self) -> Launch {
        Launch {
            enabled: self.get("launch.enabled"),
            organisation: self.get("launch.organisation"),
            organisation_claim: self.get("launch.organisation_claim"),
            trusted_proxies: self.items("launch.trusted_proxies"),
            header_permissions: self.items("launch.header_permissions"),
            rbac: self.get("launch.rbac.url"),
            rbac_cache: self.get("launch.rbac.cache"),
            sources: self.get("launch.sources.url"),
            image_builder: self.get("launch.image_builder.url"),
            identities: self.get::<Option<_>>("launch.service_identities").unwrap_or_default(),
            call_timeout: self.get("launch.call_timeout"),
            aws: self.aws(),
            kafka: Kafka {
                brokers: self.get("launch.kafka.brokers"),
                security_protocol: self.get("launch.kafka.security_protocol"),
                sasl_mechanism: self.get("launch.kafka.sasl_mechanism"),
                username: self.get("launch.kafka.username"),
                password: self.get("launch.kafka.password_file"),
                group: self.get("launch.kafka.group"),
                image_topic: self.get("launch.kafka.image_topic"),
                notification_topic: self.get("launch.kafka.notification_topic"),
                status_topic: self.get("launch.kafka.status_topic"),
            },
            webhook: self.get("launch.webhook.url"),
            webhook_secret: self.get("launch.webhook.secret_file"),
            callback_secret: self.get("launch.callback_secret_file"),
            made: self.launches(),
        }
    }

    fn aws(&mut self) -> Aws {
        Aws {
            enabled: self.get("launch.aws.enabled"),
            ec2: self.get("launch.aws.endpoint"),
            sts: self.get("launch.aws.sts_endpoint"),
            region: self.get("launch.aws.region"),
            access_key_id: self.get("launch.aws.access_key_id"),
            secret_access_key: self.get("launch.aws.secret_access_key_file"),
        }
    }

    fn launches(&mut self) -> LaunchSettings {
        LaunchSettings {
            profile: self.profile(),
            amount_max: self.get("launch.amount_max"),
            active_max: self.get("launch.active_max"),
            poll_first: self.get::<Period>("launch.image.poll_first").get(),
            poll_max: self.get::<Period>("launch.image.poll_max").get(),
            polls_per_second: self.get("launch.image.polls_per_second"),
            address_deadline: self.get::<Period>("launch.address_deadline").get(),
            instance_poll: self.get::<Period>("launch.instance_poll").get(),
            settle: self.get::<Period>("launch.settle").get(),
            undo_patience: self.get::<Period>("launch.undo_patience").get(),
            insights_tags: self.get("launch.insights_tags"),
            environment: self.get("launch.environment"),
            capacity_patience: self.get::<Period>("launch.capacity_patience").get(),
            ..LaunchSettings::default()
        }
    }

    /// The named profile, with the points changed that are set on their own.
    fn profile(&mut self) -> Profile {
        let named = self.get::<ProfileName>("launch.profile").profile();
        let fallback = self.get::<Option<Period>>("launch.image.fallback_poll").map(seconds);
        Profile {
            image_source: self.get::<Option<_>>("launch.image.source").unwrap_or(named.image_source),
            fallback_poll_s: fallback.or(named.fallback_poll_s),
            image_deadline_s: seconds(self.get("launch.image.deadline")),
            parameters_ttl_s: seconds(self.get("launch.parameters_ttl")),
            surface: self.get::<Option<_>>("launch.surface").unwrap_or(named.surface),
            detach: self.get("launch.detach"),
            on_launch_failure: self.get("launch.on_launch_failure"),
            partial: self.get("launch.partial"),
            after_pivot: self.get("launch.after_pivot"),
        }
    }

    pub(super) fn items(&mut self, path: &str) -> Vec<String> {
        let text: Option<String> = self.get(path);
        let items = text.iter().flat_map(|text| text.split(','));
        items.map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }
}

fn seconds(period: Period) -> u32 {
    period.get().as_secs().try_into().unwrap_or(u32::MAX)
}

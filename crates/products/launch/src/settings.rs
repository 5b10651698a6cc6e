//! The settings of launches: how they behave, whom they serve, and where the outside systems are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::model::LaunchSettings;
use crate::model::builder_identity::{ANY, ServiceIdentities};
use crate::model::identity::{ORG_CHARS_MAX, ServiceIdentity};
use crate::model::profile::{Profile, ProfileName};
use ::config::Preset::{Is, Nothing};
use ::config::{
    ConfigValue, DAY, HOUR, HttpUrl, Period, SECOND, Section, SectionReader, Setting, TreeEntry, TreeNode,
    ValueKind, YEAR, set, text,
};

use app::config::{ORGANISATION_CLAIM, TRUSTED_PROXIES};

#[derive(Debug, Clone)]
pub struct Settings {
    pub enabled: bool,
    pub organisation: String,
    pub header_permissions: Vec<String>,
    pub rbac: Option<HttpUrl>,
    pub rbac_cache: Period,
    pub sources: Option<HttpUrl>,
    pub image_builder: Option<HttpUrl>,
    pub identities: ServiceIdentities,
    pub call_timeout: Period,
    pub aws: Aws,
    pub azure: Azure,
    pub gcp: Gcp,
    pub kafka: Kafka,
    pub webhook: Option<HttpUrl>,
    pub webhook_secret: Option<PathBuf>,
    pub callback_secret: Option<PathBuf>,
    /// How launches behave.
    pub made: LaunchSettings,
}

#[derive(Debug, Clone)]
pub struct Aws {
    pub enabled: bool,
    pub ec2: String,
    pub sts: String,
    pub region: String,
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct Azure {
    pub enabled: bool,
    pub arm: String,
    pub authority: String,
    pub tenant: Option<String>,
    pub client_id: Option<String>,
    pub client_secret: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub token_file: Option<PathBuf>,
    pub ssh_from: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Gcp {
    pub enabled: bool,
    pub compute: String,
    pub token: String,
    pub key: Option<PathBuf>,
    pub impersonate: Option<String>,
    pub image_projects: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Kafka {
    pub brokers: Option<String>,
    pub security_protocol: String,
    pub sasl_mechanism: String,
    pub username: Option<String>,
    pub password: Option<PathBuf>,
    pub group: String,
    pub image_topic: String,
    pub notification_topic: String,
    pub status_topic: String,
}

fn identities(node: &TreeNode) -> Result<ServiceIdentities, Box<TreeNode>> {
    let mut all = BTreeMap::new();
    for TreeEntry { key, node, .. } in entries(node)? {
        if key != ANY && !is_id(key) {
            return Err(Box::new(TreeNode::text(key.clone())));
        }
        all.insert(key.clone(), identity(node)?);
    }
    Ok(ServiceIdentities::new(all))
}

fn identity(node: &TreeNode) -> Result<ServiceIdentity, Box<TreeNode>> {
    let wrong = |node: &TreeNode| Box::new(node.clone());
    let id = |node: &TreeNode| text(node, |text| is_id(text).then(|| text.to_owned())).map(Some);
    let mut identity = ServiceIdentity::default();
    for TreeEntry { key, node, .. } in entries(node)? {
        match (key.as_str(), &node.value) {
            ("org_id", _) => identity.org_id = id(node)?,
            ("account_number", _) => identity.account_number = id(node)?,
            ("entitlements", ConfigValue::List(names)) if names.len() <= ENTITLEMENTS_MAX => {
                let names = names.iter().map(&id).collect::<Result<Vec<_>, _>>()?;
                identity.entitlements = names.into_iter().flatten().collect();
            }
            _ => return Err(wrong(node)),
        }
    }
    Ok(identity)
}

fn entries(node: &TreeNode) -> Result<&[TreeEntry], Box<TreeNode>> {
    if let ConfigValue::Map(entries) = &node.value { Ok(entries) } else { Err(Box::new(node.clone())) }
}

/// An organisation, an account number or an entitlement: it goes into a header as it is.
fn is_id(text: &str) -> bool {
    (1..=ORG_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

const IDENTITIES: ValueKind = ValueKind::Map(
    "a map of organisations to `org_id`, `account_number` and `entitlements`, such as {\"13\": {account_number: \
     \"0000013\", entitlements: [rhel]}}",
);
const ENTITLEMENTS_MAX: usize = 100;

impl Section for Settings {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("launch.enabled", Is("true"), ValueKind::Switch,
            "Whether launches are served, where a cloud or the sandbox is there to launch in."),
        set("launch.profile", Is("wizard"), ValueKind::OneOf(&["images", "wizard", "inventory", "events"]),
            "The profile of launches whose request names none, one of the four in `docs/guide/launch.md`. The \
             settings below change parts of it."),
        set("launch.image.source", Nothing, ValueKind::OneOf(&["poll", "callback", "event"]),
            "How the engine learns that an image is ready. In each case it asks the Image Builder before it \
             continues."),
        set("launch.image.fallback_poll", Nothing, ValueKind::Time(SECOND, DAY),
            "How often to poll although an event is expected."),
        set("launch.image.deadline", Is("2h"), ValueKind::Time(Period::minutes(1), DAY),
            "How long a build may take."),
        set("launch.image.poll_first", Is("5s"), ValueKind::Time(Period::millis(50), HOUR),
            "The pause before the second poll of a build; each further pause is longer."),
        set("launch.image.poll_max", Is("1m"), ValueKind::Time(Period::millis(50), HOUR),
            "The longest pause between two polls of a build."),
        set("launch.image.polls_per_second", Is("50"), ValueKind::Whole(1, 10_000),
            "How often a replica polls builds in a second, however many launches wait."),
        set("launch.parameters_ttl", Is("24h"), ValueKind::Time(SECOND, YEAR),
            "How long a launch waits for parameters that did not come with the request. Then it is abandoned, and the \
             image is kept."),
        set("launch.surface", Nothing, ValueKind::SomeOf(&["images", "wizard", "inventory"]),
            "Where the status of a launch is shown."),
        set("launch.detach", Is("continue"), ValueKind::OneOf(&["continue", "cancel"]),
            "What a launch does when its window is closed."),
        set("launch.on_launch_failure", Is("keep_image"), ValueKind::OneOf(&["keep_image", "hide_compose"]),
            "What to do with the image of a launch that failed. A build itself cannot be stopped."),
        set("launch.partial", Is("all_or_nothing"), ValueKind::OneOf(&["all_or_nothing", "keep"]),
            "Whether a launch keeps fewer instances than requested, or none."),
        set("launch.after_pivot", Is("forward"), ValueKind::OneOf(&["forward", "rollback"]),
            "Whether running instances are kept when a later step fails."),
        set("launch.amount_max", Is("45"), ValueKind::Whole(1, 1_000),
            "How many instances one launch may have."),
        set("launch.active_max", Is("1000"), ValueKind::Whole(1, 1_000_000),
            "How many launches of one organisation may be under way at the same time."),
        set("launch.address_deadline", Is("5m"), ValueKind::Time(SECOND, DAY),
            "How long instances may take to get an address."),
        set("launch.instance_poll", Is("2s"), ValueKind::Time(Period::millis(50), HOUR),
            "The pause between two polls of instances that are starting."),
        set("launch.settle", Is("15s"), ValueKind::Time(Period::millis(0), HOUR),
            "How long an external system may still carry out a call whose answer was lost."),
        set("launch.capacity_patience", Is("30m"), ValueKind::Time(SECOND, DAY),
            "How long to retry while the cloud lacks capacity."),
        set("launch.undo_patience", Is("6h"), ValueKind::Time(SECOND, Period::days(30)),
            "How long an undo retries before the launch is stuck."),
        set("launch.insights_tags", Is("true"), ValueKind::Switch,
            "Whether instances of AWS write tags for Insights at their first start, so that Inventory shows them. The script is added to the user data of the launch."),
        set("launch.environment", Nothing, ValueKind::Text,
            "The suffix of the number of the launch in the tag `rh-rid`, as in \
             `r-7-stage`: up to 40 letters, digits, dots, hyphens and underscores."),
        set("launch.organisation", Is("default"), ValueKind::Text,
            "The organisation on whose behalf API tokens act. An admin may name another in `X-Org-Id`."),
        ORGANISATION_CLAIM,
        TRUSTED_PROXIES,
        set("launch.header_permissions", Nothing, ValueKind::Text,
            "The permissions of users with that header while no `launch.rbac.url` is set, such as \
             `provisioning:*:read`, with commas between them."),
        set("launch.rbac.url", Nothing, ValueKind::Url,
            "Where permissions are asked for, with its path, usually `/api/rbac/v1`."),
        set("launch.rbac.cache", Is("1m"), ValueKind::Time(Period::millis(0), HOUR),
            "How long the permissions of a principal are cached. A revoked permission ends within this time; `0s` \
             asks for every request."),
        set("launch.sources.url", Nothing, ValueKind::Url,
            "The Sources API that has the cloud accounts, with its path. Without it the engine stores them."),
        set("launch.image_builder.url", Nothing, ValueKind::Url,
            "Where the Image Builder listens, with its path, usually `/api/image-builder/v1`."),
        set("launch.service_identities", Nothing, IDENTITIES,
            "The identities of organisations at the Image Builder, for users with a token and no \
             `X-Rh-Identity`. `org_id` is the \
             organisation's own name unless it is set; RHEL needs an `account_number` or the entitlement `rhel`. `*` stands \
             for all organisations without an entry. The sandbox has one for `launch.organisation`."),
        set("launch.call_timeout", Is("10s"), ValueKind::Time(Period::millis(10), HOUR),
            "How long one call to these services or to a cloud may be silent."),
        set("launch.aws.enabled", Is("false"), ValueKind::Switch,
            "Whether instances can be launched at AWS. Without it the sandbox stands in where there is one.").external(true),
        set("launch.aws.endpoint", Is("https://ec2.{region}.amazonaws.com"), ValueKind::Text,
            "Where EC2 is. `{region}` stands for the region of a call."),
        set("launch.aws.sts_endpoint", Is("https://sts.{region}.amazonaws.com"), ValueKind::Text,
            "Where STS is."),
        set("launch.aws.region", Is("us-east-1"), ValueKind::Text,
            "The region for calls that belong to none, and of launches that name none."),
        set("launch.aws.access_key_id", Nothing, ValueKind::Text,
            "The engine's own credentials, with which it takes the roles of accounts. Without it: `AWS_ACCESS_KEY_ID`."),
        set("launch.aws.secret_access_key_file", Nothing, ValueKind::Path,
            "The file with the secret that belongs to it. Without it: `AWS_SECRET_ACCESS_KEY`."),
        set("launch.azure.enabled", Is("false"), ValueKind::Switch,
            "Whether instances can be launched at Azure. Without it the sandbox stands in where there is one.").external(true),
        set("launch.azure.endpoint", Is("https://management.azure.com"), ValueKind::Text,
            "Where the Resource Manager of Azure is."),
        set("launch.azure.authority", Is("https://login.microsoftonline.com"), ValueKind::Text,
            "Where tokens of Entra are issued."),
        set("launch.azure.tenant_id", Nothing, ValueKind::Text,
            "The engine's own tenant, to which customers delegate their subscriptions."),
        set("launch.azure.client_id", Nothing, ValueKind::Text,
            "The application of that tenant as which the engine signs in."),
        set("launch.azure.client_secret_file", Nothing, ValueKind::Path,
            "The file with the secret of the application."),
        set("launch.azure.client_certificate_file", Nothing, ValueKind::Path,
            "A PEM file with a certificate of the application and its RSA key, in place of a secret."),
        set("launch.azure.federated_token_file", Nothing, ValueKind::Path,
            "A file with a federated token in place of a secret, such as Kubernetes projects one. It is read again for every new token."),
        set("launch.azure.ssh_from", Is("*"), ValueKind::Text,
            "Which addresses may reach port 22 of instances in a network that a launch makes: `*`, addresses and CIDR blocks, with commas between them."),
        set("launch.gcp.enabled", Is("false"), ValueKind::Switch,
            "Whether instances can be launched at Google Cloud. Without it the sandbox stands in where there is one.").external(true),
        set("launch.gcp.endpoint", Is("https://compute.googleapis.com/compute/v1"), ValueKind::Text,
            "Where Compute Engine is, with its version."),
        set("launch.gcp.token_endpoint", Is("https://oauth2.googleapis.com/token"), ValueKind::Text,
            "Where tokens of Google are issued."),
        set("launch.gcp.key_file", Nothing, ValueKind::Path,
            "The file with the JSON key of the engine's own service account."),
        set("launch.gcp.impersonate", Nothing, ValueKind::Text,
            "The service account that acts for an organisation; `{org}` stands for its id. Without it a project must name the organisation in its label `provision-engine-org`."),
        set("launch.gcp.image_projects", Nothing, ValueKind::Text,
            "Projects whose images every organisation may use beside those of Google and of vendors, such as that of the Image Builder, with commas between them."),
        set("launch.kafka.brokers", Nothing, ValueKind::Text,
            "The brokers, such as `kafka-1:9092,kafka-2:9092`. Without them no event is read or sent.").external(true),
        set("launch.kafka.security_protocol", Is("plaintext"), ValueKind::OneOf(&["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"]),
            "The protocol of the \
             brokers. `ssl` and `sasl_ssl` are TLS, verified with `tls.ca_file` or the authorities of \
             the system."),
        set("launch.kafka.sasl_mechanism", Is("PLAIN"), ValueKind::OneOf(&["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
            "The SASL mechanism for `sasl_plaintext` and `sasl_ssl`."),
        set("launch.kafka.username", Nothing, ValueKind::Text,
            "The user for SASL."),
        set("launch.kafka.password_file", Nothing, ValueKind::Path,
            "The file with the password for SASL."),
        set("launch.kafka.group", Is("provision-engine"), ValueKind::Text,
            "The consumer group that all replicas share."),
        set("launch.kafka.image_topic", Is("image-builder.compose.status"), ValueKind::Text,
            "The topic with events about images. Messages that cannot be read go to the topic of this name with the \
             suffix `.dead-letter`."),
        set("launch.kafka.notification_topic", Is("platform.notifications.ingress"), ValueKind::Text,
            "The topic for notifications about ended launches."),
        set("launch.kafka.status_topic", Is("platform.sources.status"), ValueKind::Text,
            "The topic for the availability of accounts."),
        set("launch.webhook.url", Nothing, ValueKind::Url,
            "The webhook that gets the same notifications."),
        set("launch.webhook.secret_file", Nothing, ValueKind::Path,
            "The file with the secret that signs those messages."),
        set("launch.callback_secret_file", Nothing, ValueKind::Path,
            "The file with the secret that signs callbacks about images. Without it there are none, unless the sandbox \
             makes them."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Settings {
        Settings {
            enabled: settings.get("launch.enabled"),
            organisation: settings.get("launch.organisation"),
            header_permissions: settings.items("launch.header_permissions"),
            rbac: settings.get("launch.rbac.url"),
            rbac_cache: settings.get("launch.rbac.cache"),
            sources: settings.get("launch.sources.url"),
            image_builder: settings.get("launch.image_builder.url"),
            identities: settings.get_if_set("launch.service_identities", identities).unwrap_or_default(),
            call_timeout: settings.get("launch.call_timeout"),
            aws: aws(settings),
            azure: azure(settings),
            gcp: gcp(settings),
            kafka: Kafka {
                brokers: settings.get("launch.kafka.brokers"),
                security_protocol: settings.get("launch.kafka.security_protocol"),
                sasl_mechanism: settings.get("launch.kafka.sasl_mechanism"),
                username: settings.get("launch.kafka.username"),
                password: settings.get("launch.kafka.password_file"),
                group: settings.get("launch.kafka.group"),
                image_topic: settings.get("launch.kafka.image_topic"),
                notification_topic: settings.get("launch.kafka.notification_topic"),
                status_topic: settings.get("launch.kafka.status_topic"),
            },
            webhook: settings.get("launch.webhook.url"),
            webhook_secret: settings.get("launch.webhook.secret_file"),
            callback_secret: settings.get("launch.callback_secret_file"),
            made: launches(settings),
        }
    }
}

fn aws(settings: &mut SectionReader<'_>) -> Aws {
    Aws {
        enabled: settings.get("launch.aws.enabled"),
        ec2: settings.get("launch.aws.endpoint"),
        sts: settings.get("launch.aws.sts_endpoint"),
        region: settings.get("launch.aws.region"),
        access_key_id: settings.get("launch.aws.access_key_id"),
        secret_access_key: settings.get("launch.aws.secret_access_key_file"),
    }
}

fn azure(settings: &mut SectionReader<'_>) -> Azure {
    Azure {
        enabled: settings.get("launch.azure.enabled"),
        arm: settings.get("launch.azure.endpoint"),
        authority: settings.get("launch.azure.authority"),
        tenant: settings.get("launch.azure.tenant_id"),
        client_id: settings.get("launch.azure.client_id"),
        client_secret: settings.get("launch.azure.client_secret_file"),
        certificate: settings.get("launch.azure.client_certificate_file"),
        token_file: settings.get("launch.azure.federated_token_file"),
        ssh_from: settings.items("launch.azure.ssh_from"),
    }
}

fn gcp(settings: &mut SectionReader<'_>) -> Gcp {
    Gcp {
        enabled: settings.get("launch.gcp.enabled"),
        compute: settings.get("launch.gcp.endpoint"),
        token: settings.get("launch.gcp.token_endpoint"),
        key: settings.get("launch.gcp.key_file"),
        impersonate: settings.get("launch.gcp.impersonate"),
        image_projects: settings.items("launch.gcp.image_projects"),
    }
}

fn launches(settings: &mut SectionReader<'_>) -> LaunchSettings {
    LaunchSettings {
        profile: profile(settings),
        amount_max: settings.get("launch.amount_max"),
        active_max: settings.get("launch.active_max"),
        poll_first: settings.get::<Period>("launch.image.poll_first").get(),
        poll_max: settings.get::<Period>("launch.image.poll_max").get(),
        polls_per_second: settings.get("launch.image.polls_per_second"),
        address_deadline: settings.get::<Period>("launch.address_deadline").get(),
        instance_poll: settings.get::<Period>("launch.instance_poll").get(),
        settle: settings.get::<Period>("launch.settle").get(),
        undo_patience: settings.get::<Period>("launch.undo_patience").get(),
        insights_tags: settings.get("launch.insights_tags"),
        environment: settings.get("launch.environment"),
        capacity_patience: settings.get::<Period>("launch.capacity_patience").get(),
        ..LaunchSettings::default()
    }
}

/// The named profile, with the points changed that are set on their own.
fn profile(settings: &mut SectionReader<'_>) -> Profile {
    let named = settings.word::<ProfileName>("launch.profile").profile();
    let fallback = settings.get::<Option<Period>>("launch.image.fallback_poll").map(seconds);
    Profile {
        image_source: settings.word_if_set("launch.image.source").unwrap_or(named.image_source),
        fallback_poll_s: fallback.or(named.fallback_poll_s),
        image_deadline_s: seconds(settings.get("launch.image.deadline")),
        parameters_ttl_s: seconds(settings.get("launch.parameters_ttl")),
        surface: settings.words_if_set("launch.surface").unwrap_or(named.surface),
        detach: settings.word("launch.detach"),
        on_launch_failure: settings.word("launch.on_launch_failure"),
        partial: settings.word("launch.partial"),
        after_pivot: settings.word("launch.after_pivot"),
    }
}

fn seconds(period: Period) -> u32 {
    period.get().as_secs().try_into().unwrap_or(u32::MAX)
}

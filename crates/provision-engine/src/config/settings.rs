//! The one table of all settings: defaults, ranges, hints and the reference manual come from it.

#[cfg(test)]
mod tests;

use std::fmt;

use super::period::Period;

/// What a setting is called, what it is when nobody sets it, what it may be, and what it does.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Dotted path; a last part of `*` stands for any name.
    pub(crate) path: &'static str,
    pub(crate) default: Preset,
    pub(crate) kind: Kind,
    pub(crate) doc: &'static str,
}

/// What a setting is when nobody sets it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Preset {
    /// This text, read like the value of an environment variable.
    Is(&'static str),
    /// Nothing: the setting is optional.
    Nothing,
    /// A file in the data directory.
    InDataDir(&'static str),
    /// The place where the system keeps the state of programs, which depends on the user.
    StateDir,
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preset::Is(text) => f.write_str(text),
            Preset::Nothing => f.write_str("none"),
            Preset::InDataDir(name) => write!(f, "DATA_DIR/{name}"),
            Preset::StateDir => f.write_str("depends on the user"),
        }
    }
}

/// What a setting may be. Its words appear in error messages and in the manual.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Address,
    Switch,
    Whole(u64, u64),
    Time(Period, Period),
    Path,
    Url,
    Database,
    /// One line.
    Text,
    Filter,
    OneOf(&'static [&'static str]),
    /// Flavours and the service templates that stand for them. The names are not ours, so it is one value.
    Mapping,
    /// Organisations and what they are at the Image Builder. It is one value, because the names are not ours.
    Identities,
    SomeOf(&'static [&'static str]),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Address => f.write_str("an address such as 127.0.0.1:1337"),
            Kind::Switch => f.write_str("true or false"),
            Kind::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Kind::Time(least, most) => write!(f, "a time from {least} to {most}"),
            Kind::Path => f.write_str("a path"),
            Kind::Url => f.write_str("a URL that begins with http:// or https://"),
            Kind::Database => f.write_str("postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH"),
            Kind::Text => f.write_str("a text of one line"),
            Kind::Filter => f.write_str(
                "a level (error, warn, info, debug, trace, off) or pairs such as engine=debug,info",
            ),
            Kind::OneOf(names) => write!(f, "one of {}", names.join(", ")),
            Kind::Mapping => f.write_str("a map of flavours to ids of service templates"),
            Kind::Identities => f.write_str(
                "a map of organisations to `org_id`, `account_number` and `entitlements`, such as {\"13\": \
                 {account_number: \"0000013\", entitlements: [rhel]}}",
            ),
            Kind::SomeOf(names) => write!(f, "a list of {}", names.join(", ")),
        }
    }
}

impl Kind {
    /// Whether a variable's or flag's text is the value itself. Reading such text as YAML could cut a
    /// password at a `#` or turn a path of digits into a number.
    pub(crate) fn is_plain_text(self) -> bool {
        !matches!(self, Kind::Switch | Kind::Whole(..) | Kind::Mapping | Kind::Identities | Kind::SomeOf(_))
    }
}

const fn set(path: &'static str, default: Preset, kind: Kind, doc: &'static str) -> Setting {
    Setting { path, default, kind, doc }
}

use Preset::{InDataDir, Is, Nothing, StateDir};

pub(crate) const LOG_FORMATS: &[&str] = &["text", "json"];
pub(crate) const LOG_OUTPUTS: &[&str] = &["stdout", "stderr", "file", "syslog"];
pub(crate) const LOG_SEVERITIES: &[&str] = &["debug", "info", "warn", "error"];
pub(crate) const LOG_SYSTEMS: &[&str] = &["file", "syslog"];
pub(crate) const RESIZE_MODES: &[&str] = &["BALLOONING", "HOTPLUG"];
pub(crate) const SR_AUTHS: &[&str] = &["password", "token", "none"];
pub(crate) const CLIENT_CERTIFICATES: &[&str] = &["optional", "broker", "required"];
pub(crate) const KAFKA_SECURITY: &[&str] = &["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"];
pub(crate) const SASL_MECHANISMS: &[&str] = &["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
pub(crate) const SCHEDULINGS: &[&str] = &["compatible", "verbatim"];
pub(crate) const SHOWN_CONFIGS: &[&str] = &["full", "redacted"];
pub(crate) const ORPHAN_POLICIES: &[&str] = &["off", "report", "clean"];
pub(crate) const PROFILES: &[&str] = &["images", "wizard", "inventory", "events"];
pub(crate) const IMAGE_SOURCES: &[&str] = &["poll", "callback", "event"];
pub(crate) const SURFACES: &[&str] = &["images", "wizard", "inventory"];
pub(crate) const DETACHES: &[&str] = &["continue", "cancel"];
pub(crate) const ON_LAUNCH_FAILURES: &[&str] = &["keep_image", "hide_compose"];
pub(crate) const PARTIALS: &[&str] = &["all_or_nothing", "keep"];
pub(crate) const AFTER_PIVOTS: &[&str] = &["forward", "rollback"];
pub(crate) const UNKNOWN_OUTCOMES: &[&str] = &["ask", "create_again"];
pub(crate) const BROKER_LEVELS: &[&str] = &["2.11", "2.12", "2.13", "2.14", "2.15", "2.16", "2.17"];

const SECOND: Period = Period::seconds(1);
const HOUR: Period = Period::hours(1);
const DAY: Period = Period::days(1);
const YEAR: Period = Period::days(365);

#[rustfmt::skip]
const SETTINGS: &[Setting] = &[
    set("data_dir", StateDir, Kind::Path,
        "The directory for everything the engine keeps. Without it: `$XDG_STATE_HOME/provision-engine`, else \
         `~/.local/state/provision-engine`, and `/var/lib/provision-engine` for root or without a home."),

    set("server.listen", Is("127.0.0.1:1337"), Kind::Address,
        "The address at which the engine serves."),
    set("server.body_limit_bytes", Is("1048576"), Kind::Whole(1_024, 1_073_741_824),
        "The largest request body that is read, in bytes."),
    set("server.request_timeout", Is("30s"), Kind::Time(SECOND, HOUR),
        "How long a request may take before it is answered with an error."),
    set("server.header_timeout", Is("10s"), Kind::Time(Period::millis(100), HOUR),
        "How long a client may take to send the header of a request. The connection is closed then."),
    set("server.body_timeout", Is("10s"), Kind::Time(Period::millis(100), HOUR),
        "How long a client may take to send the body of a request. The response is 408 then."),
    set("server.idle_timeout", Is("75s"), Kind::Time(Period::millis(100), DAY),
        "How long a connection stays open between two requests."),
    set("server.connections", Is("4096"), Kind::Whole(8, 60_000),
        "How many connections may be open at the same time. Never more than three quarters of the limit of open files \
         (`LimitNOFILE`): the rest is for the database and for calls to other systems. When all are open, a new \
         connection closes the one that has been without a request for the longest time."),
    set("server.connections_per_address", Is("1024"), Kind::Whole(4, 60_000),
        "How many of them one address may have; for IPv6, one network of 64 bits. Never more than three quarters of all. \
         Behind a proxy all clients have its address."),
    set("server.public_metrics", Is("true"), Kind::Switch,
        "Whether `/metrics` answers without credentials."),

    set("server.tls.certificate", Nothing, Kind::Path,
        "The PEM file with the certificate of the server and those between it and its authority. With it and the key the \
         server speaks TLS 1.2 and 1.3 and nothing else. The files are read again when they change and on SIGHUP."),
    set("server.tls.key", Nothing, Kind::Path,
        "The PEM file with the private key of that certificate."),
    set("server.tls.client_ca", Nothing, Kind::Path,
        "The PEM file with the authorities of client certificates. With it clients are asked for one, and one that is \
         not good ends the connection."),
    set("server.tls.client_certificates", Is("optional"), Kind::OneOf(CLIENT_CERTIFICATES),
        "Who needs such a certificate: `optional` nobody, `broker` platforms that use the service broker, `required` all \
         clients, also browsers. It is asked for besides a token or a password, and does not replace it."),

    set("tls.ca_file", Nothing, Kind::Path,
        "The PEM file with authorities that all outgoing connections trust besides those of the system: HTTP clients, the \
         command line, PostgreSQL and Kafka."),

    set("console.enabled", Is("true"), Kind::Switch,
        "Whether there are pages for people at `/console`."),
    set("console.public_url", Nothing, Kind::Url,
        "Where browsers find the console, such as `https://engine.example.com`. With https its cookies go over \
         https alone. An identity provider sends people back there; without it, to the host that they asked for."),
    set("console.idle", Is("1h"), Kind::Time(Period::seconds(10), DAY),
        "After this time without a click somebody has to sign in again."),
    set("console.session", Is("12h"), Kind::Time(Period::seconds(10), Period::days(31)),
        "After this time somebody has to sign in again in any case."),
    set("console.attempts", Is("10"), Kind::Whole(3, 1_000),
        "So many wrong passwords in a row lock a user, in the console and for a change of the own password. Five times \
         as many from one address close that address."),
    set("console.lock", Is("5m"), Kind::Time(SECOND, DAY),
        "For how long a user is locked, or an address closed, after too many wrong passwords."),

    set("store.database_url", Nothing, Kind::Database,
        "The database. Without it: the SQLite file `engine.db` in the data directory. HOST may be several servers of \
         PostgreSQL with commas between them; the one that accepts writes is used. `sslmode` and `sslrootcert` mean what \
         they mean in libpq. It is never shown with its password."),
    set("store.connections", Is("4"), Kind::Whole(1, 8),
        "How many connections may save operations at the same time; as many are used as get the most done."),
    set("store.lease", Is("5s"), Kind::Time(SECOND, Period::minutes(10)),
        "How long a replica that no longer answers keeps its operations before others adopt them."),
    set("store.poll", Is("2s"), Kind::Time(Period::millis(50), Period::minutes(1)),
        "How often the engine looks for due operations when nothing wakes it earlier."),

    set("engine.max_running", Is("1000"), Kind::Whole(1, 1_000_000),
        "How many operations run at the same time; waiting ones do not count."),
    set("engine.step_limit", Is("60s"), Kind::Time(SECOND, DAY),
        "How long one run of one step may take."),
    set("engine.operation_deadline", Is("30d"), Kind::Time(SECOND, YEAR),
        "The longest time any operation may take, whatever its workflow allows."),
    set("engine.retry.first", Is("1s"), Kind::Time(Period::millis(10), HOUR),
        "The pause before the first retry of a step; each further pause is longer."),
    set("engine.retry.max", Is("1m"), Kind::Time(Period::millis(10), DAY),
        "The longest pause between two retries; not shorter than `engine.retry.first`."),
    set("engine.retry.budget", Is("10m"), Kind::Time(SECOND, YEAR),
        "How long a step may keep retrying without getting on."),
    set("engine.stop_grace", Is("10s"), Kind::Time(Period::millis(0), HOUR),
        "How long running steps may finish when the engine stops."),
    set("engine.limits.default", Is("64"), Kind::Whole(1, 100_000),
        "How many calls one outside system gets at the same time, unless it has its own limit."),
    set("engine.limits.*", Nothing, Kind::Whole(1, 100_000),
        "The limit for the outside system of this name."),
    set("engine.retention", Is("90d"), Kind::Time(HOUR, Period::days(36_500)),
        "How long finished operations, their journals and the audit log are kept."),

    set("sandbox.enabled", Is("false"), Kind::Switch,
        "Whether drivers without a URL of their own talk to the sandbox. Only the flag `--sandbox` turns it on. Without \
         any configuration `serve` turns it on too; `false` keeps it off."),
    set("sandbox.url", Nothing, Kind::Url,
        "Where a sandbox already listens. Only the flag `--sandbox-url` sets it."),

    set("drivers.greeter.url", Nothing, Kind::Url,
        "Where the greeter listens."),
    set("drivers.greeter.timeout", Is("10s"), Kind::Time(Period::millis(10), HOUR),
        "How long one call to the greeter may take."),

    set("drivers.provisioner.url", Nothing, Kind::Url,
        "Where the Runtime Provisioner listens, with its path, usually `/graphql`."),
    set("drivers.provisioner.timeout", Is("30s"), Kind::Time(Period::millis(10), HOUR),
        "How long one call to the Provisioner may be silent; a whole call ends after twice that."),
    set("drivers.provisioner.dialect", Is("auto"), Kind::OneOf(&["auto", "2020", "2021", "2022"]),
        "Which schema the Provisioner has, by the first year of it. With `auto` the server asks the Provisioner for its \
         schema; name the year where introspection is turned off there."),
    set("drivers.director.url", Nothing, Kind::Url,
        "Where the Director listens, with its path. It knows which runtimes exist: with it, a runtime whose making \
         had no answer is found again."),
    set("drivers.director.timeout", Is("30s"), Kind::Time(Period::millis(10), HOUR),
        "How long one call to the Director may be silent."),
    set("drivers.director.token_url", Nothing, Kind::Url,
        "Where tokens for the Director are issued. Without it calls carry none."),
    set("drivers.director.client_id", Nothing, Kind::Text,
        "The client that asks for those tokens."),
    set("drivers.director.client_secret_file", Nothing, Kind::Path,
        "The file with the client's secret."),
    set("drivers.director.scope", Nothing, Kind::Text,
        "The scope of those tokens."),
    set("drivers.kubernetes.timeout", Is("15s"), Kind::Time(Period::millis(10), HOUR),
        "How long one call to a cluster may be silent."),

    set("runtime.catalog", Nothing, Kind::Path,
        "The YAML file with the service and its plans. Without it: the built-in ones."),
    set("runtime.components", Nothing, Kind::Path,
        "The YAML file with the components of a runtime, in the order of installation. Without it: the built-in \
         ones."),
    set("runtime.accounts", Nothing, Kind::Path,
        "The YAML file with the accounts of the clouds. Without it one shared account per cloud is assumed, \
         `shared-azure` and so on."),
    set("runtime.target_secret", Is("false"), Kind::Switch,
        "Whether a request may choose its cloud account with the parameter `targetSecret`, among those that its tenant \
         may use. Off: the parameter is not in the catalog and is refused."),
    set("runtime.overrides", Nothing, Kind::Path,
        "The directory with overrides for runtimes, watched for changes."),
    set("runtime.override_objects.kubeconfig", Nothing, Kind::Path,
        "The kubeconfig of the cluster whose labelled ConfigMaps and Secrets are overrides for runtimes."),
    set("runtime.override_objects.namespace", Is("kcp-system"), Kind::Text,
        "The namespace of those objects."),
    set("runtime.steps", Nothing, Kind::Path,
        "The YAML file that declares external steps."),
    set("runtime.kyma_version", Is("1.24.8"), Kind::Text,
        "The version of Kyma for requests that name none."),
    set("runtime.kubernetes_version", Is("1.21.5"), Kind::Text,
        "The version of Kubernetes for new clusters."),
    set("runtime.poll", Is("30s"), Kind::Time(Period::millis(50), HOUR),
        "The longest pause between two looks at what the Provisioner works on; the first ones are shorter."),
    set("runtime.settle", Is("90s"), Kind::Time(Period::millis(0), DAY),
        "How long after a call without an answer its effect may still show up. Should be longer than a call may take."),
    set("runtime.unknown_outcome", Is("ask"), Kind::OneOf(UNKNOWN_OUTCOMES),
        "What to do when nobody knows whether a runtime was made and no Director can tell: wait for an operator's \
         signal, or make one at the risk of having two."),
    set("runtime.hello_world", Is("true"), Kind::Switch,
        "Whether the example step `hello_world` runs where a greeter is configured."),
    set("runtime.cluster_role", Is("cluster-admin"), Kind::Text,
        "The cluster role that the credentials of a binding have."),
    set("runtime.expiry_check", Is("30s"), Kind::Time(SECOND, DAY),
        "How often the engine looks for instances and bindings whose time is over."),
    set("runtime.service_manager.url", Nothing, Kind::Url,
        "The service manager of runtimes whose request brings none."),
    set("runtime.service_manager.username", Nothing, Kind::Text,
        "The user of that service manager."),
    set("runtime.service_manager.password_file", Nothing, Kind::Path,
        "The file with that user's password."),
    set("runtime.service_manager.always", Is("false"), Kind::Switch,
        "Whether it is used also when the request brings another one."),
    set("runtime.audit_log.url", Nothing, Kind::Url,
        "Where runtimes send their audit log."),
    set("runtime.audit_log.username", Nothing, Kind::Text,
        "The user of that audit log."),
    set("runtime.audit_log.password_file", Nothing, Kind::Path,
        "The file with that user's password."),

    set("osb.gone", Is("false"), Kind::Switch,
        "Whether `last_operation` answers 410 as soon as a deletion is over, instead of 200 with `succeeded` first."),
    set("osb.catalog_level", Is("2.17"), Kind::OneOf(BROKER_LEVELS),
        "The version of the API whose fields the catalog shows; older platforms may refuse newer fields."),
    set("osb.missing_version", Is("412"), Kind::Whole(400, 412),
        "The status for requests without `X-Broker-API-Version`: 412 or 400."),
    set("osb.retry_after", Is("2s"), Kind::Time(SECOND, HOUR),
        "How long a platform is asked to wait before it polls again."),
    set("osb.bind_wait", Is("15s"), Kind::Time(SECOND, Period::minutes(10)),
        "How long a synchronous binding may take."),
    set("osb.oidc.issuer", Nothing, Kind::Url,
        "The issuer whose bearer tokens are accepted beside our own."),
    set("osb.oidc.audience", Nothing, Kind::Text,
        "The audience that those tokens must name."),
    set("osb.oidc.scope", Is("broker:write"), Kind::Text,
        "The scope that those tokens must have for the broker."),
    set("osb.oidc.client_id", Nothing, Kind::Text,
        "The client as which people are sent to that issuer to sign in. With the sandbox and without an issuer they \
         sign in there."),
    set("osb.oidc.client_secret_file", Nothing, Kind::Path,
        "The file with the client's secret. Without it: a public client, which the issuer has to allow."),
    set("osb.oidc.scopes", Is("openid profile email groups"), Kind::Text,
        "The scopes that people are asked for, with spaces between them; `openid` must be among them."),
    set("osb.oidc.admin_groups", Is("admin"), Kind::Text,
        "The groups, with commas between them, whose members have the role admin. Groups are in the claim `groups`."),
    set("osb.oidc.operator_groups", Is("operator"), Kind::Text,
        "The groups whose members have the role operator."),
    set("osb.oidc.reader_groups", Is("viewer"), Kind::Text,
        "The groups whose members have the role reader."),
    set("osb.oidc.launcher_groups", Is("launcher"), Kind::Text,
        "The groups whose members have the role launcher."),
    set("compat.keb", Is("false"), Kind::Switch,
        "Whether the broker keeps the habits of the Kyma Environment Broker where they differ from the \
         specification."),

    set("serverless.enabled", Is("true"), Kind::Switch,
        "Whether serverless runtimes are served."),
    set("serverless.oned", Nothing, Kind::Url,
        "Where the OpenNebula daemon listens, with its path, usually `http://localhost:2633/RPC2`."),
    set("serverless.oneflow", Nothing, Kind::Url,
        "Where OneFlow listens, usually `http://localhost:2474`."),
    set("serverless.timeout", Is("30s"), Kind::Time(SECOND, HOUR),
        "How long the machines of a runtime may take to appear or to change before the caller hears of it. Devices \
         wait a minute for an answer."),
    set("serverless.call_timeout", Is("10s"), Kind::Time(Period::millis(10), HOUR),
        "How long one call to OpenNebula may take."),
    set("serverless.connections", Is("8"), Kind::Whole(3, 1_024),
        "About how many connections to the daemon are open at the same time, and as many to OneFlow: half for reads, \
         a quarter for changes, a quarter to spare. The daemon takes 15 unless told otherwise."),
    set("serverless.poll", Is("500ms"), Kind::Time(Period::millis(10), Period::minutes(1)),
        "The pause between two looks at machines that are on their way."),
    set("serverless.settle", Is("15s"), Kind::Time(Period::millis(0), HOUR),
        "How long OpenNebula may still carry out a call whose answer was lost. Nothing is made a second time \
         before; longer than `serverless.call_timeout` is safe."),
    set("serverless.body_limit_bytes", Is("65536"), Kind::Whole(1_024, 16_777_216),
        "The largest specification of a runtime that is read, in bytes."),
    set("serverless.capacity.cpu.default", Is("2"), Kind::Whole(1, 1_024),
        "The cores of a function when neither request nor template names them."),
    set("serverless.capacity.cpu.mult", Is("2"), Kind::Whole(1, 1_024),
        "How many times its first cores a function may grow to."),
    set("serverless.capacity.memory.default", Is("1024"), Kind::Whole(1, 67_108_864),
        "The memory of a function when neither request nor template names it, in MB."),
    set("serverless.capacity.memory.mult", Is("2"), Kind::Whole(1, 1_024),
        "How many times its first memory a function may grow to."),
    set("serverless.capacity.memory.resize_mode", Is("BALLOONING"), Kind::OneOf(RESIZE_MODES),
        "How the memory of a running machine changes."),
    set("serverless.capacity.disk.default", Is("1024"), Kind::Whole(1, 2_147_483_647),
        "The disk of a function when the request does not name its size, in MB."),
    set("serverless.mapping", Nothing, Kind::Mapping,
        "Which service template stands for which flavours, such as `{nature: 0, nature-s3: 3}`. Without it a \
         template is found by its name."),
    set("serverless.mapping_falls_back", Is("false"), Kind::Switch,
        "Whether flavours that are not in the mapping are looked for by name."),
    set("serverless.sr_auth", Is("none"), Kind::OneOf(SR_AUTHS),
        "What a function finds in the context of its machine as `SR_AUTH`: nothing (`none`), a login of OpenNebula that \
         expires (`token`), or the password of its owner (`password`), which everybody who may look at the machine can \
         read for as long as it exists."),
    set("serverless.token_valid", Is("24h"), Kind::Time(Period::minutes(1), YEAR),
        "How long such a token is good."),
    set("serverless.scheduling", Is("compatible"), Kind::OneOf(SCHEDULINGS),
        "Whether requirements and policies reach the scheduler in capitals or as they were written."),
    set("serverless.version", Is("1.3.3"), Kind::Text,
        "The version that `/server/version` tells clients."),
    set("serverless.show_config", Is("full"), Kind::OneOf(SHOWN_CONFIGS),
        "Whether `/server/config`, which asks for no credentials, shows the addresses of OpenNebula."),
    set("serverless.steward_one_auth", Nothing, Kind::Path,
        "The file with `user:password` of somebody in OpenNebula in whose name people use serverless runtimes in the \
         console: it should see the runtimes of all users. The sandbox brings its own."),
    set("serverless.orphans.policy", Is("off"), Kind::OneOf(ORPHAN_POLICIES),
        "What to do about services and documents that lost their counterpart: nothing, a line in the log, or an \
         end. The last two need `serverless.orphans.one_auth`."),
    set("serverless.orphans.one_auth", Nothing, Kind::Path,
        "The file with `user:password` of somebody who sees the runtimes of all users."),
    set("serverless.orphans.every", Is("10m"), Kind::Time(SECOND, DAY),
        "How often the engine looks for them."),
    set("serverless.orphans.older_than", Is("1h"), Kind::Time(Period::minutes(1), YEAR),
        "How old something must be to count as lost."),

    set("launch.enabled", Is("true"), Kind::Switch,
        "Whether launches are served, where a cloud or the sandbox is there to launch in."),
    set("launch.profile", Is("wizard"), Kind::OneOf(PROFILES),
        "How a launch behaves whose request does not say: one of the four profiles of `docs/guide/launch.md`. The \
         settings below change single points of it."),
    set("launch.image.source", Nothing, Kind::OneOf(IMAGE_SOURCES),
        "Who says that an image is ready. Whatever it is, one read at the Image Builder decides."),
    set("launch.image.fallback_poll", Nothing, Kind::Time(SECOND, DAY),
        "How often to look although somebody else is to say so."),
    set("launch.image.deadline", Is("2h"), Kind::Time(Period::minutes(1), DAY),
        "How long a build may take."),
    set("launch.image.poll_first", Is("5s"), Kind::Time(Period::millis(50), HOUR),
        "The pause before the second look at a build; each further pause is longer."),
    set("launch.image.poll_max", Is("1m"), Kind::Time(Period::millis(50), HOUR),
        "The longest pause between two looks at a build."),
    set("launch.image.polls_per_second", Is("50"), Kind::Whole(1, 10_000),
        "How many looks at builds a replica takes in a second, however many launches wait."),
    set("launch.parameters_ttl", Is("24h"), Kind::Time(SECOND, YEAR),
        "How long a launch waits for parameters that did not come with the request. Then it is abandoned, and the \
         image is kept."),
    set("launch.surface", Nothing, Kind::SomeOf(SURFACES),
        "Where the status of a launch is shown."),
    set("launch.detach", Is("continue"), Kind::OneOf(DETACHES),
        "What it means that the window is closed."),
    set("launch.on_launch_failure", Is("keep_image"), Kind::OneOf(ON_LAUNCH_FAILURES),
        "What becomes of an image that was built for a launch that failed. A build itself cannot be stopped."),
    set("launch.partial", Is("all_or_nothing"), Kind::OneOf(PARTIALS),
        "Whether fewer instances than asked for are better than none."),
    set("launch.after_pivot", Is("forward"), Kind::OneOf(AFTER_PIVOTS),
        "Whether instances that run are kept when something after their launch goes wrong."),
    set("launch.amount_max", Is("45"), Kind::Whole(1, 1_000),
        "How many instances one launch may have."),
    set("launch.active_max", Is("1000"), Kind::Whole(1, 1_000_000),
        "How many launches of one organisation may be under way at the same time."),
    set("launch.address_deadline", Is("5m"), Kind::Time(SECOND, DAY),
        "How long instances may take to get an address."),
    set("launch.instance_poll", Is("2s"), Kind::Time(Period::millis(50), HOUR),
        "The pause between two looks at instances that are on their way."),
    set("launch.settle", Is("15s"), Kind::Time(Period::millis(0), HOUR),
        "How long a far side may still carry out a call whose answer was lost."),
    set("launch.capacity_patience", Is("30m"), Kind::Time(SECOND, DAY),
        "How long to ask again while the cloud has no room."),
    set("launch.undo_patience", Is("6h"), Kind::Time(SECOND, Period::days(30)),
        "How long trouble may keep a launch from taking something back before a person has to look."),
    set("launch.insights_tags", Is("true"), Kind::Switch,
        "Whether instances of AWS write tags for Insights at their first start, so that Inventory shows them. The script is added to the user data of the launch."),
    set("launch.environment", Nothing, Kind::Text,
        "What stands behind the number of the launch in the tag `rh-rid`, as in `r-7-stage`: up to 40 letters, digits, dots, hyphens and underscores."),
    set("launch.organisation", Is("default"), Kind::Text,
        "The organisation on whose behalf API tokens act. An admin may name another in `X-Org-Id`."),
    set("launch.organisation_claim", Is("org_id"), Kind::Text,
        "The claim of an OIDC token that names the organisation."),
    set("launch.trusted_proxies", Nothing, Kind::Text,
        "Addresses and networks, with commas between them, whose `X-Rh-Identity` is believed, and whose \
         `X-Forwarded-For` names the address of a browser that signs in. From all others they count for nothing."),
    set("launch.header_permissions", Nothing, Kind::Text,
        "What somebody may do whose identity came in that header while no `launch.rbac.url` is set, such as \
         `provisioning:*:read`, with commas between them."),
    set("launch.rbac.url", Nothing, Kind::Url,
        "Where permissions are asked for, with its path, usually `/api/rbac/v1`."),
    set("launch.rbac.cache", Is("1m"), Kind::Time(Period::millis(0), HOUR),
        "How long the permissions of a principal are remembered. One that was taken away ends within this time; `0s` asks for every request."),
    set("launch.sources.url", Nothing, Kind::Url,
        "Where the Sources API keeps accounts, with its path. Without it they are kept here."),
    set("launch.image_builder.url", Nothing, Kind::Url,
        "Where the Image Builder listens, with its path, usually `/api/image-builder/v1`."),
    set("launch.service_identities", Nothing, Kind::Identities,
        "What an organisation is at the Image Builder whose callers have a token and no `X-Rh-Identity`. `org_id` is the \
         organisation's own name unless it is set; RHEL needs an `account_number` or the entitlement `rhel`. `*` stands \
         for all organisations without an entry. The sandbox has one for `launch.organisation`."),
    set("launch.call_timeout", Is("10s"), Kind::Time(Period::millis(10), HOUR),
        "How long one call to these services or to a cloud may be silent."),
    set("launch.aws.enabled", Is("false"), Kind::Switch,
        "Whether instances can be launched at AWS. Without it the sandbox stands in where there is one."),
    set("launch.aws.endpoint", Is("https://ec2.{region}.amazonaws.com"), Kind::Text,
        "Where EC2 is. `{region}` stands for the region of a call."),
    set("launch.aws.sts_endpoint", Is("https://sts.{region}.amazonaws.com"), Kind::Text,
        "Where STS is."),
    set("launch.aws.region", Is("us-east-1"), Kind::Text,
        "The region for calls that belong to none, and of launches that name none."),
    set("launch.aws.access_key_id", Nothing, Kind::Text,
        "The engine's own credentials, with which it takes the roles of accounts. Without it: `AWS_ACCESS_KEY_ID`."),
    set("launch.aws.secret_access_key_file", Nothing, Kind::Path,
        "The file with the secret that belongs to it. Without it: `AWS_SECRET_ACCESS_KEY`."),
    set("launch.kafka.brokers", Nothing, Kind::Text,
        "The brokers, such as `kafka-1:9092,kafka-2:9092`. Without them no event is read or sent."),
    set("launch.kafka.security_protocol", Is("plaintext"), Kind::OneOf(KAFKA_SECURITY),
        "How the brokers are spoken to. `ssl` and `sasl_ssl` are TLS, verified with `tls.ca_file` or the authorities of \
         the system; they need a program that was built with the cargo feature `kafka-tls`."),
    set("launch.kafka.sasl_mechanism", Is("PLAIN"), Kind::OneOf(SASL_MECHANISMS),
        "How we sign in with `sasl_plaintext` and `sasl_ssl`. All but `PLAIN` need the cargo feature `kafka-tls`."),
    set("launch.kafka.username", Nothing, Kind::Text,
        "The user for SASL."),
    set("launch.kafka.password_file", Nothing, Kind::Path,
        "The file with the password for SASL."),
    set("launch.kafka.group", Is("provision-engine"), Kind::Text,
        "The consumer group that all replicas share."),
    set("launch.kafka.image_topic", Is("image-builder.compose.status"), Kind::Text,
        "Where events about images come from. What cannot be read goes to the topic of this name with `.dead-letter` \
         behind it."),
    set("launch.kafka.notification_topic", Is("platform.notifications.ingress"), Kind::Text,
        "Where it is told how launches ended."),
    set("launch.kafka.status_topic", Is("platform.sources.status"), Kind::Text,
        "Where it is told whether accounts can be used."),
    set("launch.webhook.url", Nothing, Kind::Url,
        "Who else is told how launches ended."),
    set("launch.webhook.secret_file", Nothing, Kind::Path,
        "The file with the secret that signs those messages."),
    set("launch.callback_secret_file", Nothing, Kind::Path,
        "The file with the secret that signs callbacks about images. Without it there are none, unless the sandbox \
         makes them."),

    set("log.level", Is("info"), Kind::Filter,
        "What is logged."),
    set("log.format", Is("text"), Kind::OneOf(LOG_FORMATS),
        "The form of a log line."),
    set("log.to", Is("stderr"), Kind::SomeOf(LOG_OUTPUTS),
        "Where log lines go."),
    set("log.file", InDataDir("provision-engine.log"), Kind::Path,
        "The file that `file` in `log.to` appends to."),
    set("log.directory", Nothing, Kind::Path,
        "The directory for `engine.log`, `CloudClient.log` and `api.log`, which are written beside the other outputs. \
         With an `engine.conf`: `/var/log/provision-engine`."),
    set("log.severity", Is("info"), Kind::OneOf(LOG_SEVERITIES),
        "The least severe lines in `engine.log` and `CloudClient.log`. With an `engine.conf` that does not say: `warn`."),
    set("log.system", Is("file"), Kind::OneOf(LOG_SYSTEMS),
        "Whether the lines for `engine.log` and `CloudClient.log` go to these files or to syslog."),
    set("log.rotate_bytes", Is("10485760"), Kind::Whole(4_096, 1_099_511_627_776),
        "The size at which a file in `log.directory` is put aside for a new one, in bytes."),
    set("log.keep", Is("10"), Kind::Whole(0, 10_000),
        "How many of those put aside are kept, per file."),

    set("secrets.key_ring", InDataDir("keys.json"), Kind::Path,
        "The file with the keys that seal secrets in the database."),
];

/// Every setting, in the order of the manual.
pub(crate) fn reference() -> &'static [Setting] {
    SETTINGS
}

/// What a dotted path means.
pub(crate) enum Shape {
    /// A map of further settings; the empty path is the whole file.
    Section,
    Leaf(&'static Setting),
    Unknown,
}

pub(crate) fn shape(path: &str) -> Shape {
    if let Some(setting) = find(path) {
        return Shape::Leaf(setting);
    }
    if path.is_empty() || SETTINGS.iter().any(|setting| is_below(setting.path, path)) {
        return Shape::Section;
    }
    Shape::Unknown
}

pub(crate) fn find(path: &str) -> Option<&'static Setting> {
    let exact = SETTINGS.iter().find(|setting| setting.path == path);
    exact.or_else(|| SETTINGS.iter().find(|setting| matches_any_name(setting.path, path)))
}

fn matches_any_name(pattern: &str, path: &str) -> bool {
    let name = pattern.strip_suffix('*').and_then(|section| path.strip_prefix(section));
    name.is_some_and(|name| !name.is_empty() && !name.contains('.'))
}

fn is_below(path: &str, section: &str) -> bool {
    path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// The environment variable that sets this path.
pub(crate) fn variable(path: &str) -> String {
    format!("{}{}", super::layers::PREFIX, path.replace('.', "__").to_uppercase())
}

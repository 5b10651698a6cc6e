//! The settings of serverless runtimes and of the OpenNebula behind them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::model::{ResizeMode, ServerlessSettings, SrAuth};
use ::config::Preset::{Is, Nothing};
use ::config::{
    ConfigValue, DAY, HOUR, HttpUrl, Period, SECOND, Section, SectionReader, Setting, TreeEntry, TreeNode,
    ValueKind, YEAR, set,
};

#[derive(Debug, Clone)]
pub struct Settings {
    pub enabled: bool,
    /// Nothing where OpenNebula is not configured; a sandbox may stand in for it then.
    pub oned: Option<HttpUrl>,
    pub oneflow: Option<HttpUrl>,
    pub call_timeout: Period,
    pub connections: usize,
    pub body_limit_bytes: usize,
    pub version: String,
    pub shows_addresses: bool,
    /// In whose name the console acts.
    pub steward_one_auth: Option<PathBuf>,
    pub orphans: Orphans,
    /// How runtimes are made.
    pub made: ServerlessSettings,
}

#[derive(Debug, Clone)]
pub struct Orphans {
    pub policy: OrphanPolicy,
    /// There whenever the policy needs it.
    pub one_auth: Option<PathBuf>,
    pub every: Period,
    pub older_than: Period,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanPolicy {
    Off,
    Report,
    Clean,
}

impl Section for Settings {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("serverless.enabled", Is("true"), ValueKind::Switch,
            "Whether serverless runtimes are served."),
        set("serverless.oned", Nothing, ValueKind::Url,
            "Where the OpenNebula daemon listens, with its path, usually `http://localhost:2633/RPC2`."),
        set("serverless.oneflow", Nothing, ValueKind::Url,
            "Where OneFlow listens, usually `http://localhost:2474`."),
        set("serverless.timeout", Is("30s"), ValueKind::Time(SECOND, HOUR),
            "How long the VMs of a runtime may take to appear or to change before the answer is 504. Devices wait a \
             minute for an answer."),
        set("serverless.call_timeout", Is("10s"), ValueKind::Time(Period::millis(10), HOUR),
            "How long one call to OpenNebula may take."),
        set("serverless.connections", Is("8"), ValueKind::Whole(3, 1_024),
            "About how many connections to the daemon are open at the same time, and as many to OneFlow: half for reads, \
             a quarter for changes, a quarter to spare. The daemon accepts 15 by default."),
        set("serverless.poll", Is("500ms"), ValueKind::Time(Period::millis(10), Period::minutes(1)),
            "The pause between two polls of VMs that are starting."),
        set("serverless.settle", Is("15s"), ValueKind::Time(Period::millis(0), HOUR),
            "How long OpenNebula may still carry out a call whose answer was lost. Nothing is made a second time \
             before; longer than `serverless.call_timeout` is safe."),
        set("serverless.body_limit_bytes", Is("65536"), ValueKind::Whole(1_024, 16_777_216),
            "The largest specification of a runtime that is read, in bytes."),
        set("serverless.capacity.cpu.default", Is("2"), ValueKind::Whole(1, 1_024),
            "The cores of a function when neither request nor template names them."),
        set("serverless.capacity.cpu.mult", Is("2"), ValueKind::Whole(1, 1_024),
            "How many times its first cores a function may grow to."),
        set("serverless.capacity.memory.default", Is("1024"), ValueKind::Whole(1, 67_108_864),
            "The memory of a function when neither request nor template names it, in MB."),
        set("serverless.capacity.memory.mult", Is("2"), ValueKind::Whole(1, 1_024),
            "How many times its first memory a function may grow to."),
        set("serverless.capacity.memory.resize_mode", Is("BALLOONING"), ValueKind::OneOf(&["BALLOONING", "HOTPLUG"]),
            "How the memory of a running VM changes."),
        set("serverless.capacity.disk.default", Is("1024"), ValueKind::Whole(1, 2_147_483_647),
            "The disk of a function when the request does not name its size, in MB."),
        set("serverless.mapping", Nothing, ValueKind::Map("a map of flavours to ids of service templates"),
            "Which service template stands for which flavours, such as `{nature: 0, nature-s3: 3}`. Without it a \
             template is found by its name."),
        set("serverless.mapping_falls_back", Is("false"), ValueKind::Switch,
            "Whether flavours that are not in the mapping are looked for by name."),
        set("serverless.sr_auth", Is("none"), ValueKind::OneOf(&["password", "token", "none"]),
            "What a function finds in the context of its VM as `SR_AUTH`: nothing (`none`), a login of OpenNebula \
             that expires (`token`), or the password of its owner (`password`), which every user who may see the VM \
             can read for as long as it exists."),
        set("serverless.token_valid", Is("24h"), ValueKind::Time(Period::minutes(1), YEAR),
            "How long such a token is valid."),
        set("serverless.scheduling", Is("compatible"), ValueKind::OneOf(&["compatible", "verbatim"]),
            "Whether requirements and policies reach the scheduler in capitals or as they were written."),
        set("serverless.version", Is("1.3.3"), ValueKind::Text,
            "The version that `/server/version` tells clients."),
        set("serverless.show_config", Is("full"), ValueKind::OneOf(&["full", "redacted"]),
            "Whether `/server/config`, which asks for no credentials, shows the addresses of OpenNebula."),
        set("serverless.steward_one_auth", Nothing, ValueKind::Path,
            "The file with `user:password` of the OpenNebula user in whose name people use serverless runtimes in the \
             console: it should see the runtimes of all users. The sandbox brings its own."),
        set("serverless.orphans.policy", Is("off"), ValueKind::OneOf(&["off", "report", "clean"]),
            "What to do about services and documents that lost their counterpart: nothing (`off`), a log line \
             (`report`), or removal (`clean`). The last two need `serverless.orphans.one_auth`."),
        set("serverless.orphans.one_auth", Nothing, ValueKind::Path,
            "The file with `user:password` of a user who sees the runtimes of all users."),
        set("serverless.orphans.every", Is("10m"), ValueKind::Time(SECOND, DAY),
            "How often the engine looks for orphans."),
        set("serverless.orphans.older_than", Is("1h"), ValueKind::Time(Period::minutes(1), YEAR),
            "How old something must be to count as lost."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Settings {
        let (oned, oneflow) = addresses(settings);
        Settings {
            enabled: settings.get("serverless.enabled"),
            oned,
            oneflow,
            call_timeout: settings.get("serverless.call_timeout"),
            connections: settings.get("serverless.connections"),
            body_limit_bytes: settings.get("serverless.body_limit_bytes"),
            version: settings.get("serverless.version"),
            shows_addresses: settings.get::<String>("serverless.show_config") == "full",
            steward_one_auth: settings.get("serverless.steward_one_auth"),
            orphans: orphans(settings),
            made: made(settings),
        }
    }
}

fn made(settings: &mut SectionReader<'_>) -> ServerlessSettings {
    ServerlessSettings {
        timeout: settings.get::<Period>("serverless.timeout").get(),
        cpu_default: settings.get("serverless.capacity.cpu.default"),
        cpu_mult: settings.get("serverless.capacity.cpu.mult"),
        memory_default: settings.get("serverless.capacity.memory.default"),
        memory_mult: settings.get("serverless.capacity.memory.mult"),
        resize_mode: settings.one_of(
            "serverless.capacity.memory.resize_mode",
            &[("BALLOONING", ResizeMode::Ballooning), ("HOTPLUG", ResizeMode::Hotplug)],
        ),
        disk_default: settings.get("serverless.capacity.disk.default"),
        mapping: settings.get_if_set("serverless.mapping", mapping),
        mapping_falls_back: settings.get("serverless.mapping_falls_back"),
        sr_auth: settings.one_of(
            "serverless.sr_auth",
            &[("password", SrAuth::Password), ("token", SrAuth::Token), ("none", SrAuth::None)],
        ),
        token_valid: settings.get::<Period>("serverless.token_valid").get(),
        scheduling_verbatim: settings.get::<String>("serverless.scheduling") == "verbatim",
        poll: settings.get::<Period>("serverless.poll").get(),
        settle: settings.get::<Period>("serverless.settle").get(),
    }
}

/// Documents are in one of the two and services in the other, so they belong to one OpenNebula.
fn addresses(settings: &mut SectionReader<'_>) -> (Option<HttpUrl>, Option<HttpUrl>) {
    let (oned, oneflow) = (settings.get("serverless.oned"), settings.get("serverless.oneflow"));
    let (given, missing) = match (&oned, &oneflow) {
        (Some(_), None) => ("serverless.oned", "serverless.oneflow"),
        (None, Some(_)) => ("serverless.oneflow", "serverless.oned"),
        _ => return (oned, oneflow),
    };
    settings.refuse(given, format!("needs {missing} beside it"));
    (oned, oneflow)
}

fn orphans(settings: &mut SectionReader<'_>) -> Orphans {
    let policies =
        [("off", OrphanPolicy::Off), ("report", OrphanPolicy::Report), ("clean", OrphanPolicy::Clean)];
    let orphans = Orphans {
        policy: settings.one_of("serverless.orphans.policy", &policies),
        one_auth: settings.get("serverless.orphans.one_auth"),
        every: settings.get("serverless.orphans.every"),
        older_than: settings.get("serverless.orphans.older_than"),
    };
    if orphans.policy != OrphanPolicy::Off && orphans.one_auth.is_none() {
        let message = "needs serverless.orphans.one_auth beside it, a file with user:password".to_owned();
        settings.refuse("serverless.orphans.policy", message);
    }
    orphans
}

/// Names of flavours and ids of service templates.
pub(crate) fn mapping(node: &TreeNode) -> Result<BTreeMap<String, i32>, Box<TreeNode>> {
    let ConfigValue::Map(entries) = &node.value else { return Err(Box::new(node.clone())) };
    let mut mapping = BTreeMap::new();
    for TreeEntry { key, node, .. } in entries {
        let id = match &node.value {
            ConfigValue::Number(number) => number.as_i64().and_then(|id| i32::try_from(id).ok()),
            _ => None,
        };
        let id = id.filter(|id| *id >= 0).ok_or_else(|| Box::new(node.clone()))?;
        mapping.insert(key.clone(), id);
    }
    Ok(mapping)
}

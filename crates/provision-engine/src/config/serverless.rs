//! The settings of serverless runtimes and of the OpenNebula behind them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::settings::Kind;
use super::tree::Node;
use super::values::{self, FromNode};
use super::{HttpUrl, Period, Reader};

#[derive(Debug, Clone)]
pub(crate) struct Serverless {
    pub(crate) enabled: bool,
    /// Nothing where OpenNebula is not configured; a sandbox may stand in for it then.
    pub(crate) oned: Option<HttpUrl>,
    pub(crate) oneflow: Option<HttpUrl>,
    /// Whether a sandbox may stand in for it although it has addresses.
    pub(crate) sandbox: bool,
    pub(crate) timeout: Period,
    pub(crate) call_timeout: Period,
    pub(crate) connections: usize,
    pub(crate) poll: Period,
    pub(crate) body_limit_bytes: usize,
    pub(crate) capacity: Capacity,
    pub(crate) mapping: Option<BTreeMap<String, i32>>,
    pub(crate) mapping_falls_back: bool,
    pub(crate) sr_auth: SrAuth,
    pub(crate) token_valid: Period,
    pub(crate) scheduling_verbatim: bool,
    pub(crate) version: String,
    pub(super) shown: ShownConfig,
    pub(crate) orphans: Orphans,
}

/// What a function gets that does not say what it needs, and how far it may grow. Memory and disk are in MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) cpu_default: u32,
    pub(crate) cpu_mult: u32,
    pub(crate) memory_default: u32,
    pub(crate) memory_mult: u32,
    pub(crate) resize_mode: ResizeMode,
    pub(crate) disk_default: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResizeMode {
    Ballooning,
    Hotplug,
}

impl ResizeMode {
    /// As OpenNebula writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ResizeMode::Ballooning => "BALLOONING",
            ResizeMode::Hotplug => "HOTPLUG",
        }
    }
}

impl FromNode for ResizeMode {
    fn read(node: &Node, _: Kind) -> Result<ResizeMode, Box<Node>> {
        values::text(node, |text| match text {
            "BALLOONING" => Some(ResizeMode::Ballooning),
            "HOTPLUG" => Some(ResizeMode::Hotplug),
            _ => None,
        })
    }
}

/// What a function can log in to OpenNebula with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SrAuth {
    Password,
    Token,
    Nothing,
}

impl FromNode for SrAuth {
    fn read(node: &Node, _: Kind) -> Result<SrAuth, Box<Node>> {
        values::text(node, |text| match text {
            "password" => Some(SrAuth::Password),
            "token" => Some(SrAuth::Token),
            "none" => Some(SrAuth::Nothing),
            _ => None,
        })
    }
}

/// How much of the configuration anybody may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownConfig {
    Full,
    Redacted,
}

impl FromNode for ShownConfig {
    fn read(node: &Node, _: Kind) -> Result<ShownConfig, Box<Node>> {
        values::text(node, |text| match text {
            "full" => Some(ShownConfig::Full),
            "redacted" => Some(ShownConfig::Redacted),
            _ => None,
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Orphans {
    pub(crate) policy: OrphanPolicy,
    /// There whenever the policy needs it.
    pub(crate) one_auth: Option<PathBuf>,
    pub(crate) every: Period,
    pub(crate) older_than: Period,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrphanPolicy {
    Off,
    Report,
    Clean,
}

impl FromNode for OrphanPolicy {
    fn read(node: &Node, _: Kind) -> Result<OrphanPolicy, Box<Node>> {
        values::text(node, |text| match text {
            "off" => Some(OrphanPolicy::Off),
            "report" => Some(OrphanPolicy::Report),
            "clean" => Some(OrphanPolicy::Clean),
            _ => None,
        })
    }
}

impl Reader<'_> {
    pub(super) fn serverless(&mut self) -> Serverless {
        let (oned, oneflow) = self.addresses();
        Serverless {
            enabled: self.get("serverless.enabled"),
            oned,
            oneflow,
            sandbox: self.get("serverless.sandbox"),
            timeout: self.get("serverless.timeout"),
            call_timeout: self.get("serverless.call_timeout"),
            connections: self.get("serverless.connections"),
            poll: self.get("serverless.poll"),
            body_limit_bytes: self.get("serverless.body_limit_bytes"),
            capacity: self.capacity(),
            mapping: self.get("serverless.mapping"),
            mapping_falls_back: self.get("serverless.mapping_falls_back"),
            sr_auth: self.get("serverless.sr_auth"),
            token_valid: self.get("serverless.token_valid"),
            scheduling_verbatim: self.get::<String>("serverless.scheduling") == "verbatim",
            version: self.get("serverless.version"),
            shown: self.get("serverless.show_config"),
            orphans: self.orphans(),
        }
    }

    /// Documents are in one of the two and services in the other, so they belong to one OpenNebula.
    fn addresses(&mut self) -> (Option<HttpUrl>, Option<HttpUrl>) {
        let (oned, oneflow) = (self.get("serverless.oned"), self.get("serverless.oneflow"));
        let (given, missing) = match (&oned, &oneflow) {
            (Some(_), None) => ("serverless.oned", "serverless.oneflow"),
            (None, Some(_)) => ("serverless.oneflow", "serverless.oned"),
            _ => return (oned, oneflow),
        };
        self.refuse_whole(given, format!("needs {missing} beside it"));
        (oned, oneflow)
    }

    fn capacity(&mut self) -> Capacity {
        Capacity {
            cpu_default: self.get("serverless.capacity.cpu.default"),
            cpu_mult: self.get("serverless.capacity.cpu.mult"),
            memory_default: self.get("serverless.capacity.memory.default"),
            memory_mult: self.get("serverless.capacity.memory.mult"),
            resize_mode: self.get("serverless.capacity.memory.resize_mode"),
            disk_default: self.get("serverless.capacity.disk.default"),
        }
    }

    fn orphans(&mut self) -> Orphans {
        let orphans = Orphans {
            policy: self.get("serverless.orphans.policy"),
            one_auth: self.get("serverless.orphans.one_auth"),
            every: self.get("serverless.orphans.every"),
            older_than: self.get("serverless.orphans.older_than"),
        };
        if orphans.policy != OrphanPolicy::Off && orphans.one_auth.is_none() {
            let message = "needs serverless.orphans.one_auth beside it, a file with user:password".to_owned();
            self.refuse_whole("serverless.orphans.policy", message);
        }
        orphans
    }
}

//! The settings of serverless runtimes and of the OpenNebula behind them.

use std::path::PathBuf;

use workflows::serverless::{ResizeMode, ServerlessSettings, SrAuth};

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
    pub(crate) call_timeout: Period,
    pub(crate) connections: usize,
    pub(crate) body_limit_bytes: usize,
    pub(crate) version: String,
    pub(crate) shows_addresses: bool,
    /// In whose name the console acts.
    pub(crate) steward_one_auth: Option<PathBuf>,
    pub(crate) orphans: Orphans,
    /// How runtimes are made.
    pub(crate) made: ServerlessSettings,
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

impl FromNode for SrAuth {
    fn read(node: &Node, _: Kind) -> Result<SrAuth, Box<Node>> {
        values::text(node, |text| match text {
            "password" => Some(SrAuth::Password),
            "token" => Some(SrAuth::Token),
            "none" => Some(SrAuth::None),
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
            call_timeout: self.get("serverless.call_timeout"),
            connections: self.get("serverless.connections"),
            body_limit_bytes: self.get("serverless.body_limit_bytes"),
            version: self.get("serverless.version"),
            shows_addresses: self.get::<String>("serverless.show_config") == "full",
            steward_one_auth: self.get("serverless.steward_one_auth"),
            orphans: self.orphans(),
            made: self.made(),
        }
    }

    fn made(&mut self) -> ServerlessSettings {
        ServerlessSettings {
            timeout: self.get::<Period>("serverless.timeout").get(),
            cpu_default: self.get("serverless.capacity.cpu.default"),
            cpu_mult: self.get("serverless.capacity.cpu.mult"),
            memory_default: self.get("serverless.capacity.memory.default"),
            memory_mult: self.get("serverless.capacity.memory.mult"),
            resize_mode: self.get("serverless.capacity.memory.resize_mode"),
            disk_default: self.get("serverless.capacity.disk.default"),
            mapping: self.get("serverless.mapping"),
            mapping_falls_back: self.get("serverless.mapping_falls_back"),
            sr_auth: self.get("serverless.sr_auth"),
            token_valid: self.get::<Period>("serverless.token_valid").get(),
            scheduling_verbatim: self.get::<String>("serverless.scheduling") == "verbatim",
            poll: self.get::<Period>("serverless.poll").get(),
            settle: self.get::<Period>("serverless.settle").get(),
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

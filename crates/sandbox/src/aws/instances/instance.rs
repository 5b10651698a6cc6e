//! One instance, and its life from pending to forgotten.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::aws::catalog::InstanceType;
use crate::aws::delay_times::AwsDelays;
use crate::aws::details::Details;
use crate::aws::faults::FaultView;
use crate::aws::images::AwsImage;
use crate::aws::world::{AwsCall, RegionSite};
use crate::aws::xml::moment;
use crate::delays::later;
use crate::loopback::Network;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Running,
    ShuttingDown,
    Terminated,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Running => "running",
            State::ShuttingDown => "shutting-down",
            State::Terminated => "terminated",
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            State::Pending => 0,
            State::Running => 16,
            State::ShuttingDown => 32,
            State::Terminated => 48,
        }
    }
}

/// What happens to an instance by itself.
#[derive(Debug, Clone)]
pub(super) enum Next {
    Run,
    Die(FaultView),
    GetAddress,
    End,
    BeForgotten,
}

pub(super) enum Lived {
    On,
    /// It ended without having been asked to.
    Ended,
    Forgotten,
}

#[derive(Debug)]
pub(super) struct Ec2Instance {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) site: RegionSite,
    pub(super) reservation: String,
    /// Its place among those that were made together.
    pub(super) index: usize,
    pub(super) image: AwsImage,
    pub(super) kind: &'static InstanceType,
    pub(super) details: Details,
    pub(super) client_token: Option<String>,
    pub(super) launched_at: OffsetDateTime,
    pub(super) delay_times: AwsDelays,
    pub(super) never_gets_address: bool,
    pub(super) state: State,
    pub(super) reason: Option<FaultView>,
    pub(super) address: Option<Ipv4Addr>,
    pub(super) next: Option<(OffsetDateTime, Next)>,
}

impl Ec2Instance {
    /// Lets the next thing happen, whose time has come.
    pub(super) fn live_on(&mut self, at: OffsetDateTime, network: &Network) -> Lived {
        match self.next.take().map(|(_, next)| next) {
            None => Lived::On,
            Some(Next::Run) => {
                self.state = State::Running;
                if !self.never_gets_address {
                    self.schedule(later(at, self.delay_times.address_ms), Next::GetAddress);
                }
                Lived::On
            }
            Some(Next::GetAddress) => {
                self.address = Some(network.lease().unwrap_or_else(|| self.silent_address()));
                Lived::On
            }
            Some(Next::Die(why)) => {
                self.reason = Some(why);
                self.end(at, network);
                Lived::Ended
            }
            Some(Next::End) => {
                self.end(at, network);
                Lived::On
            }
            Some(Next::BeForgotten) => Lived::Forgotten,
        }
    }

    fn end(&mut self, at: OffsetDateTime, network: &Network) {
        self.state = State::Terminated;
        if let Some(address) = self.address.take() {
            network.release(address);
        }
        self.schedule(later(at, self.delay_times.forget_ms), Next::BeForgotten);
    }

    pub(super) fn schedule(&mut self, at: OffsetDateTime, next: Next) {
        self.next = Some((at, next));
    }

    pub(super) fn next_at(&self) -> Option<OffsetDateTime> {
        self.next.as_ref().map(|(at, _)| *at)
    }

    pub(super) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// It takes room, and a client pays for it.
    pub(super) fn is_living(&self) -> bool {
        matches!(self.state, State::Pending | State::Running)
    }

    pub(super) fn is_visible(&self, call: &AwsCall) -> bool {
        self.site == call.site && later(self.launched_at, self.delay_times.visible_ms) <= call.now
    }

    pub(super) fn public_address(&self) -> Option<Ipv4Addr> {
        self.address
    }

    /// For those that come when all of loopback is taken. Nothing answers there.
    fn silent_address(&self) -> Ipv4Addr {
        let [.., b, c, d] = self.number.to_be_bytes();
        Ipv4Addr::new(198, 18 + b % 2, c, d)
    }

    pub(super) fn private_address(&self) -> Ipv4Addr {
        let [.., c, d] = self.number.to_be_bytes();
        Ipv4Addr::new(172, 31, c, d)
    }

    pub(super) fn attribute(&self, filter: &str) -> Option<String> {
        match filter {
            "client-token" => self.client_token.clone(),
            "image-id" => Some(self.image.ami.clone()),
            "instance-id" => Some(self.id.clone()),
            "instance-state-name" => Some(self.state.name().to_owned()),
            "instance-type" => Some(self.kind.name.to_owned()),
            "key-name" => self.details.key_name.clone(),
            "reservation-id" => Some(self.reservation.clone()),
            _ => None,
        }
    }

    pub(super) fn show(&self) -> Value {
        json!({
            "id": self.id,
            "account": self.site.account,
            "region": self.site.region,
            "reservation": self.reservation,
            "state": self.state.name(),
            "reason": self.reason.as_ref().map(|why| why.code.as_str()),
            "image": self.image.ami,
            "instance_type": self.kind.name,
            "key_name": self.details.key_name,
            "client_token": self.client_token,
            "subnet": self.details.subnet,
            "security_groups": self.details.groups,
            "http_tokens": self.details.http_tokens,
            "tags": self.details.tags,
            "volume_tags": self.details.volume_tags,
            "user_data": self.details.user_data,
            "public_address": self.address,
            "launched_at": moment(self.launched_at),
        })
    }
}

//! The client of declared steps: one for all of them, with connections that are kept.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use engine::Timestamp;
use engine::secret::SecretString;
use http_client::{DriverError, ExternalSystem, NoAnswer, client_builder, explain, shorten};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, StatusCode, Url};

use crate::http::error_body;
use crate::post::{ANSWER_BYTES_MAX, Post};
use crate::step_answer::StepAnswer;

const SERVICE: ExternalSystem = ExternalSystem("the service");
/// How long connecting may take; a call has a limit of its own.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// No call is longer.
const CALL_LIMIT: Duration = Duration::from_mins(5);

/// Which places calls may go to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// Also without TLS to other machines.
    pub allow_http: bool,
    /// Also link-local addresses and those of the metadata services of clouds.
    pub allow_link_local: bool,
}

impl Reach {
    /// Everywhere: for declarations that were checked before.
    pub const ALL: Reach = Reach { allow_http: true, allow_link_local: true };

    /// Whether calls may go there, as far as the text of a URL tells.
    pub fn check(self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("a url begins with https, not with {}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a url has no user and no password; calls are signed with the secret".into());
        }
        if url.scheme() == "http" && !http_client::is_loopback(url) && !self.allow_http {
            return Err(
                "a url without TLS leads to this machine only; use https, or set workflows.allow_http".into(),
            );
        }
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) => self.check_address(address),
            Err(_) if METADATA_NAMES.contains(&host) && !self.allow_link_local => Err(forbidden(host)),
            Err(_) => Ok(()),
        }
    }

    fn check_address(self, address: IpAddr) -> Result<(), String> {
        if self.allow_link_local || !is_link_local(address) {
            Ok(())
        } else {
            Err(forbidden(&address.to_string()))
        }
    }
}

fn forbidden(place: &str) -> String {
    format!(
        "{place} is link-local or a metadata service; name another host, or set workflows.allow_link_local"
    )
}

const METADATA_NAMES: [&str; 4] =
    ["metadata.google.internal", "metadata", "metadata.azure.internal", "instance-data"];
/// Addresses of metadata services outside the link-local ranges: Azure, Alibaba and Oracle.
const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// Where no service of a team is: link-local, metadata, unspecified, multicast and broadcast addresses, in every spelling.
fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_link_local()
                || v4.octets()[0] == 0
                || v4.is_multicast()
                || v4.is_broadcast()
                || METADATA_V4.contains(&v4)
        }
        IpAddr::V6(v6) => {
            let inside = v6.to_ipv4_mapped().or_else(|| embedded_v4(v6));
            inside.is_some_and(|v4| is_link_local(v4.into()))
                || v6.is_unicast_link_local()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6 == METADATA_V6
        }
    }
}

/// The IPv4 address inside one of NAT64, of 6to4, or of the form `::a.b.c.d`.
fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = v6.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(v4(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(v4(high, low)),
        _ => None,
    }
}

/// Looks up names as the system does.
struct SystemNames;

impl Resolve for SystemNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

/// Looks up names at each new connection, and leaves out addresses that calls may not go to.
struct Resolver<R> {
    reach: Reach,
    names: R,
}

impl<R: Resolve> Resolve for Resolver<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let (reach, found) = (self.reach, self.names.resolve(name));
        Box::pin(async move {
            let found = found.await?;
            let mut wrong = None;
            let good: Vec<SocketAddr> = found
                .filter(|address| match reach.check_address(address.ip()) {
                    Ok(()) => true,
                    Err(why) => {
                        wrong = Some(why);
                        false
                    }
                })
                .collect();
            match wrong {
                Some(why) if good.is_empty() => Err(why.into()),
                _ => Ok(Box::new(good.into_iter()) as Addrs),
            }
        })
    }
}

/// Calls services that carry out steps.
#[derive(Clone)]
pub struct StepClient {
    client: Client,
    reach: Reach,
}

impl fmt::Debug for StepClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepClient").field("reach", &self.reach).finish_non_exhaustive()
    }
}

/// Why there is no answer that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoStepAnswer {
    /// Nothing was sent.
    NotSent(String),
    /// It was sent, and it is unknown what became of it.
    Lost(String),
    /// The service is busy and did nothing.
    Busy { cause: String, after: Option<Duration> },
    /// The service is broken: an error of its own, or an answer that cannot be read.
    Broken { cause: String, after: Option<Duration> },
    /// The service will not do it.
    Refused(String),
}

/// One call that is ready to be sent.
pub struct Outgoing<'a> {
    pub url: &'a Url,
    pub secret: &'a SecretString,
    pub idempotency_key: &'a str,
    pub traceparent: String,
    pub timeout: Duration,
    pub body: Vec<u8>,
}

impl StepClient {
    pub fn new(reach: Reach) -> Result<StepClient, DriverError> {
        StepClient::with_names(reach, SystemNames)
    }

    /// With another way to look up names. Where they lead is checked all the same.
    pub fn with_names(reach: Reach, names: impl Resolve + 'static) -> Result<StepClient, DriverError> {
        let builder = client_builder(CALL_LIMIT).connect_timeout(CONNECT_LIMIT).timeout(CALL_LIMIT);
        let client = SERVICE.client(builder.dns_resolver(Arc::new(Resolver { reach, names })))?;
        Ok(StepClient { client, reach })
    }

    pub fn reach(&self) -> Reach {
        self.reach
    }

    pub async fn call(&self, call: Outgoing<'_>, now: Timestamp) -> Result<StepAnswer, NoStepAnswer> {
        let refused = |error: DriverError| NoStepAnswer::Refused(error.to_string());
        self.reach.check(call.url).map_err(NoStepAnswer::Refused)?;
        let post = Post {
            system: SERVICE,
            url: call.url,
            secret: call.secret,
            idempotency_key: SERVICE.header("idempotency key", call.idempotency_key).map_err(refused)?,
            traceparent: Some(call.traceparent),
            timeout: Some(call.timeout),
            body: call.body,
        };
        let answer = post.send(&self.client, now, ANSWER_BYTES_MAX).await.map_err(lost)?;
        if answer.status != StatusCode::OK {
            return Err(other_status(&answer));
        }
        StepAnswer::read(&answer.body).map_err(|why| NoStepAnswer::Broken {
            cause: format!("the answer of the service is not right: {why}"),
            after: None,
        })
    }
}

fn lost(error: NoAnswer) -> NoStepAnswer {
    match error {
        NoAnswer::Lost(error) if error.is_connect() || error.is_builder() => {
            NoStepAnswer::NotSent(format!("the service cannot be reached: {}", explain(error)))
        }
        NoAnswer::Lost(error) => {
            NoStepAnswer::Lost(format!("the service did not answer: {}", explain(error)))
        }
        NoAnswer::TooLong { bytes_max } => NoStepAnswer::Broken {
            cause: format!("the answer of the service is longer than {bytes_max} bytes"),
            after: None,
        },
    }
}

fn other_status(answer: &http_client::Answer) -> NoStepAnswer {
    let status = answer.status;
    let words = match error_body(&answer.body) {
        Some(reason) => format!("the service answered {status}: {}", shorten(&reason)),
        None => format!("the service answered {status}"),
    };
    let after = answer.retry_after();
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::TOO_EARLY | StatusCode::SERVICE_UNAVAILABLE => {
            NoStepAnswer::Busy { cause: words, after }
        }
        StatusCode::REQUEST_TIMEOUT => NoStepAnswer::Broken { cause: words, after },
        status if status.is_client_error() => NoStepAnswer::Refused(words),
        // A redirect is not followed, so it is an answer like any other that is not right.
        _ => NoStepAnswer::Broken { cause: words, after },
    }
}

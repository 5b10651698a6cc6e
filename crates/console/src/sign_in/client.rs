//! The browser and the address of a session, for the list of sessions.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;

use crate::shared::ConsoleState;

pub(crate) struct Client {
    pub(crate) address: Option<IpAddr>,
    /// Such as `Firefox on Linux`.
    pub(crate) device: String,
}

/// The first that is named counts: browsers name those that they are compatible with, too.
const BROWSERS: [(&str, &str); 6] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
];
const SYSTEMS: [(&str, &str); 6] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

impl FromRequestParts<ConsoleState> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shared: &ConsoleState) -> Result<Client, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
        let agent = parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        Ok(Client {
            address: peer.map(|peer| shared.settings.client_address(peer, &parts.headers)),
            device: device(agent),
        })
    }
}

/// Words of ours alone: what a browser says of itself is not kept.
fn device(agent: &str) -> String {
    let find = |all: &[(&str, &'static str)]| {
        all.iter().find(|(part, _)| agent.contains(part)).map(|(_, name)| *name)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "unknown browser".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_named_as_its_owner_knows_it() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36";
        assert_eq!(device(chrome), "Chrome on Linux");
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Safari/604.1";
        assert_eq!(device(phone), "Safari on iPhone");
        assert_eq!(device("<b>"), "unknown browser");
    }
}

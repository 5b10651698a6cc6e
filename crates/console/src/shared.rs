//! What all pages of one process share.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName};
use engine::PeopleStore;
use server::Networks;
use server::{CodeFlow, Inside};

use crate::base::Base;
use crate::history::History;
use crate::pages::Pages;
use crate::router::MENU;
use crate::shell::Section;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Everything the console needs to open.
#[derive(Clone)]
pub struct Console {
    /// The APIs, called in the same process.
    pub inside: Inside,
    pub people: Arc<dyn PeopleStore>,
    /// Where people may sign in who have no password here.
    pub code_flow: Option<Arc<CodeFlow>>,
    pub settings: ConsoleSettings,
    /// The pages of the products.
    pub pages: Pages,
}

/// How the console behaves; every value has a default that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleSettings {
    /// Where browsers find it, such as `https://engine.example.com`, or with a path that a proxy strips. With https,
    /// cookies go over https alone.
    pub public_url: Option<String>,
    /// Users sign in again after this time without activity.
    pub idle: Duration,
    /// And after this time in any case.
    pub session: Duration,
    /// Proxies whose `X-Forwarded-For` names the address of a browser.
    pub proxies: Networks,
    /// The external systems are our own, on this machine.
    pub is_sandbox: bool,
    /// What the program is called.
    pub program: &'static str,
}

impl Default for ConsoleSettings {
    fn default() -> Self {
        ConsoleSettings {
            public_url: None,
            idle: Duration::from_mins(60),
            session: Duration::from_hours(12),
            proxies: Networks::default(),
            is_sandbox: false,
            program: "provision-engine",
        }
    }
}

impl ConsoleSettings {
    /// Where a browser is: the peer, or whom a proxy names last.
    pub(crate) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut lines = headers.get_all(X_FORWARDED_FOR).iter().filter(|_| self.proxies.has(peer));
        let last =
            lines.next_back().and_then(|line| line.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
        last.unwrap_or(peer)
    }
}

/// What all pages of one process share.
pub struct ConsoleShared {
    pub(crate) inside: Inside,
    pub(crate) people: Arc<dyn PeopleStore>,
    pub(crate) code_flow: Option<Arc<CodeFlow>>,
    pub(crate) settings: ConsoleSettings,
    /// Where browsers see it.
    pub(crate) base: Base,
    pub(crate) history: History,
    pub(crate) menu: Vec<&'static Section>,
    pub(crate) pages: Pages,
}

/// How handlers get it.
pub type ConsoleState = Arc<ConsoleShared>;

impl ConsoleShared {
    pub(crate) fn new(console: Console) -> ConsoleState {
        let Console { inside, people, code_flow, settings, pages } = console;
        let history = History::start(&inside);
        let base = Base::of(settings.public_url.as_deref());
        let mut menu = [&MENU[..], &pages.sections].concat();
        menu.sort_by_key(|section| section.position);
        Arc::new(ConsoleShared { inside, people, code_flow, settings, base, history, menu, pages })
    }

    /// Where a user begins who may not see the home page.
    pub(crate) fn start_page(&self) -> &'static str {
        self.pages.start.unwrap_or("/console/me")
    }

    /// Whether browsers reach us over https, as far as we were told.
    pub(crate) fn is_https(&self) -> bool {
        self.settings.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }
}

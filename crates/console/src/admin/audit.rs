//! `GET /console/admin/audit`

use api::types::{AuditEntry, AuditLog};
use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use super::Tab;
use crate::pages::Pages;
use crate::parts::{Chip, Icon, NEWEST_FIRST, Pager, Tone, When};
use crate::path;
use crate::shared::ConsoleState;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

/// Entries of one page.
const PAGE: usize = 200;
/// Entries that one page of a search looks at.
const SEARCHED: usize = 1000;

/// The filters, as they are in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    who: String,
    action: String,
    text: String,
    /// Where the page begins.
    cursor: String,
}

#[derive(Template)]
#[template(path = "admin/audit.html")]
struct Audit {
    shared: ConsoleState,
    here: Tab,
    filters: Filters,
    people: Vec<String>,
    actions: Vec<String>,
    entries: Vec<AuditEntry>,
    searched: usize,
    pager: Pager,
    /// There are entries on other pages.
    is_part: bool,
}

impl Filters {
    fn fits(&self, entry: &AuditEntry) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.text.to_lowercase());
        (self.who.is_empty() || entry.who == self.who)
            && (self.action.is_empty() || entry.action == self.action)
            && [&entry.target, &entry.result, &entry.request].into_iter().any(|text| has(text))
    }

    fn is_none(&self) -> bool {
        self.who.is_empty() && self.action.is_empty() && self.text.is_empty()
    }

    /// The page that begins at a cursor.
    fn at(&self, cursor: &str) -> String {
        let kept =
            [("who", &*self.who), ("action", &*self.action), ("text", &*self.text), ("cursor", cursor)];
        format!("/console/admin/audit{}", path::query(kept))
    }
}

pub(super) async fn list(
    State(shared): State<ConsoleState>,
    signed_in: SignedIn,
    Query(filters): Query<Filters>,
) -> Response {
    let limit = if filters.is_none() { PAGE } else { SEARCHED };
    let query = path::query([("limit", &*limit.to_string()), ("cursor", &*filters.cursor)]);
    match signed_in.api.get::<AuditLog>(&format!("/audit{query}")).await {
        Ok(log) => {
            let people = names(&log, |entry| &entry.who);
            let actions = names(&log, |entry| &entry.action);
            let searched = log.items.len();
            let older = log.next.as_deref().map(|next| filters.at(next));
            let newest = (!filters.cursor.is_empty()).then(|| filters.at(""));
            let is_part = older.is_some() || newest.is_some();
            let entries = log.items.into_iter().filter(|entry| filters.fits(entry)).collect();
            Shell::new(&signed_in, &crate::admin::SECTION, "Audit log").page(&Audit {
                shared: ConsoleState::clone(&shared),
                here: Tab::Audit,
                filters,
                people,
                actions,
                entries,
                searched,
                pager: Pager::new(NEWEST_FIRST, newest, older),
                is_part,
            })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// How a request ended, in words. The log has the status and sometimes what is behind it.
fn result(text: &str) -> Chip {
    let (status, more) = text.split_once(' ').unwrap_or((text, ""));
    let (tone, icon, word) = match status.parse::<u16>().unwrap_or_default() {
        200..400 => (Tone::Good, Icon::Check, "succeeded"),
        401 => (Tone::Bad, Icon::Hand, "not authenticated"),
        403 => (Tone::Bad, Icon::Hand, "not permitted"),
        404 | 410 => (Tone::Waits, Icon::Slash, "not found"),
        409 | 412 => (Tone::Waits, Icon::Alert, "conflict"),
        429 => (Tone::Waits, Icon::Alert, "too many requests"),
        400..500 => (Tone::Waits, Icon::Alert, "invalid request"),
        500.. => (Tone::Bad, Icon::Cross, "server error"),
        _ => return Chip::new(Tone::Quiet, Icon::Clock, text),
    };
    Chip::new(tone, icon, if more.is_empty() { word.to_owned() } else { format!("{word}: {more}") })
}

/// The page of what was changed, where its name tells.
fn link_of(pages: &Pages, entry: &AuditEntry) -> Option<String> {
    match entry.action.split_once('.')? {
        ("operation", _) => Uuid::try_parse(&entry.target).ok().map(|id| format!("/console/operations/{id}")),
        (kind, _) => pages.page_of_target(kind, &entry.target),
    }
}

/// Each once, in order.
fn names(log: &AuditLog, of: fn(&AuditEntry) -> &String) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = log.items.iter().map(of).collect();
    all.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_words() {
        let words = ["303", "401 wrong", "403", "409", "503", "odd"].map(|text| result(text).word);
        let expect =
            ["succeeded", "not authenticated: wrong", "not permitted", "conflict", "server error", "odd"];
        assert_eq!(words, expect);
    }

    #[test]
    fn what_was_changed_leads_to_its_page() {
        let mut pages = Pages::default();
        pages.audited("light", |target| Some(format!("/console/lights/{target}")));
        let id = "01a1e3ec-17ab-7170-9e88-9f6a32315443";
        for (action, target, expect) in [
            ("operation.cancel", id, Some(format!("/console/operations/{id}"))),
            ("operation.submit", "/operations", None),
            ("light.switch", "lamp", Some("/console/lights/lamp".into())),
            ("token.create", "ci", None),
        ] {
            let entry = AuditEntry {
                at: api::types::WireTime::from_unix_micros(0),
                who: String::new(),
                action: action.to_owned(),
                target: target.to_owned(),
                result: String::new(),
                request: String::new(),
            };
            assert_eq!(link_of(&pages, &entry), expect, "{action} {target}");
        }
    }

    #[test]
    fn a_filter_looks_at_who_at_what_and_at_every_text() {
        let entry = AuditEntry {
            at: api::types::WireTime::from_unix_micros(0),
            who: "ada".into(),
            action: "token.create".into(),
            target: "CI".into(),
            result: "201".into(),
            request: "r1".into(),
        };
        let filters = |who: &str, action: &str, text: &str| Filters {
            who: who.into(),
            action: action.into(),
            text: text.into(),
            cursor: String::new(),
        };
        for good in [filters("", "", ""), filters("ada", "", "ci"), filters("", "token.create", "201")] {
            assert!(good.fits(&entry), "{good:?}");
        }
        for bad in [filters("ad", "", ""), filters("", "token", ""), filters("", "", "ada")] {
            assert!(!bad.fits(&entry), "{bad:?}");
        }
    }
}

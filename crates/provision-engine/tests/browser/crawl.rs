//! Follows links, so that no page is forgotten: whatever can be reached is looked at once.

use std::collections::BTreeSet;

use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::until_or;

/// There are fewer pages than this; more means that the crawl goes round in circles.
const PAGES_MAX: usize = 60;
/// After these words comes the name of one of many, and one of many is enough.
const NOUNS: [&str; 6] = ["operations", "launches", "workflows", "runtimes", "serverless", "new"];
/// And these are no names.
const PAGES: [&str; 1] = ["new"];
const LINKS: &str = "return [...document.querySelectorAll('a[href]:not([download])')].map(one => new URL(one.href))
    .filter(url => url.origin === location.origin && url.pathname.startsWith('/console')).map(url => url.pathname)";

/// Looks at these pages, and at everything below these sections that can be reached from there. Answers the kinds of
/// pages that it found.
#[track_caller]
pub(crate) fn crawl(page_driver: &PageDriver, sections: &[&str], starts: &[String]) -> BTreeSet<String> {
    let is_within = |path: &str| {
        sections.iter().any(|section| {
            path.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut seen = BTreeSet::new();
    let mut open: Vec<String> = starts.iter().rev().cloned().collect();
    while let Some(path) = open.pop() {
        if !seen.insert(kind(&path)) {
            continue;
        }
        assert!(seen.len() <= PAGES_MAX, "{seen:?}");
        page_driver.go(&path);
        // A draft has an address of its own.
        until_or(
            || page_driver.path().starts_with(&path).then_some(()),
            || format!("at {}, not at {path}", page_driver.path()),
        );
        assert!(!page_driver.text("h1").is_empty(), "{path} has no heading");
        look(page_driver, &name(&kind(&path)));
        let links: Vec<String> = serde_json::from_value(page_driver.script(LINKS, &[])).unwrap();
        open.extend(links.into_iter().rev().filter(|link| is_within(link)));
    }
    seen
}

/// The address without the names in it.
fn kind(path: &str) -> String {
    let mut before = "";
    let parts = path.split('/').map(|part| {
        let is_name = NOUNS.contains(&before) && !PAGES.contains(&part);
        before = part;
        if is_name { "one" } else { part }
    });
    parts.collect::<Vec<_>>().join("/")
}

fn name(kind: &str) -> String {
    let name = kind.trim_start_matches("/console").trim_matches('/').replace(['/', '?', '='], "-");
    if name.is_empty() { "home".to_owned() } else { name }
}

#[test]
fn pages_of_one_kind_are_one() {
    assert_eq!(kind("/console/operations/0-1/ask/cancel"), "/console/operations/one/ask/cancel");
    assert_eq!(kind("/console/runtimes/new/azure"), "/console/runtimes/new/one");
    assert_eq!(kind("/console/admin/tokens"), "/console/admin/tokens");
    assert_eq!((name("/console"), name("/console/runtimes/one")), ("home".into(), "runtimes-one".into()));
}

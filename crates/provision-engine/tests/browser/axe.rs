//! Asks axe, which others wrote, whether everybody can use a page.

use std::fmt::Write;
use std::sync::LazyLock;

use crate::page_driver::PageDriver;

static AXE: LazyLock<String> = LazyLock::new(|| {
    let path = std::env::var("PROVISION_ENGINE_AXE").unwrap_or_default();
    std::fs::read_to_string(path).unwrap_or_else(|error| {
        panic!("PROVISION_ENGINE_AXE must name axe.min.js: ./test fetches it and sets the variable ({error})")
    })
});
/// What is wrong, as rows of rule, what is asked for, element, and what to do.
const RUN: &str =
    "return axe.run(document, { resultTypes: ['violations'] }).then(found => found.violations.flatMap(
    rule => rule.nodes.map(node => [rule.id, rule.help, node.html, node.failureSummary])))";

/// What is to be said about the page as it is now; nothing, if everybody can use it.
#[track_caller]
pub(crate) fn faults(page_driver: &PageDriver) -> String {
    if page_driver.script("return typeof window.axe === 'undefined'", &[]) == true {
        page_driver.script(&AXE, &[]);
    }
    let found = page_driver.script(RUN, &[]);
    testing::count("axe", 1);
    let mut told = String::new();
    for row in found.as_array().unwrap() {
        let part = |at: usize| row[at].as_str().unwrap_or_default();
        let _ =
            write!(told, "\n{}: {}\n  {}\n  {}\n", part(0), part(1), part(2), part(3).replace('\n', "\n  "));
    }
    told
}

//! The list of operations as a tool: searched, sorted, and several operations asked at once.

use serde_json::{Value, json};

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures;
use crate::stage::until;

/// The ids of the rows, from top to bottom.
fn rows(page_driver: &PageDriver) -> Vec<String> {
    let rows = "return [...document.querySelectorAll('#rows tbody tr')].map(row => row.id.slice(1))";
    serde_json::from_value(page_driver.script(rows, &[])).unwrap()
}

#[test]
fn a_search_finds_an_operation_by_its_id_and_by_its_last_error() {
    let fixture = BrowserFixture::open();
    let good = fixture.submit(&json!({ "name": "Ada" }));
    let bad = fixture.submit(&json!({ "name": "Bob", "fail": true }));
    fixture.until_phase(&good, "succeeded");
    fixture.until_phase(&bad, "undone");
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);

    // From any page, with one key.
    page_driver.until_live();
    page_driver.press("/");
    assert!(page_driver.focused().starts_with("input"), "{}", page_driver.focused());
    page_driver.fill("#q", "asked for a failure");
    page_driver.press("\u{E007}");
    page_driver.until_text("#rows", "1 found");
    assert_eq!(rows(&page_driver), [bad.as_str()]);
    // The end of an id, as rows show it, and its beginning.
    for part in [&good[28..], &good[..18]] {
        page_driver.go(&format!("/console/operations?q={part}"));
        assert!(rows(&page_driver).contains(&good), "{part}: {:?}", rows(&page_driver));
        assert_eq!(page_driver.value("#q"), part);
    }
    page_driver.go("/console/operations?q=nothing-like-this");
    page_driver.until_text("#rows", "No operation matches these filters.");
    pictures::look(&page_driver, "operations-search-none");
    page_driver.expect_no_error();
}

#[test]
fn the_head_of_a_column_sorts_and_the_address_keeps_it() {
    let fixture = BrowserFixture::open();
    let ids: Vec<String> = (0..3).map(|_| fixture.submit(&json!({ "name": "Ada" }))).collect();
    for id in &ids {
        fixture.until_phase(id, "succeeded");
    }
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/operations");
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(rows(&page_driver), newest_first);
    page_driver.click_on("th a", "Created");
    page_driver.until_path("/console/operations?sort=created");
    assert_eq!(rows(&page_driver), ids);
    page_driver.click_on("th a", "Created");
    page_driver.until_path("/console/operations");
    assert_eq!(rows(&page_driver), newest_first);
    page_driver.click_on("th a", "Duration");
    page_driver.until_path("/console/operations?sort=-duration");
    assert_eq!(page_driver.text("th[aria-sort=descending]").trim_end_matches([' ', '\u{25bc}']), "Duration");
    page_driver.expect_no_error();
}

#[test]
fn several_operations_are_cancelled_at_once_after_a_question() {
    let fixture = BrowserFixture::open();
    let ids: Vec<String> = (0..3).map(|_| fixture.submit_waiting()).collect();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/operations");
    page_driver.until_live();
    page_driver.click_on(".bulk-bar button", "Cancel");
    page_driver.until_text(".flash.bad", "Select one or more operations first.");
    for id in &ids[..2] {
        page_driver.click(&format!("#o{id} input[type=checkbox]"));
    }
    // What else happens does not untick a box.
    let other = fixture.submit(&json!({ "name": "Ada" }));
    page_driver.until_text(&format!("#o{other}"), "succeeded");
    page_driver.click_on(".bulk-bar button", "Cancel");
    page_driver.until_text("dialog", "Cancel 2 operations?");
    page_driver.click_on("dialog button", "Cancel");
    page_driver.until_text(".flash.good", "Cancel requested for 2 operations.");
    for id in &ids[..2] {
        fixture.until_phase(id, "cancelled");
    }
    assert_eq!(fixture.phase(&ids[2]), "waiting");
    page_driver.expect_no_error();
}

#[test]
fn a_phone_shows_cards_and_one_line_of_head() {
    let fixture = BrowserFixture::open();
    let id = fixture.submit_waiting();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    pictures::phone(&page_driver);
    page_driver.go("/console/operations");
    let heights: Value = page_driver.script(
        "return [document.querySelector('header.top').offsetHeight, innerWidth,
            document.querySelector('#rows tbody tr').offsetWidth]",
        &[],
    );
    assert!(heights[0].as_u64().unwrap() < 60, "{heights}");
    assert!(heights[2].as_u64().unwrap() <= heights[1].as_u64().unwrap(), "{heights}");
    let label =
        "return getComputedStyle(document.querySelector('#rows tbody td:nth-child(3)'), '::before').content";
    assert_eq!(page_driver.script(label, &[]), "\"Workflow\"");
    page_driver.until_text(&format!("#o{id}"), "waiting");
    page_driver.click(&format!("#o{id} input[type=checkbox]"));
    page_driver.click_on(".bulk-bar button", "Pause");
    page_driver.click_on("dialog button", "Pause");
    fixture.until_phase(&id, "paused");
    assert!(pictures::sticks_out(&page_driver).is_empty());
    // The filters are folded, and no longer on a wide window, where nothing opens them.
    page_driver.go("/console/launches");
    let is_open = || page_driver.script("return document.querySelector('details[data-fold]').open", &[]);
    assert_eq!(is_open(), false);
    page_driver.browser().wire.chromium("Emulation.clearDeviceMetricsOverride", &json!({}));
    until("open filters", || (is_open() == true).then_some(()));
    page_driver.expect_no_error();
}

//! Without a mouse.

use reqwest::Method;

use crate::fixture::BrowserFixture;
use crate::keys::{ENTER, ESCAPE, SPACE, TAB};
use crate::page_driver::PageDriver;
use crate::stage::until;

#[test]
fn the_keyboard_is_enough_from_signing_in_to_cancelling() {
    let fixture = BrowserFixture::open();
    let id = fixture.submit_waiting();
    let (name, password) = fixture.first_user();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.go("/console");
    assert!(page_driver.focused().starts_with("input User"), "{}", page_driver.focused());
    page_driver.press(&format!("{name}{TAB}{password}{ENTER}"));
    page_driver.until_path("/console");

    // The first stop leads over the menu.
    page_driver.press(TAB);
    assert_eq!(page_driver.focused(), "a Skip to the page");
    page_driver.press(ENTER);
    assert!(page_driver.focused().starts_with("main"), "{}", page_driver.focused());
    page_driver.press(TAB);
    assert!(page_driver.script("return document.activeElement.closest('main') !== null", &[]) == true);

    page_driver.go("/console");
    page_driver.tab_to("a Operations");
    page_driver.press(ENTER);
    page_driver.until_path("/console/operations");
    if page_driver.script("return document.querySelector('details.more-filters').open", &[]) != true {
        page_driver.tab_to("summary Filters");
        page_driver.press(ENTER);
    }
    page_driver.tab_to("input waiting");
    page_driver.press(SPACE);
    page_driver.tab_to("button Filter");
    page_driver.press(ENTER);
    until("the filter in the address", || page_driver.path().contains("phase=waiting").then_some(()));
    page_driver.until_text("#rows", "demo.hello");
    page_driver.tab_to("a Ada");
    page_driver.press(ENTER);
    page_driver.until_path(&format!("/console/operations/{id}"));
    page_driver.until_live();

    // Escape means no.
    page_driver.tab_to("button Cancel");
    page_driver.press(ENTER);
    page_driver.until_text("dialog", "Cancel this operation?");
    assert!(page_driver.focused().starts_with("button Back"), "{}", page_driver.focused());
    page_driver.press(ESCAPE);
    page_driver.until_gone("dialog");
    assert_eq!(fixture.phase(&id), "waiting");

    page_driver.tab_to("button Cancel");
    page_driver.press(ENTER);
    page_driver.until_text("dialog", "Cancel this operation?");
    page_driver.tab_to("input Reason");
    page_driver.press("by hand");
    page_driver.tab_to("button Cancel");
    page_driver.press(ENTER);
    fixture.until_phase(&id, "cancelled");
    page_driver.until_text("#now-why .chip", "cancelled");
    let journal = fixture.api(Method::GET, &format!("/operations/{id}/journal"), None).to_string();
    assert!(journal.contains("by hand"), "{journal}");
    page_driver.expect_no_error();
}

#[test]
fn going_back_with_the_keyboard_comes_by_the_same_stops() {
    let fixture = BrowserFixture::open();
    fixture.submit_waiting();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/operations");
    let mut stops = Vec::new();
    for _ in 0..12 {
        page_driver.press(TAB);
        stops.push(page_driver.focused());
    }
    assert!(stops.iter().all(|stop| !stop.is_empty()), "{stops:?}");
    for stop in stops.iter().rev().skip(1) {
        page_driver.press_shift_tab();
        assert_eq!(page_driver.focused(), *stop);
    }
}

//! Without a keyboard, as far as that goes.

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::look;

#[test]
fn the_mouse_is_enough_from_the_list_to_cancelling() {
    let fixture = BrowserFixture::open();
    let (id, other) = (fixture.submit_waiting(), fixture.submit_waiting());
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.click_on("nav.menu a", "Operations");
    page_driver.until_path("/console/operations");
    page_driver.click_on("nav.quick a", "Failed");
    page_driver.until_text("#rows", "No operation matches these filters.");
    page_driver.click_on("nav.quick a", "Unfinished");
    page_driver.until_text(&format!("#o{id}"), &id[28..]);
    page_driver.click(&format!("#rows a[href$='{id}']"));
    page_driver.until_path(&format!("/console/operations/{id}"));
    page_driver.until_live();

    page_driver.click_on("#now-why button", "Cancel");
    page_driver.until_text("dialog", "Cancel this operation?");
    look(&page_driver, "dialog");
    page_driver.click_on("dialog button", "Back");
    page_driver.until_gone("dialog");
    assert_eq!(fixture.phase(&id), "waiting");

    page_driver.click_on("#now-why button", "Cancel");
    page_driver.click_on("dialog button", "Cancel");
    fixture.until_phase(&id, "cancelled");
    page_driver.until_text("#now-why .chip", "cancelled");
    assert_eq!(fixture.phase(&other), "waiting", "no signal was sent to it");
    page_driver.expect_no_error();
}

#[test]
fn an_operation_is_paused_and_goes_on() {
    let fixture = BrowserFixture::open();
    let id = fixture.submit_waiting();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go(&format!("/console/operations/{id}"));
    for (verb, phase) in [("Pause", "paused"), ("Resume", "waiting")] {
        page_driver.click_on("#now-why button", verb);
        page_driver.click_on("dialog button", verb);
        fixture.until_phase(&id, phase);
        page_driver.until_text("#now-why .chip", phase);
    }
    page_driver.expect_no_error();
}

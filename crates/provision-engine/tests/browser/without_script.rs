//! Everything that matters works in a browser that runs no script.

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;

#[test]
fn operations_are_found_and_cancelled_without_a_script() {
    let fixture = BrowserFixture::open();
    let id = fixture.submit_waiting();
    let (name, password) = fixture.first_user();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.without_script();
    page_driver.go("/console/operations");
    page_driver.type_password(&name, &password);
    page_driver.until_path("/console/operations");
    page_driver.click_on("nav.quick a", "Unfinished");
    page_driver.click(&format!("#rows a[href$='{id}']"));
    page_driver.until_path(&format!("/console/operations/{id}"));
    page_driver.until_text("#now-why .chip", "waiting");

    // Without a dialog there is a page that asks.
    page_driver.click_on("#now-why button", "Cancel");
    page_driver.until_text("h1", "Cancel this operation?");
    page_driver.click_on("main a", "Back");
    page_driver.until_path(&format!("/console/operations/{id}"));
    assert_eq!(fixture.phase(&id), "waiting");
    page_driver.click_on("#now-why button", "Cancel");
    page_driver.fill("#reason", "no script");
    page_driver.click_on("main form button", "Cancel");
    fixture.until_phase(&id, "cancelled");
    page_driver.go(&format!("/console/operations/{id}"));
    page_driver.until_text("#now-why .chip", "cancelled");

    page_driver.click(".who summary");
    page_driver.click_on(".who-card button", "Sign out");
    page_driver.until_path("/console/sign-in");
}

//! The server dies, and the page goes on.

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::stage::until;

#[test]
fn a_page_outlives_its_server_and_shows_the_truth_again() {
    let mut fixture = BrowserFixture::open();
    let id = fixture.submit_waiting();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go(&format!("/console/operations/{id}"));
    page_driver.until_live();

    fixture.kill();
    page_driver.until_text("#offline", "The server does not answer.");
    fixture.serve_again();
    until("the page without the notice", || page_driver.text("#offline").is_empty().then_some(()));
    fixture.place.expect(0, &["operations", "cancel", &id, "--wait"]);
    page_driver.until_text("#now-why .chip", "cancelled");
    assert_eq!(fixture.phase(&id), "cancelled");
}

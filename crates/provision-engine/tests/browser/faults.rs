//! That a page with something wrong would be found.

use crate::axe;
use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::sticks_out;

#[test]
fn what_is_wrong_with_a_page_is_found() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.go("/console/sign-in");
    page_driver.expect_no_error();
    assert_eq!(axe::faults(&page_driver), "");
    assert_eq!(sticks_out(&page_driver), Vec::<String>::new());

    page_driver.script("document.querySelector('label[for=name]').remove()", &[]);
    let faults = axe::faults(&page_driver);
    assert!(faults.contains("label") && faults.contains("id=\"name\""), "{faults}");

    // The policy forbids it, and the browser says so.
    page_driver.script("document.querySelector('h1').setAttribute('style', 'color: red')", &[]);
    let error_texts = page_driver.error_texts();
    assert!(error_texts.iter().any(|line| line.contains("Content Security Policy")), "{error_texts:?}");
    page_driver.script("fetch('/console/assets/none/none.css').catch(() => {})", &[]);
    page_driver.until_error("404");

    // Headings wrap, so this one must not.
    page_driver.script("document.querySelector('h1').style.whiteSpace = 'nowrap'", &[]);
    page_driver.script("document.querySelector('h1').textContent = 'wide'.repeat(1000)", &[]);
    let wide = sticks_out(&page_driver);
    assert!(wide.iter().any(|one| one.starts_with("<h1")), "{wide:?}");
}

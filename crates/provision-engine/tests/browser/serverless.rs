//! A serverless runtime by hand, from the form to its end.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::DataDirectory;

/// Longer than any test, by the clock of the external system.
const LONG_MS: u64 = 3_600_000;

/// What the caller's own tool says about the runtime.
#[track_caller]
fn truth(fixture: &BrowserFixture, id: &str) -> Value {
    fixture.place.json(&["serverless", "show", id])
}

/// The runtime that the last operation was about, on its own page; answers its id.
#[track_caller]
fn open_runtime(page_driver: &PageDriver) -> String {
    page_driver.until_text("#now", "succeeded");
    page_driver.click_on("#now a", "Open the runtime");
    page_driver.until_text("h1", "mine");
    page_driver.path().rsplit('/').next().unwrap().to_owned()
}

#[test]
fn a_serverless_runtime_is_made_with_the_form_grows_and_is_deleted() {
    let place = DataDirectory::new()
        .env("PROVISION_ENGINE_ONE_USER", "oneadmin")
        .env("PROVISION_ENGINE_ONE_PASSWORD", "opennebula");
    let fixture = BrowserFixture::open_in(place);
    fixture.turn("opennebula/pace", &json!({ "boot_ms": LONG_MS }));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.click_on("nav.menu a", "Serverless");
    page_driver.click_on("main a", "Create a serverless runtime");
    page_driver.fill("#name", "mine");
    page_driver.fill("#flavour", "Function");
    page_driver.fill("#f_memory", "a lot");
    page_driver.fill("#f_disk", "2048");
    page_driver.click_on("main form.card button", "Create");
    page_driver.until_text("#f_memory-error", "It must be a whole number");
    page_driver.until_text(".flash.bad", "Please fix the highlighted fields.");
    let kept = ["#name", "#flavour", "#f_memory", "#f_disk"].map(|field| page_driver.value(field));
    assert_eq!(kept, ["mine", "Function", "a lot", "2048"], "what was typed is still there");
    page_driver.error_texts();
    look(&page_driver, "serverless-new-corrected");
    page_driver.fill("#f_memory", "256");
    page_driver.click_on("main form.card button", "Create");
    page_driver.until_text("h1", "Creating a serverless runtime");
    let id = open_runtime(&page_driver);
    page_driver.until_text("#now .chip", "pending");
    look(&page_driver, "serverless-pending");

    // The machine comes up, and the page is not loaded again.
    page_driver.script("window.isTheSame = true", &[]);
    fixture.turn("clock", &json!({ "advance_ms": 2 * LONG_MS }));
    page_driver.until_text("#now .chip", "running");
    let made = truth(&fixture, &id);
    assert_eq!((&made["FAAS"]["MEMORY"], &made["FAAS"]["DISK_SIZE"]), (&json!(256), &json!(2048)), "{made}");
    page_driver.until_text("#now", made["FAAS"]["ENDPOINT"].as_str().unwrap());
    assert!(page_driver.script("return window.isTheSame === true", &[]) == true);

    page_driver.click_on(".page-actions a", "Resize");
    assert_eq!(page_driver.value("#f_memory"), "256");
    page_driver.fill("#f_memory", "0");
    page_driver.fill("#f_cpu", "2");
    page_driver.click_on("main form.card button", "Resize");
    page_driver.until_text("#f_memory-error", "1 or more");
    assert_eq!((page_driver.value("#f_memory"), page_driver.value("#f_cpu")), ("0".into(), "2".into()));
    page_driver.error_texts();
    look(&page_driver, "serverless-resize-corrected");
    page_driver.fill("#f_memory", "512");
    page_driver.click_on("main form.card button", "Resize");
    page_driver.until_text("h1", "Changing a serverless runtime");
    open_runtime(&page_driver);
    page_driver.until_text("#now", "512 MB");
    let grown = truth(&fixture, &id);
    assert_eq!((&grown["FAAS"]["MEMORY"], &grown["FAAS"]["CPU"]), (&json!(512), &json!(2)), "{grown}");

    page_driver.click_on(".page-actions button", "Delete");
    page_driver.until_text("dialog", "lost for ever");
    page_driver.click_on("dialog button", "Delete");
    page_driver.until_text("h1", "Deleting a serverless runtime");
    page_driver.until_text("#now", "succeeded");
    look(&page_driver, "serverless-deleted");
    page_driver.click_on("#now a", "Back to the list");
    page_driver.until_text("#rows", "There is no serverless runtime yet.");
    fixture.place.expect(1, &["serverless", "show", &id]);
    page_driver.go(&format!("/console/serverless/{id}"));
    page_driver.until_text("main", &format!("There is no serverless runtime {id}."));
    page_driver.until_text("main", "It may have been deleted.");
    page_driver.until_error("404");
    expect_named(&fixture, "mine");
    page_driver.expect_no_error();
}

/// That it was created, resized and deleted under its name, and that nothing failed.
#[track_caller]
fn expect_named(fixture: &BrowserFixture, name: &str) {
    let operations = fixture.api(Method::GET, "/operations", None);
    let items = operations["items"].as_array().unwrap();
    assert!(items.iter().all(|one| one["phase"] != "failed"), "{operations}");
    let names: Vec<&Value> = items.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, [name; 3], "{operations}");
}

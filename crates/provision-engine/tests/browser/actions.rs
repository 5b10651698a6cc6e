//! What people make, change and take away with the pages: runtimes, instances, tokens and each other.

use reqwest::Method;
use serde_json::Value;

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::{DataDirectory, until};

fn signed_in() -> (BrowserFixture, PageDriver) {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    (fixture, page_driver)
}

#[test]
fn the_first_screen_starts_one_of_each() {
    let (fixture, page_driver) = signed_in();
    let offers = [
        ("Start a launch", "instances are running"),
        ("Start a runtime", "succeeded"),
        ("Start a serverless runtime", "succeeded"),
    ];
    for (number, (offer, end)) in offers.into_iter().enumerate() {
        page_driver.go(if number == 0 { "/console" } else { "/console/try" });
        page_driver.click_on(".offers button", offer);
        // What says that it was started goes with the end, which comes at any moment.
        page_driver.until_text("main", end);
        page_driver.expect_no_error();
    }
    let begun = ["launch", "runtime.provision", "serverless.create"];
    until("the end of all", || {
        let done = fixture.api(Method::GET, "/operations?phase=succeeded", None);
        let done: Vec<&Value> =
            done["items"].as_array().unwrap().iter().map(|one| &one["workflow"]).collect();
        begun.iter().all(|one| done.contains(&&Value::from(*one))).then_some(())
    });
    page_driver.go("/console");
    look(&page_driver, "home-after-all");
}

#[test]
fn a_runtime_is_made_from_a_form_bound_and_taken_down() {
    // Runtimes send their audit log somewhere, which takes overrides of every kind.
    let fixture = BrowserFixture::open_with(DataDirectory::new(), |place, _| {
        std::fs::write(place.path("password"), "hunter2").unwrap();
        let password = place.path("password").to_str().unwrap().to_owned();
        place
            .env("PROVISION_ENGINE_RUNTIME__AUDIT_LOG__URL", "http://127.0.0.1:1")
            .env("PROVISION_ENGINE_RUNTIME__AUDIT_LOG__USERNAME", "audit")
            .env("PROVISION_ENGINE_RUNTIME__AUDIT_LOG__PASSWORD_FILE", password)
    });
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.click_on("nav.menu a", "Runtimes");
    page_driver.click_on("main a", "Create");
    page_driver.click_on(".plans a", "azure");

    // What is missing is said where it is missing.
    page_driver.click_on("main form.card button.primary", "Create");
    page_driver.until_text("main", "Please fix the highlighted fields.");
    page_driver.error_texts();
    look(&page_driver, "runtimes-new-corrected");
    page_driver.fill("main form.card input[id$='name']", "first");
    page_driver.select("main form.card select[id$='region']", "westeurope");
    page_driver.click_on("main form.card button.primary", "Create");
    page_driver.until_text("#now", "succeeded");
    // Its name is in the part that changes, because the broker tells it only when the runtime is there.
    page_driver.until_text("#now h1", "first");
    let runtimes = fixture.api(Method::GET, "/runtimes", None).to_string();
    assert!(runtimes.contains("westeurope"), "{runtimes}");
    let here = page_driver.path();

    let made = fixture.api(Method::GET, "/operations?workflow=runtime.provision", None);
    page_driver.go(&format!("/console/operations/{}", made["items"][0]["id"].as_str().unwrap()));
    page_driver.click_on("#now-knows summary", "Overrides as they were sent");
    page_driver.until_text("#now-knows tbody", "fluent-bit.auditlog.user\taudit");
    page_driver.until_text("#now-knows tbody", "fluent-bit.auditlog.tenant\tfrom the request, not kept");
    page_driver.until_text("#now-knows tbody", "fluent-bit.auditlog.password\tsecret");
    look(&page_driver, "operation-overrides");
    page_driver.go(&here);

    page_driver.click_on(".page-actions a", "Bind");
    page_driver.click_on("main form button", "Create credentials");
    page_driver.until_text("h1", "Credentials");
    page_driver.click_on("main summary", "Show it");
    page_driver.until_text("main pre", "apiVersion");
    page_driver.click_on("main a", "Back to the runtime");

    // Credentials that are out there keep it.
    page_driver.click_on(".page-actions button", "Deprovision");
    page_driver.click_on("dialog button", "Deprovision");
    page_driver.until_text(".flash.bad", "unbind it first");
    page_driver.click_on("main button.danger", "Unbind");
    page_driver.click_on("dialog button", "Unbind");
    page_driver.until_text("#now", "No bindings.");
    page_driver.click_on(".page-actions button", "Deprovision");
    page_driver.click_on("dialog button", "Deprovision");
    page_driver.until_text("#now", "Deleted");
    page_driver.expect_no_error();
}

#[test]
fn a_machine_is_terminated_in_the_inventory() {
    let (fixture, page_driver) = signed_in();
    page_driver.click_on(".offers button", "Start a launch");
    page_driver.until_text("main", "instances are running");
    page_driver.click_on("nav.menu a", "Inventory");
    page_driver.until_text("#now", "running");
    let machines = |state: &str| {
        let all = fixture.api(Method::GET, "/api/provisioning/v1/inventory", None);
        let items = all["data"].as_array().or(all["items"].as_array()).unwrap().clone();
        items.iter().filter(|one| one["state"] == state).count()
    };
    let before = machines("running");
    assert!(before > 1);
    page_driver.click_on("#now button.danger", "Terminate");
    page_driver.until_text("dialog", "What is on it is lost.");
    page_driver.click_on("dialog button", "Terminate");
    until("one instance less", || (machines("running") == before - 1).then_some(()));
    page_driver.go("/console/inventory?state=running");
    page_driver.until_text("#now", "running");
    page_driver.expect_no_error();
}

#[test]
fn someone_new_is_let_in_changes_their_password_and_is_let_out() {
    let (fixture, page_driver) = signed_in();
    page_driver.go("/console/admin/people");
    page_driver.fill("#name", "grace");
    page_driver.select("#role", "reader");
    page_driver.fill("#password", "short");
    page_driver.click_on("section button.primary", "Create user");
    page_driver.until_text("#password-error", "12");
    assert_eq!(page_driver.value("#name"), "grace", "what was typed is still there");
    page_driver.error_texts();
    page_driver.fill("#password", "a long enough sentence");
    page_driver.click_on("section button.primary", "Create user");
    page_driver.until_text("main", "User grace created");

    let other = PageDriver::new(&fixture.url);
    other.go("/console");
    other.type_password("grace", "a long enough sentence");
    other.until_path("/console");
    other.go("/console/me");
    other.fill("#current", "a long enough sentence");
    other.fill("#new", "another long sentence");
    other.fill("#again", "another long sentence");
    other.click_on("main form button.primary", "Change the password");
    other.until_text("h1", "Sign in");
    other.type_password("grace", "another long sentence");
    other.until_path("/console");
    other.until_live();

    // The user who is removed sees nothing more, without doing anything.
    page_driver.go("/console/admin/people");
    page_driver.click_on("main button.danger", "grace");
    page_driver.click_on("dialog button", "Delete");
    other.until_text("h1", "Sign in");
}

#[test]
fn a_token_is_shown_once_and_works_until_it_is_deleted() {
    let (fixture, page_driver) = signed_in();
    page_driver.go("/console/admin/tokens");
    page_driver.fill("#name", "dashboard");
    page_driver.select("#role", "reader");
    page_driver.click_on("section button.primary", "Create token");
    page_driver.until_text("main", "Token dashboard created");
    page_driver.click_on("main summary", "Show it");
    let token = page_driver.text(".reveal pre");
    assert!(token.starts_with("pe_"), "{token}");
    look(&page_driver, "admin-tokens-made");
    page_driver.go("/console/admin/tokens");
    assert!(!page_driver.script("return document.body.innerHTML", &[]).as_str().unwrap().contains(&token));

    let other = PageDriver::new(&fixture.url);
    other.sign_in(&token);
    assert_eq!(other.text(".who-role"), "reader");
    page_driver.click_on("main button.danger", "dashboard");
    page_driver.click_on("dialog button", "Delete");
    page_driver.until_text(".flash.good", "dashboard");
    other.go("/console/sign-in");
    other.type_token(&token);
    other.until_text("#sign-in-error", "not known here");
}

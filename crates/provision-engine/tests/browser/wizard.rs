//! From an image to instances that answer, as a user does it who has read nothing.

use reqwest::Method;
use serde_json::json;

use crate::launching::{
    KEY, ONWARD, choose_type, expect_machines, fill_in, launch, quick_engine, say_key, say_what, say_where,
    until_built_by, until_launched, until_machines_run,
};
use crate::page_driver::PageDriver;
use crate::pictures::{keep, look};
use crate::stage::until;

#[test]
fn someone_who_has_read_nothing_comes_to_machines_that_answer() {
    let fixture = quick_engine();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.click_on("main a", "Build and launch");
    page_driver.until_text("h2", "Image");
    say_what(&page_driver);
    look(&page_driver, "wizard-image");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Account and instances");
    say_where(&page_driver, "2");
    look(&page_driver, "wizard-where");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Public key");
    say_key(&page_driver);
    page_driver.until_text("#pubkey_body-said", "SHA256:");
    look(&page_driver, "wizard-key");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Review");
    page_driver.until_text("main", "What will happen");
    look(&page_driver, "wizard-review");
    page_driver.click(ONWARD);
    until_launched(&page_driver);

    until_machines_run(&fixture, &page_driver, "instances are running");
    expect_machines(&fixture, &page_driver, 2);
    look(&page_driver, "launch-succeeded");
    keep(&page_driver, "launch", 900);
}

#[test]
fn what_is_wrong_is_said_where_it_is_and_nothing_is_lost() {
    let fixture = quick_engine();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/launch");
    say_what(&page_driver);
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Account and instances");

    say_where(&page_driver, "99");
    page_driver.click(ONWARD);
    page_driver.until_text("#amount-said", "45");
    assert_eq!(page_driver.value("#amount"), "99", "what was typed is still there");
    page_driver.error_texts();
    look(&page_driver, "wizard-corrected");
    page_driver.fill("#amount", "1");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Public key");
    page_driver.click("input[name=key][value=new]");
    page_driver.fill("#pubkey_name", "mine");
    page_driver.fill("#pubkey_body", "-----BEGIN OPENSSH PRIVATE KEY-----");
    page_driver.until_text("#pubkey_body-said", "private");
    page_driver.fill("#pubkey_body", KEY);
    page_driver.until_text("#pubkey_body-said", "SHA256:");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Review");
    let review = page_driver.text("main");
    for part in ["web", "vim", "t3.small", "mine"] {
        assert!(review.contains(part), "{part}: {review}");
    }
    page_driver.click(ONWARD);
    until_launched(&page_driver);
    until_machines_run(&fixture, &page_driver, "The instance is running");
}

#[test]
fn four_clicks_lead_from_the_address_of_the_console_to_a_running_instance() {
    let fixture = quick_engine();
    let key = json!({ "name": "mine", "body": KEY });
    fixture.api(Method::POST, "/api/provisioning/v1/pubkeys", Some(&key));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.go("/");
    let (name, password) = fixture.first_user();
    page_driver.type_password(&name, &password);
    page_driver.click_on("main a", "Build and launch");
    page_driver.until_text("#summary", "t3.small");
    page_driver.click_on("#wizard button", "Review and launch");
    page_driver.until_text("h2", "Review");
    page_driver.click(ONWARD);
    until_launched(&page_driver);
    until_machines_run(&fixture, &page_driver, "The instance is running");
    assert_eq!(page_driver.clicks(), 4, "sign in, build and launch, review, launch");
}

#[test]
fn going_back_a_reload_a_link_and_a_restart_lose_nothing() {
    let mut fixture = quick_engine();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/launch");
    say_what(&page_driver);
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Account and instances");
    say_where(&page_driver, "3");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Public key");
    page_driver.script("history.back()", &[]);
    page_driver.until_text("h2", "Account and instances");
    page_driver.until_value("#amount", "3");
    page_driver.script("history.back()", &[]);
    page_driver.until_text("h2", "Image");
    page_driver.until_value("#image_name", "web");
    page_driver.until_value("#packages", "vim");
    let here = page_driver.path();

    page_driver.until_text("#summary", "web");
    fixture.kill();
    fixture.serve_again();
    page_driver.error_texts();
    page_driver.go(&here);
    page_driver.until_value("#image_name", "web");
    page_driver.click(ONWARD);
    page_driver.until_value("#amount", "3");
    page_driver.expect_no_error();

    // It belongs to this session, and the link is of no use to another one.
    let other = PageDriver::new(&fixture.url);
    other.sign_in(&fixture.token);
    other.go(&here);
    other.until_text(".flash.bad", "This draft has expired.");
    other.until_value("#image_name", "");
    assert_ne!(other.path(), here);
}

#[test]
fn a_launch_and_its_page_outlive_the_server() {
    let mut fixture = quick_engine();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    fixture.turn("image-builder/faults/hold", &json!({ "times": 1 }));
    fill_in(&page_driver, |page_driver| say_where(page_driver, "2"));
    page_driver.click(ONWARD);
    until_launched(&page_driver);
    page_driver.until_live();
    until("the build", || (launch(&fixture, &page_driver)["state"] == "building").then_some(()));
    let compose = until_built_by(&fixture, &page_driver);
    page_driver.until_text("main", "building");
    look(&page_driver, "launch-building");

    fixture.kill();
    page_driver.until_text("#offline", "The server does not answer.");
    fixture.turn(&format!("image-builder/composes/{compose}/release"), &json!({}));
    fixture.serve_again();
    until("the page without the notice", || page_driver.text("#offline").is_empty().then_some(()));
    until_machines_run(&fixture, &page_driver, "instances are running");
    expect_machines(&fixture, &page_driver, 2);
}

#[test]
fn an_image_is_built_and_launched_without_a_script() {
    let fixture = quick_engine();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.without_script();
    page_driver.sign_in(&fixture.token);
    fill_in(&page_driver, |page_driver| {
        page_driver.fill("#type_search", "t3.small");
        page_driver.click_on(".search button", "Search");
        choose_type(page_driver, "1");
    });
    page_driver.click(ONWARD);
    until_launched(&page_driver);
    until("the instance", || (launch(&fixture, &page_driver)["state"] == "succeeded").then_some(()));
    let made = launch(&fixture, &page_driver);
    page_driver.go(&page_driver.path());
    page_driver.until_text("main", made["instances"][0]["detail"]["public_ipv4"].as_str().unwrap());
}

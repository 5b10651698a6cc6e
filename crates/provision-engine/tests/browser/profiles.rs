//! The other ways to wait for an image, each from the wizard to instances that answer. `wizard.rs` goes the first one.

use serde_json::{Value, json};

use crate::fixture::BrowserFixture;
use crate::launching::{
    ONWARD, expect_machines, fill_in, launch, quick_engine, say_key, say_what, say_where, until_built_by,
    until_launched, until_machines_run,
};
use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::until;

/// Chooses the way, looks over everything and launches; the page of the launch follows.
#[track_caller]
fn choose(page_driver: &PageDriver, profile: &str, title: &str) {
    if !page_driver.has(".advanced[open]") {
        page_driver.click(".advanced > summary");
    }
    page_driver.until_text(".advanced", title);
    page_driver.click(&format!("input[name=profile][value={profile}]"));
    page_driver.click(ONWARD);
    until_launched(page_driver);
}

/// The step of the launch, as the API has it.
#[track_caller]
fn step(fixture: &BrowserFixture, page_driver: &PageDriver, name: &str) -> Value {
    let launch = launch(fixture, page_driver);
    let found = launch["steps"].as_array().unwrap().iter().find(|step| step["name"] == name);
    found.unwrap_or_else(|| panic!("{launch:#}")).clone()
}

/// What the Image Builder told others about builds, in order.
#[track_caller]
fn told(fixture: &BrowserFixture) -> Vec<String> {
    let notices = fixture.far("image-builder/notices");
    let kind = |notice: &Value| notice["kind"].as_str().unwrap().to_owned();
    notices["notices"].as_array().unwrap().iter().map(kind).collect()
}

fn release(fixture: &BrowserFixture, compose: &str) {
    fixture.turn(&format!("image-builder/composes/{compose}/release"), &json!({}));
}

#[test]
fn the_one_who_expects_machines_in_the_inventory_finds_them_there() {
    let fixture = quick_engine();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    fill_in(&page_driver, |page_driver| say_where(page_driver, "2"));
    choose(&page_driver, "inventory", "show it in the inventory");
    until_machines_run(&fixture, &page_driver, "2 instances are running");
    expect_machines(&fixture, &page_driver, 2);
    assert_eq!(step(&fixture, &page_driver, "register_in_inventory")["state"], "succeeded");

    let made = launch(&fixture, &page_driver);
    page_driver.click_on("main a", "Show in the inventory");
    for instance in made["instances"].as_array().unwrap() {
        page_driver.until_text("#now", instance["instance_id"].as_str().unwrap());
    }
    page_driver.expect_no_error();
}

/// The build begins before it is known where to launch, and only a callback says that it is over.
#[test]
fn a_callback_and_words_that_come_later_bring_machines() {
    let fixture = quick_engine();
    fixture.turn("image-builder/notify", &json!({ "callbacks": true, "events": false }));
    fixture.turn("image-builder/faults/hold", &json!({ "times": 1 }));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/launch");
    say_what(&page_driver);
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Account and instances");
    page_driver.click_on("#wizard button", "decide the rest later");
    page_driver.until_text("h2", "Review");
    choose(&page_driver, "images", "Wait for a callback");
    page_driver.until_text("main", "Parameters required");
    let compose = until_built_by(&fixture, &page_driver);
    look(&page_driver, "launch-waits-for-parameters");

    let page = page_driver.path();
    page_driver.click_on("main a", "Choose where to launch it");
    page_driver.until_text("h1", "Where to launch it");
    say_where(&page_driver, "99");
    say_key(&page_driver);
    page_driver.click_on("form.wizard button", "Launch it there");
    page_driver.until_text("#amount-said", "45");
    assert_eq!(page_driver.value("#pubkey_name"), "mine", "what was typed is still there");
    page_driver.error_texts();
    look(&page_driver, "launch-parameters-corrected");
    page_driver.fill("#amount", "2");
    page_driver.click_on("form.wizard button", "Launch it there");
    page_driver.until_path(&page);
    page_driver.until_text(".flash.good", "Parameters submitted.");
    assert_eq!(launch(&fixture, &page_driver)["instances"], json!([]), "the image is not there yet");

    release(&fixture, &compose);
    until_machines_run(&fixture, &page_driver, "2 instances are running");
    expect_machines(&fixture, &page_driver, 2);
    assert_eq!(told(&fixture), ["callback"]);
    page_driver.go("/console/images");
    page_driver.until_text("main", "web");
    look(&page_driver, "images");
}

/// The engine would also look for itself, but later.
#[test]
fn a_message_in_kafka_brings_machines() {
    let fixture = quick_engine();
    fixture.turn("image-builder/notify", &json!({ "callbacks": false, "events": true }));
    fixture.turn("image-builder/faults/hold", &json!({ "times": 1 }));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    fill_in(&page_driver, |page_driver| say_where(page_driver, "1"));
    choose(&page_driver, "events", "Wait for a message in Kafka");
    page_driver.until_live();
    let compose = until_built_by(&fixture, &page_driver);
    let builds = || step(&fixture, &page_driver, "build_image");
    until("a launch that waits", || (builds()["state"] == "waiting").then_some(()));
    page_driver.until_text("main", "building");
    look(&page_driver, "launch-waits-for-a-message");
    let next_look = builds()["next_attempt_at"].as_str().unwrap().to_owned();
    release(&fixture, &compose);
    until_machines_run(&fixture, &page_driver, "The instance is running");
    expect_machines(&fixture, &page_driver, 1);
    assert_eq!(told(&fixture), ["event"]);
    let built = builds();
    assert!(built["finished_at"].as_str().unwrap() < next_look.as_str(), "{built} and not at {next_look}");
    page_driver.expect_no_error();
}

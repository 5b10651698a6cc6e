//! From an image to machines that answer, as somebody does it who has read nothing.

use reqwest::Method;
use serde_json::json;

use crate::launching::{
    KEY, ONWARD, choose_type, expect_machines, fill_in, launch, quick_house, say_key, say_what, say_where,
    until_built_by, until_launched, until_machines_run,
};
use crate::person::Person;
use crate::pictures::{keep, look};
use crate::stage::until;

#[test]
fn somebody_who_has_read_nothing_comes_to_machines_that_answer() {
    let house = quick_house();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.click_on("main a", "Build and launch");
    person.until_text("h2", "Image");
    say_what(&person);
    look(&person, "wizard-image");
    person.click(ONWARD);
    person.until_text("h2", "Account and instances");
    say_where(&person, "2");
    look(&person, "wizard-where");
    person.click(ONWARD);
    person.until_text("h2", "Public key");
    say_key(&person);
    person.until_text("#pubkey_body-said", "SHA256:");
    look(&person, "wizard-key");
    person.click(ONWARD);
    person.until_text("h2", "Review");
    person.until_text("main", "What will happen");
    look(&person, "wizard-review");
    person.click(ONWARD);
    until_launched(&person);

    until_machines_run(&house, &person, "machines run");
    expect_machines(&house, &person, 2);
    look(&person, "launch-succeeded");
    keep(&person, "launch", 900);
}

#[test]
fn what_is_wrong_is_said_where_it_is_and_nothing_is_lost() {
    let house = quick_house();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go("/console/launch");
    say_what(&person);
    person.click(ONWARD);
    person.until_text("h2", "Account and instances");

    say_where(&person, "99");
    person.click(ONWARD);
    person.until_text("#amount-said", "45");
    assert_eq!(person.value("#amount"), "99", "what was typed is still there");
    person.complaints();
    look(&person, "wizard-corrected");
    person.fill("#amount", "1");
    person.click(ONWARD);
    person.until_text("h2", "Public key");
    person.click("input[name=key][value=new]");
    person.fill("#pubkey_name", "mine");
    person.fill("#pubkey_body", "-----BEGIN OPENSSH PRIVATE KEY-----");
    person.until_text("#pubkey_body-said", "private");
    person.fill("#pubkey_body", KEY);
    person.until_text("#pubkey_body-said", "SHA256:");
    person.click(ONWARD);
    person.until_text("h2", "Review");
    let review = person.text("main");
    for part in ["web", "vim", "t3.small", "mine"] {
        assert!(review.contains(part), "{part}: {review}");
    }
    person.click(ONWARD);
    until_launched(&person);
    until_machines_run(&house, &person, "The machine runs");
}

#[test]
fn three_clicks_lead_from_home_to_a_launch() {
    let house = quick_house();
    let key = json!({ "name": "mine", "body": KEY });
    house.api(Method::POST, "/api/provisioning/v1/pubkeys", Some(&key));
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.click_on("main a", "Build and launch");
    person.until_text("#summary", "t3.small");
    person.click_on("#wizard button", "Review and launch");
    person.until_text("h2", "Review");
    person.click(ONWARD);
    until_launched(&person);
    until_machines_run(&house, &person, "The machine runs");
}

#[test]
fn going_back_a_reload_a_link_and_a_restart_lose_nothing() {
    let mut house = quick_house();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go("/console/launch");
    say_what(&person);
    person.click(ONWARD);
    person.until_text("h2", "Account and instances");
    say_where(&person, "3");
    person.click(ONWARD);
    person.until_text("h2", "Public key");
    person.script("history.back()", &[]);
    person.until_text("h2", "Account and instances");
    person.until_value("#amount", "3");
    person.script("history.back()", &[]);
    person.until_text("h2", "Image");
    person.until_value("#image_name", "web");
    person.until_value("#packages", "vim");
    let here = person.path();

    person.until_text("#summary", "web");
    house.kill();
    house.serve_again();
    person.complaints();
    person.go(&here);
    person.until_value("#image_name", "web");
    person.click(ONWARD);
    person.until_value("#amount", "3");
    person.expect_no_complaint();

    // It belongs to this session, and the link is of no use to another one.
    let other = Person::new(&house.url);
    other.sign_in(&house.token);
    other.go(&here);
    other.until_text(".flash.bad", "This draft has expired.");
    other.until_value("#image_name", "");
    assert_ne!(other.path(), here);
}

#[test]
fn a_launch_and_its_page_outlive_the_server() {
    let mut house = quick_house();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    house.turn("image-builder/faults/hold", &json!({ "times": 1 }));
    fill_in(&person, |person| say_where(person, "2"));
    person.click(ONWARD);
    until_launched(&person);
    person.until_live();
    until("the build", || (launch(&house, &person)["state"] == "building").then_some(()));
    let compose = until_built_by(&house, &person);
    person.until_text("main", "building");
    look(&person, "launch-building");

    house.kill();
    person.until_text("#offline", "The server does not answer.");
    house.turn(&format!("image-builder/composes/{compose}/release"), &json!({}));
    house.serve_again();
    until("the page without the notice", || person.text("#offline").is_empty().then_some(()));
    until_machines_run(&house, &person, "machines run");
    expect_machines(&house, &person, 2);
}

#[test]
fn an_image_is_built_and_launched_without_a_script() {
    let house = quick_house();
    let person = Person::new(&house.url);
    person.without_script();
    person.sign_in(&house.token);
    fill_in(&person, |person| {
        person.fill("#type_search", "t3.small");
        person.click_on(".search button", "Search");
        choose_type(person, "1");
    });
    person.click(ONWARD);
    until_launched(&person);
    until("the machine", || (launch(&house, &person)["state"] == "succeeded").then_some(()));
    let made = launch(&house, &person);
    person.go(&person.path());
    person.until_text("main", made["instances"][0]["detail"]["public_ipv4"].as_str().unwrap());
}

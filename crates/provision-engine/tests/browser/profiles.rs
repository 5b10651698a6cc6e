//! The other ways to wait for an image, each from the wizard to machines that answer. `wizard.rs` goes the first one.

use serde_json::{Value, json};

use crate::house::House;
use crate::launching::{
    ONWARD, expect_machines, fill_in, launch, quick_house, say_key, say_what, say_where, until_built_by,
    until_launched, until_machines_run,
};
use crate::person::Person;
use crate::pictures::look;
use crate::stage::until;

/// Chooses the way, looks over everything and launches; the page of the launch follows.
#[track_caller]
fn choose(person: &Person, profile: &str, title: &str) {
    if !person.has(".advanced[open]") {
        person.click(".advanced > summary");
    }
    person.until_text(".advanced", title);
    person.click(&format!("input[name=profile][value={profile}]"));
    person.click(ONWARD);
    until_launched(person);
}

/// The step of the launch, as the API has it.
#[track_caller]
fn step(house: &House, person: &Person, name: &str) -> Value {
    let launch = launch(house, person);
    let found = launch["steps"].as_array().unwrap().iter().find(|step| step["name"] == name);
    found.unwrap_or_else(|| panic!("{launch:#}")).clone()
}

/// What the Image Builder told others about builds, in order.
#[track_caller]
fn told(house: &House) -> Vec<String> {
    let notices = house.far("image-builder/notices");
    let kind = |notice: &Value| notice["kind"].as_str().unwrap().to_owned();
    notices["notices"].as_array().unwrap().iter().map(kind).collect()
}

fn release(house: &House, compose: &str) {
    house.turn(&format!("image-builder/composes/{compose}/release"), &json!({}));
}

#[test]
fn whoever_expects_machines_in_the_inventory_finds_them_there() {
    let house = quick_house();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    fill_in(&person, |person| say_where(person, "2"));
    choose(&person, "inventory", "show it in the inventory");
    until_machines_run(&house, &person, "2 machines run");
    expect_machines(&house, &person, 2);
    assert_eq!(step(&house, &person, "register_in_inventory")["state"], "succeeded");

    let made = launch(&house, &person);
    person.click_on("main a", "Show in the inventory");
    for instance in made["instances"].as_array().unwrap() {
        person.until_text("#now", instance["instance_id"].as_str().unwrap());
    }
    person.expect_no_complaint();
}

/// The build begins while nobody knows yet where to launch, and only a callback says that it is over.
#[test]
fn a_callback_and_words_that_come_later_bring_machines() {
    let house = quick_house();
    house.turn("image-builder/notify", &json!({ "callbacks": true, "events": false }));
    house.turn("image-builder/faults/hold", &json!({ "times": 1 }));
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go("/console/launch");
    say_what(&person);
    person.click(ONWARD);
    person.until_text("h2", "Account and instances");
    person.click_on("#wizard button", "decide the rest later");
    person.until_text("h2", "Review");
    choose(&person, "images", "Wait for a callback");
    person.until_text("main", "It waits for you");
    let compose = until_built_by(&house, &person);
    look(&person, "launch-waits-for-parameters");

    let page = person.path();
    person.click_on("main a", "Say where to launch it");
    person.until_text("h1", "Where to launch it");
    say_where(&person, "99");
    say_key(&person);
    person.click_on("form.wizard button", "Launch it there");
    person.until_text("#amount-said", "45");
    assert_eq!(person.value("#pubkey_name"), "mine", "what was typed is still there");
    person.complaints();
    look(&person, "launch-parameters-corrected");
    person.fill("#amount", "2");
    person.click_on("form.wizard button", "Launch it there");
    person.until_path(&page);
    person.until_text(".flash.good", "It knows where to launch now.");
    assert_eq!(launch(&house, &person)["instances"], json!([]), "the image is not there yet");

    release(&house, &compose);
    until_machines_run(&house, &person, "2 machines run");
    expect_machines(&house, &person, 2);
    assert_eq!(told(&house), ["callback"]);
    person.go("/console/images");
    person.until_text("main", "web");
    look(&person, "images");
}

/// The engine would also look for itself, but later.
#[test]
fn a_message_in_kafka_brings_machines() {
    let house = quick_house();
    house.turn("image-builder/notify", &json!({ "callbacks": false, "events": true }));
    house.turn("image-builder/faults/hold", &json!({ "times": 1 }));
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    fill_in(&person, |person| say_where(person, "1"));
    choose(&person, "events", "Wait for a message in Kafka");
    person.until_live();
    let compose = until_built_by(&house, &person);
    let builds = || step(&house, &person, "build_image");
    until("a launch that waits", || (builds()["state"] == "waiting").then_some(()));
    person.until_text("main", "building");
    look(&person, "launch-waits-for-a-message");
    let next_look = builds()["next_attempt_at"].as_str().unwrap().to_owned();
    release(&house, &compose);
    until_machines_run(&house, &person, "The machine runs");
    expect_machines(&house, &person, 1);
    assert_eq!(told(&house), ["event"]);
    let built = builds();
    assert!(built["finished_at"].as_str().unwrap() < next_look.as_str(), "{built} and not at {next_look}");
    person.expect_no_complaint();
}

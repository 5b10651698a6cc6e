//! From an image to machines that answer, as somebody does it who has read nothing.

use reqwest::Method;
use serde_json::{Value, json};

use crate::house::House;
use crate::person::Person;
use crate::pictures::{keep, look};
use crate::stage::{call, until, until_or};

const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB ada@example";
const LAUNCHES: &str = "/api/provisioning/v1/launches";

/// The button that leads on.
const ONWARD: &str = "#wizard .foot button.primary";

/// A house whose builds are over soon.
fn quick_house() -> House {
    let house = House::open();
    let pace = json!({"pending_ms": 50, "building_ms": 200, "uploading_ms": 50, "registering_ms": 50});
    house.turn("image-builder/pace", &pace);
    house
}

/// The first page, with an image that is to be built.
fn say_what(person: &Person) {
    person.click("input[name=image][value=build]");
    person.fill("#image_name", "web");
    person.fill("#packages", "vim");
}

/// With a script, a type is found while somebody types.
fn say_where(person: &Person, amount: &str) {
    person.fill("#type_search", "t3.small");
    choose_type(person, amount);
}

fn choose_type(person: &Person, amount: &str) {
    person.click("input[name=instance_type][value='t3.small']");
    person.fill("#amount", amount);
}

fn say_key(person: &Person) {
    person.click("input[name=key][value=new]");
    person.fill("#pubkey_name", "mine");
    person.fill("#pubkey_body", KEY);
}

/// Through all pages to the last one.
fn fill_in(person: &Person, say_where: impl Fn(&Person)) {
    person.go("/console/launch");
    say_what(person);
    person.click(ONWARD);
    person.until_text("h2", "Account and machines");
    say_where(person);
    person.click(ONWARD);
    person.until_text("h2", "Public key");
    say_key(person);
    person.click(ONWARD);
    person.until_text("h2", "How to wait");
    person.click(ONWARD);
    person.until_text("h2", "Review");
}

/// The launch that the address names, as the API has it.
fn launch(house: &House, person: &Person) -> Value {
    let path = person.path();
    let id = path.rsplit('/').next().unwrap();
    house.api(Method::GET, &format!("{LAUNCHES}/{id}"), None)
}

fn until_launched(person: &Person) {
    until("the page of the launch", || {
        let path = person.path();
        (path.starts_with("/console/launches/") && path.len() > "/console/launches/".len()).then_some(())
    });
}

/// Until the page says that machines run.
#[track_caller]
fn until_machines_run(house: &House, person: &Person, words: &str) {
    until_or(
        || person.text("main").contains(words).then_some(()),
        || format!("the page says {}\nand the truth is {:#}", person.text("main"), launch(house, person)),
    );
}

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
    person.until_text("h2", "Account and machines");
    say_where(&person, "2");
    look(&person, "wizard-where");
    person.click(ONWARD);
    person.until_text("h2", "Public key");
    say_key(&person);
    person.until_text("#pubkey_body-said", "SHA256:");
    look(&person, "wizard-key");
    person.click(ONWARD);
    person.until_text("h2", "How to wait");
    look(&person, "wizard-how");
    person.click(ONWARD);
    person.until_text("h2", "Review");
    person.until_text("main", "What will happen");
    look(&person, "wizard-review");
    person.click(ONWARD);
    until_launched(&person);

    until_machines_run(&house, &person, "machines run");
    let made = launch(&house, &person);
    let instances = made["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 2, "{made}");
    for instance in instances {
        let address = instance["detail"]["public_ipv4"].as_str().unwrap();
        person.until_text("main", address);
        let answer = call(Method::GET, &format!("http://{address}:8000/"), None);
        assert_eq!(answer["guest"]["instance"], instance["instance_id"], "{answer}");
    }
    person.until_text("main", "ssh ");
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
    person.until_text("h2", "Account and machines");

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
    person.until_text("h2", "How to wait");
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
fn a_launch_and_its_page_outlive_the_server() {
    let mut house = quick_house();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    house.turn("image-builder/hold", &json!({ "times": 1 }));
    fill_in(&person, |person| say_where(person, "2"));
    person.click(ONWARD);
    until_launched(&person);
    person.until_live();
    until("the build", || (launch(&house, &person)["state"] == "building").then_some(()));
    let compose =
        until("the image", || launch(&house, &person)["build"]["compose"].as_str().map(str::to_owned));
    person.until_text("main", "building");
    look(&person, "launch-building");

    house.kill();
    person.until_text("#offline", "The server does not answer.");
    house.turn(&format!("image-builder/composes/{compose}/release"), &json!({}));
    house.serve_again();
    until("the page without the notice", || person.text("#offline").is_empty().then_some(()));
    until_machines_run(&house, &person, "machines run");
    let made = launch(&house, &person);
    assert_eq!(
        (&made["state"], made["instances"].as_array().unwrap().len()),
        (&json!("succeeded"), 2),
        "{made}"
    );
    for instance in made["instances"].as_array().unwrap() {
        person.until_text("main", instance["instance_id"].as_str().unwrap());
    }
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

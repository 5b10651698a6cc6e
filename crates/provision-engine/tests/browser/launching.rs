//! From an image to machines: what people say on each page of the wizard, and what they see in the end.

use reqwest::Method;
use serde_json::{Value, json};

use crate::house::House;
use crate::person::Person;
use crate::stage::{call, until, until_or};

pub(crate) const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB ada@example";
const LAUNCHES: &str = "/api/provisioning/v1/launches";

/// The button that leads on.
pub(crate) const ONWARD: &str = "#wizard .foot button.primary";

/// A house whose builds are over soon.
#[track_caller]
pub(crate) fn quick_house() -> House {
    let house = House::open();
    let pace = json!({"pending_ms": 50, "building_ms": 200, "uploading_ms": 50, "registering_ms": 50});
    house.turn("image-builder/pace", &pace);
    house
}

/// The first page, with an image that is to be built.
#[track_caller]
pub(crate) fn say_what(person: &Person) {
    person.click("input[name=image][value=build]");
    person.fill("#image_name", "web");
    person.fill("#packages", "vim");
}

/// With a script, a type is found while somebody types.
#[track_caller]
pub(crate) fn say_where(person: &Person, amount: &str) {
    person.fill("#type_search", "t3.small");
    choose_type(person, amount);
}

#[track_caller]
pub(crate) fn choose_type(person: &Person, amount: &str) {
    person.click("input[name=instance_type][value='t3.small']");
    person.fill("#amount", amount);
}

#[track_caller]
pub(crate) fn say_key(person: &Person) {
    person.click("input[name=key][value=new]");
    person.fill("#pubkey_name", "mine");
    person.fill("#pubkey_body", KEY);
    // With a script the page says so while somebody types, and what is below moves.
    if person.script("return typeof htmx !== 'undefined'", &[]) == true {
        person.until_text("#pubkey_body-said", "SHA256:");
    }
}

/// Through the first two pages to the one that asks for a key.
#[track_caller]
pub(crate) fn come_to_the_key(person: &Person, say_where: impl Fn(&Person)) {
    person.go("/console/launch");
    say_what(person);
    person.click(ONWARD);
    person.until_text("h2", "Account and instances");
    say_where(person);
    person.click(ONWARD);
    person.until_text("h2", "Public key");
}

/// Through all pages to the last one.
#[track_caller]
pub(crate) fn fill_in(person: &Person, say_where: impl Fn(&Person)) {
    come_to_the_key(person, say_where);
    say_key(person);
    person.click(ONWARD);
    person.until_text("h2", "Review");
}

/// The launch that the address names, as the API has it.
#[track_caller]
pub(crate) fn launch(house: &House, person: &Person) -> Value {
    let path = person.path();
    let id = path.rsplit('/').next().unwrap();
    house.api(Method::GET, &format!("{LAUNCHES}/{id}"), None)
}

#[track_caller]
pub(crate) fn until_launched(person: &Person) {
    until("the page of the launch", || {
        let path = person.path();
        (path.starts_with("/console/launches/") && path.len() > "/console/launches/".len()).then_some(())
    });
}

/// The build of this launch, once the Image Builder has it.
#[track_caller]
pub(crate) fn until_built_by(house: &House, person: &Person) -> String {
    until("the image", || launch(house, person)["build"]["compose"].as_str().map(str::to_owned))
}

/// Until the page says that machines run.
#[track_caller]
pub(crate) fn until_machines_run(house: &House, person: &Person, words: &str) {
    until_or(
        || person.text("main").contains(words).then_some(()),
        || format!("the page says {}\nand the truth is {:#}", person.text("main"), launch(house, person)),
    );
}

/// So many machines run and answer, and the page says where and how to log in.
#[track_caller]
pub(crate) fn expect_machines(house: &House, person: &Person, count: usize) {
    let made = launch(house, person);
    let instances = made["instances"].as_array().unwrap();
    assert_eq!((&made["state"], instances.len()), (&json!("succeeded"), count), "{made}");
    for instance in instances {
        let address = instance["detail"]["public_ipv4"].as_str().unwrap();
        person.until_text("main", &format!("ssh ec2-user@{address}"));
        let answer = call(Method::GET, &format!("http://{address}:8000/"), None);
        assert_eq!(answer["guest"]["instance"], instance["instance_id"], "{answer}");
    }
}

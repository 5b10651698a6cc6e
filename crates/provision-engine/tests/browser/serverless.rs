//! A serverless runtime by hand, from the form to its end.

use reqwest::Method;
use serde_json::{Value, json};

use crate::house::House;
use crate::person::Person;
use crate::pictures::look;
use crate::stage::Place;

/// Longer than any test, by the clock of the far side.
const LONG_MS: u64 = 3_600_000;

/// What the caller's own tool says about the runtime.
#[track_caller]
fn truth(house: &House, id: &str) -> Value {
    house.place.json(&["serverless", "show", id])
}

/// The runtime that the last operation was about, on its own page; answers its id.
#[track_caller]
fn open_runtime(person: &Person) -> String {
    person.until_text("#now", "succeeded");
    person.click_on("#now a", "Open the runtime");
    person.until_text("h1", "mine");
    person.path().rsplit('/').next().unwrap().to_owned()
}

#[test]
fn a_serverless_runtime_is_made_with_the_form_grows_and_is_deleted() {
    let place = Place::new()
        .env("PROVISION_ENGINE_ONE_USER", "oneadmin")
        .env("PROVISION_ENGINE_ONE_PASSWORD", "opennebula");
    let house = House::open_in(place);
    house.turn("opennebula/pace", &json!({ "boot_ms": LONG_MS }));
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.click_on("nav.menu a", "Serverless");
    person.click_on("main a", "Create a serverless runtime");
    person.fill("#name", "mine");
    person.fill("#flavour", "Function");
    person.fill("#f_memory", "a lot");
    person.fill("#f_disk", "2048");
    person.click_on("main form.card button", "Create");
    person.until_text("#f_memory-error", "It must be a whole number");
    person.until_text(".flash.bad", "It says so at the fields.");
    let kept = ["#name", "#flavour", "#f_memory", "#f_disk"].map(|field| person.value(field));
    assert_eq!(kept, ["mine", "Function", "a lot", "2048"], "what was typed is still there");
    person.complaints();
    look(&person, "serverless-new-corrected");
    person.fill("#f_memory", "256");
    person.click_on("main form.card button", "Create");
    person.until_text("h1", "Creating a serverless runtime");
    let id = open_runtime(&person);
    person.until_text("#now .chip", "pending");
    look(&person, "serverless-pending");

    // The machine comes up, and nobody loads the page again.
    person.script("window.isTheSame = true", &[]);
    house.turn("clock", &json!({ "advance_ms": 2 * LONG_MS }));
    person.until_text("#now .chip", "running");
    let made = truth(&house, &id);
    assert_eq!((&made["FAAS"]["MEMORY"], &made["FAAS"]["DISK_SIZE"]), (&json!(256), &json!(2048)), "{made}");
    person.until_text("#now", made["FAAS"]["ENDPOINT"].as_str().unwrap());
    assert!(person.script("return window.isTheSame === true", &[]) == true);

    person.click_on(".deeds a", "Resize");
    assert_eq!(person.value("#f_memory"), "256");
    person.fill("#f_memory", "0");
    person.fill("#f_cpu", "2");
    person.click_on("main form.card button", "Resize");
    person.until_text("#f_memory-error", "1 or more");
    assert_eq!((person.value("#f_memory"), person.value("#f_cpu")), ("0".into(), "2".into()));
    person.complaints();
    look(&person, "serverless-resize-corrected");
    person.fill("#f_memory", "512");
    person.click_on("main form.card button", "Resize");
    person.until_text("h1", "Changing a serverless runtime");
    open_runtime(&person);
    person.until_text("#now", "512 MB");
    let grown = truth(&house, &id);
    assert_eq!((&grown["FAAS"]["MEMORY"], &grown["FAAS"]["CPU"]), (&json!(512), &json!(2)), "{grown}");

    person.click_on(".deeds button", "Delete");
    person.until_text("dialog", "lost for ever");
    person.click_on("dialog button", "Delete");
    person.until_text("h1", "Deleting a serverless runtime");
    person.until_text("#now", "succeeded");
    look(&person, "serverless-deleted");
    person.click_on("#now a", "Back to the list");
    person.until_text("#rows", "There is no serverless runtime yet.");
    house.place.expect(1, &["serverless", "show", &id]);
    assert_eq!(house.api(Method::GET, "/operations?phase=failed", None)["items"], json!([]));
    person.expect_no_complaint();
}

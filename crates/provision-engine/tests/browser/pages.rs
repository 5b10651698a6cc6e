//! Every page, as everybody sees it.

use serde_json::json;

use crate::house::House;
use crate::person::Person;
use crate::pictures::look;

#[test]
fn the_page_to_sign_in_is_for_everybody() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.go("/console");
    person.until_path("/console/sign-in?back=%2Fconsole");
    look(&person, "sign-in");
    person.click("summary");
    look(&person, "sign-in-with-a-token");
}

#[test]
fn the_pages_about_operations_are_for_everybody() {
    let house = House::open();
    let done = house.submit(&json!({ "name": "Ada" }));
    let undone = house.submit(&json!({ "name": "Ada", "fail": true }));
    let waiting = house.submit_waiting();
    house.until_phase(&done, "succeeded");
    house.until_phase(&undone, "undone");

    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    look(&person, "home");
    for (path, name) in [
        ("/console/operations".to_owned(), "operations"),
        ("/console/operations?phase=stuck".to_owned(), "operations-none"),
        (format!("/console/operations/{done}"), "operation-succeeded"),
        (format!("/console/operations/{undone}"), "operation-undone"),
        (format!("/console/operations/{waiting}"), "operation-waiting"),
    ] {
        person.go(&path);
        look(&person, name);
    }
}

#[test]
fn what_is_not_there_is_said_on_a_page_for_everybody() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    for (path, name) in [
        ("/console/nowhere", "missing-page"),
        ("/console/operations/00000000-0000-7000-8000-000000000000", "missing-operation"),
    ] {
        person.go(path);
        let complaints = person.complaints();
        assert!(complaints.iter().all(|line| line.contains("404")), "{complaints:?}");
        look(&person, name);
    }
}

//! Everything that matters works in a browser that runs no script.

use crate::house::House;
use crate::person::Person;

#[test]
fn operations_are_found_and_cancelled_without_a_script() {
    let house = House::open();
    let id = house.submit_waiting();
    let (name, password) = house.first_user();
    let person = Person::new(&house.url);
    person.without_script();
    person.go("/console/operations");
    person.type_password(&name, &password);
    person.until_path("/console/operations");
    person.click_on("nav.quick a", "Unfinished");
    person.click(&format!("#rows a[href$='{id}']"));
    person.until_path(&format!("/console/operations/{id}"));
    person.until_text("#now-why .chip", "waiting");

    // Without a dialog there is a page that asks.
    person.click_on("#now-why button", "Cancel");
    person.until_text("h1", "Cancel this operation?");
    person.click_on("main a", "Back");
    person.until_path(&format!("/console/operations/{id}"));
    assert_eq!(house.phase(&id), "waiting");
    person.click_on("#now-why button", "Cancel");
    person.fill("#reason", "no script");
    person.click_on("main form button", "Cancel");
    house.until_phase(&id, "cancelled");
    person.go(&format!("/console/operations/{id}"));
    person.until_text("#now-why .chip", "cancelled");

    person.click(".who summary");
    person.click_on(".who-card button", "Sign out");
    person.until_path("/console/sign-in");
}

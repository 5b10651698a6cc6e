//! Without a keyboard, as far as that goes.

use crate::house::House;
use crate::person::Person;
use crate::pictures::look;

#[test]
fn the_mouse_is_enough_from_the_list_to_cancelling() {
    let house = House::open();
    let (id, other) = (house.submit_waiting(), house.submit_waiting());
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.click_on("nav.menu a", "Operations");
    person.until_path("/console/operations");
    person.click_on("nav.quick a", "Failed");
    person.until_text("#rows", "No operation matches these filters.");
    person.click_on("nav.quick a", "Unfinished");
    person.until_text(&format!("#o{id}"), &id[28..]);
    person.click(&format!("#rows a[href$='{id}']"));
    person.until_path(&format!("/console/operations/{id}"));
    person.until_live();

    person.click_on("#now-why button", "Cancel");
    person.until_text("dialog", "Cancel this operation?");
    look(&person, "dialog");
    person.click_on("dialog button", "Back");
    person.until_gone("dialog");
    assert_eq!(house.phase(&id), "waiting");

    person.click_on("#now-why button", "Cancel");
    person.click_on("dialog button", "Cancel");
    house.until_phase(&id, "cancelled");
    person.until_text("#now-why .chip", "cancelled");
    assert_eq!(house.phase(&other), "waiting", "nobody asked for that");
    person.expect_no_complaint();
}

#[test]
fn an_operation_is_paused_and_goes_on() {
    let house = House::open();
    let id = house.submit_waiting();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go(&format!("/console/operations/{id}"));
    for (verb, phase) in [("Pause", "paused"), ("Resume", "waiting")] {
        person.click_on("#now-why button", verb);
        person.click_on("dialog button", verb);
        house.until_phase(&id, phase);
        person.until_text("#now-why .chip", phase);
    }
    person.expect_no_complaint();
}

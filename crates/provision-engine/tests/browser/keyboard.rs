//! Without a mouse.

use reqwest::Method;

use crate::house::House;
use crate::keys::{ENTER, ESCAPE, SPACE, TAB};
use crate::person::Person;
use crate::stage::until;

#[test]
fn the_keyboard_is_enough_from_signing_in_to_cancelling() {
    let house = House::open();
    let id = house.submit_waiting();
    let (name, password) = house.first_user();
    let person = Person::new(&house.url);
    person.go("/console");
    assert!(person.focused().starts_with("input User"), "{}", person.focused());
    person.press(&format!("{name}{TAB}{password}{ENTER}"));
    person.until_path("/console");

    // The first stop leads over the menu.
    person.press(TAB);
    assert_eq!(person.focused(), "a Skip to the page");
    person.press(ENTER);
    assert!(person.focused().starts_with("main"), "{}", person.focused());
    person.press(TAB);
    assert!(person.script("return document.activeElement.closest('main') !== null", &[]) == true);

    person.go("/console");
    person.tab_to("a Operations");
    person.press(ENTER);
    person.until_path("/console/operations");
    if person.script("return document.querySelector('details.more-filters').open", &[]) != true {
        person.tab_to("summary Filters");
        person.press(ENTER);
    }
    person.tab_to("input waiting");
    person.press(SPACE);
    person.tab_to("button Filter");
    person.press(ENTER);
    until("the filter in the address", || person.path().contains("phase=waiting").then_some(()));
    person.until_text("#rows", "demo.hello");
    person.tab_to("a demo.hello");
    person.press(ENTER);
    person.until_path(&format!("/console/operations/{id}"));
    person.until_live();

    // Escape means no.
    person.tab_to("button Cancel");
    person.press(ENTER);
    person.until_text("dialog", "Cancel this operation?");
    assert!(person.focused().starts_with("button Back"), "{}", person.focused());
    person.press(ESCAPE);
    person.until_gone("dialog");
    assert_eq!(house.phase(&id), "waiting");

    person.tab_to("button Cancel");
    person.press(ENTER);
    person.until_text("dialog", "Cancel this operation?");
    person.tab_to("input Reason");
    person.press("by hand");
    person.tab_to("button Cancel");
    person.press(ENTER);
    house.until_phase(&id, "cancelled");
    person.until_text("#now-why .chip", "cancelled");
    let journal = house.api(Method::GET, &format!("/operations/{id}/journal"), None).to_string();
    assert!(journal.contains("by hand"), "{journal}");
    person.expect_no_complaint();
}

#[test]
fn going_back_with_the_keyboard_comes_by_the_same_stops() {
    let house = House::open();
    house.submit_waiting();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go("/console/operations");
    let mut stops = Vec::new();
    for _ in 0..12 {
        person.press(TAB);
        stops.push(person.focused());
    }
    assert!(stops.iter().all(|stop| !stop.is_empty()), "{stops:?}");
    for stop in stops.iter().rev().skip(1) {
        person.press_shift_tab();
        assert_eq!(person.focused(), *stop);
    }
}

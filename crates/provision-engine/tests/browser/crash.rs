//! The server dies, and the page goes on.

use crate::house::House;
use crate::person::Person;
use crate::stage::until;

#[test]
fn a_page_outlives_its_server_and_shows_the_truth_again() {
    let mut house = House::open();
    let id = house.submit_waiting();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go(&format!("/console/operations/{id}"));
    person.until_live();

    house.kill();
    person.until_text("#offline", "The server does not answer.");
    house.serve_again();
    until("the page without the notice", || person.text("#offline").is_empty().then_some(()));
    house.place.expect(0, &["operations", "cancel", &id, "--wait"]);
    person.until_text("#now-why .chip", "cancelled");
    assert_eq!(house.phase(&id), "cancelled");
}

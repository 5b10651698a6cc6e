//! The list of operations as a tool: searched, sorted, and several operations asked at once.

use serde_json::{Value, json};

use crate::house::House;
use crate::person::Person;
use crate::pictures;

/// The ids of the rows, from top to bottom.
fn rows(person: &Person) -> Vec<String> {
    let rows = "return [...document.querySelectorAll('#rows tbody tr')].map(row => row.id.slice(1))";
    serde_json::from_value(person.script(rows, &[])).unwrap()
}

#[test]
fn a_search_finds_an_operation_by_its_id_and_by_its_last_error() {
    let house = House::open();
    let good = house.submit(&json!({ "name": "Ada" }));
    let bad = house.submit(&json!({ "name": "Bob", "fail": true }));
    house.until_phase(&good, "succeeded");
    house.until_phase(&bad, "undone");
    let person = Person::new(&house.url);
    person.sign_in(&house.token);

    // From any page, with one key.
    person.until_live();
    person.press("/");
    assert!(person.focused().starts_with("input"), "{}", person.focused());
    person.fill("#q", "asked for a failure");
    person.press("\u{E007}");
    person.until_text("#rows", "1 found");
    assert_eq!(rows(&person), [bad.as_str()]);
    // The end of an id, as rows show it, and its beginning.
    for part in [&good[28..], &good[..18]] {
        person.go(&format!("/console/operations?q={part}"));
        assert!(rows(&person).contains(&good), "{part}: {:?}", rows(&person));
        assert_eq!(person.value("#q"), part);
    }
    person.go("/console/operations?q=nothing-like-this");
    person.until_text("#rows", "No operation matches these filters.");
    pictures::look(&person, "operations-search-none");
    person.expect_no_complaint();
}

#[test]
fn the_head_of_a_column_sorts_and_the_address_keeps_it() {
    let house = House::open();
    let ids: Vec<String> = (0..3).map(|_| house.submit(&json!({ "name": "Ada" }))).collect();
    for id in &ids {
        house.until_phase(id, "succeeded");
    }
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go("/console/operations");
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(rows(&person), newest_first);
    person.click_on("th a", "Created");
    person.until_path("/console/operations?sort=created");
    assert_eq!(rows(&person), ids);
    person.click_on("th a", "Created");
    person.until_path("/console/operations");
    assert_eq!(rows(&person), newest_first);
    person.click_on("th a", "Duration");
    person.until_path("/console/operations?sort=-duration");
    assert_eq!(person.text("th[aria-sort=descending]").trim_end_matches([' ', '\u{25bc}']), "Duration");
    person.expect_no_complaint();
}

#[test]
fn several_operations_are_cancelled_at_once_after_a_question() {
    let house = House::open();
    let ids: Vec<String> = (0..3).map(|_| house.submit_waiting()).collect();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go("/console/operations");
    person.until_live();
    person.click_on(".bulk-bar button", "Cancel");
    person.until_text(".flash.bad", "Select one or more operations first.");
    for id in &ids[..2] {
        person.click(&format!("#o{id} input[type=checkbox]"));
    }
    // What else happens does not untick a box.
    let other = house.submit(&json!({ "name": "Ada" }));
    person.until_text(&format!("#o{other}"), "succeeded");
    person.click_on(".bulk-bar button", "Cancel");
    person.until_text("dialog", "Cancel 2 operations?");
    person.click_on("dialog button", "Cancel");
    person.until_text(".flash.good", "Cancel requested for 2 operations.");
    for id in &ids[..2] {
        house.until_phase(id, "cancelled");
    }
    assert_eq!(house.phase(&ids[2]), "waiting");
    person.expect_no_complaint();
}

#[test]
fn a_phone_shows_cards_and_one_line_of_head() {
    let house = House::open();
    let id = house.submit_waiting();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    pictures::phone(&person);
    person.go("/console/operations");
    let heights: Value = person.script(
        "return [document.querySelector('header.top').offsetHeight, innerWidth,
            document.querySelector('#rows tbody tr').offsetWidth]",
        &[],
    );
    assert!(heights[0].as_u64().unwrap() < 60, "{heights}");
    assert!(heights[2].as_u64().unwrap() <= heights[1].as_u64().unwrap(), "{heights}");
    let label =
        "return getComputedStyle(document.querySelector('#rows tbody td:nth-child(3)'), '::before').content";
    assert_eq!(person.script(label, &[]), "\"Workflow\"");
    person.until_text(&format!("#o{id}"), "waiting");
    person.click(&format!("#o{id} input[type=checkbox]"));
    person.click_on(".bulk-bar button", "Pause");
    person.click_on("dialog button", "Pause");
    house.until_phase(&id, "paused");
    assert!(pictures::sticks_out(&person).is_empty());
    person.expect_no_complaint();
}

//! Coming in, staying in, and going out.

use reqwest::Method;
use serde_json::json;

use crate::house::House;
use crate::person::Person;
use crate::pictures::look;
use crate::stage::Place;

#[test]
fn the_first_user_comes_in_with_the_password_in_the_file_and_goes_out_again() {
    let house = House::open();
    let (name, password) = house.first_user();
    let person = Person::new(&house.url);
    person.go("/console/operations?phase=stuck");
    person.type_password(&name, &password);
    person.until_path("/console/operations?phase=stuck");
    assert_eq!(person.text(".who-name"), name);
    let session = person.cookie("pe_session").unwrap();

    person.click(".who summary");
    look(&person, "card-of-the-user");
    person.click_on(".who-card button", "Sign out");
    person.until_path("/console/sign-in");
    person.until_text("main", "You are signed out.");
    assert_eq!(person.cookie("pe_session"), None);

    // Whoever kept the cookie has nothing.
    person.set_cookie("pe_session", &session);
    person.go("/console");
    person.until_path("/console/sign-in?back=%2Fconsole");
}

#[test]
fn wrong_passwords_are_said_and_then_lock_the_user() {
    let house = House::open_in(Place::new().env("PROVISION_ENGINE_CONSOLE__ATTEMPTS", "3"));
    let (name, password) = house.first_user();
    let person = Person::new(&house.url);
    person.go("/console");
    for _ in 0..3 {
        person.type_password(&name, "not this one");
        // The page before this one says the same words, but its password is still typed in.
        person.until_value("#password", "");
        person.until_text("#sign-in-error", "The user or the password is wrong.");
        assert_eq!(person.value("#name"), name, "what was typed is still there");
    }
    person.complaints();
    look(&person, "sign-in-wrong");
    // The right one comes too late, and whoever guesses does not learn that it was right.
    person.type_password(&name, &password);
    person.until_text("#sign-in-error", "a user is locked for");
    assert_eq!(person.cookie("pe_session"), None);
    person.go("/console");
    person.until_path("/console/sign-in?back=%2Fconsole");
}

#[test]
fn a_token_that_is_not_known_or_is_for_a_platform_opens_nothing() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.go("/console/sign-in");
    person.type_token("pe_nothing");
    person.until_text("#sign-in-error", "not known here");
    person.type_token(&house.token_for("broker"));
    person.until_text("#sign-in-error", "for a platform");
}

#[test]
fn a_session_that_ended_leads_to_the_page_to_sign_in_and_back() {
    let house = House::open();
    let id = house.submit_waiting();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    let here = format!("/console/operations/{id}");
    person.go(&here);
    person.until_live();
    let sessions = house.api(Method::GET, "/sessions", None);
    let [session] = sessions["items"].as_array().unwrap().as_slice() else { panic!("{sessions}") };
    house.api(Method::DELETE, &format!("/sessions/{}", session["id"].as_str().unwrap()), None);

    // The page notices by itself.
    person.until_path(&format!("/console/sign-in?back={}", here.replace('/', "%2F")));
    person.type_token(&house.token);
    person.until_path(&here);
    person.until_text("main", "waiting");
}

/// A page that is open and true does not count as somebody who is there.
#[test]
fn a_session_that_nobody_uses_ends_by_itself() {
    let house = House::open_in(Place::new().env("PROVISION_ENGINE_CONSOLE__IDLE", "20s"));
    let id = house.submit_waiting();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    let here = format!("/console/operations/{id}");
    person.go(&here);
    person.until_live();
    person.until_path(&format!("/console/sign-in?back={}", here.replace('/', "%2F")));
    assert_eq!(house.api(Method::GET, "/sessions", None)["items"], json!([]));
    person.type_token(&house.token);
    person.until_path(&here);

    // Nor does one that asks every few seconds.
    person.go("/console/images");
    person.until_path("/console/sign-in");
}

#[test]
fn a_form_without_the_word_of_its_page_is_refused() {
    let house = House::open();
    let id = house.submit_waiting();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go(&format!("/console/operations/{id}"));
    let path = format!("/console/operations/{id}/ask/cancel");
    for word in ["", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        let (status, said) = person.post(&path, &json!({ "confirmed": "yes", "_word": word }));
        assert_eq!(status, 403, "{said}");
    }
    assert_eq!(house.phase(&id), "waiting");
    let (status, _) = person.post(&path, &json!({ "confirmed": "yes", "_word": person.word() }));
    assert_eq!(status, 200);
    house.until_phase(&id, "cancelled");
}

#[test]
fn colours_are_chosen_and_remembered() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    for (words, theme) in [("Dark", "dark"), ("Light", "light"), ("System", "")] {
        person.click(".who summary");
        person.click_on(".themes button", words);
        person.until_path("/console");
        person.until_theme(theme);
        person.go("/console/operations");
        person.until_theme(theme);
        person.go("/console");
    }
}

//! A public key as a file: dropped where it belongs, or chosen.

use serde_json::json;

use crate::launching::{
    KEY, ONWARD, come_to_the_key, expect_machines, quick_house, say_where, until_launched, until_machines_run,
};
use crate::person::{Person, insist};
use crate::pictures::look;
use crate::stage::Place;

/// One byte more than is read.
const TOO_BIG: usize = 64 * 1024 + 1;
/// What a file manager does in the end; answers whether the page took the file.
const DROP: &str = "const area = document.querySelector(arguments[0]), dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([arguments[2]], arguments[1]));
    const send = kind => !area.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
    return send('dragover') && send('drop');";

#[track_caller]
fn drop_file(person: &Person, css: &str, name: &str, text: &str) {
    let taken = person.script(DROP, &[css.into(), name.into(), text.into()]);
    assert!(taken == true, "the browser would open {name}");
}

#[track_caller]
fn choose_file(person: &Person, css: &str, place: &Place, name: &str) {
    let input = person.find(css).unwrap();
    let path = place.path(name).display().to_string();
    insist(person.browser().wire.post(&input.path("value"), &json!({ "text": path })));
}

#[test]
fn a_key_file_is_dropped_or_chosen_and_what_is_none_is_said() {
    let house = quick_house();
    let other = KEY.replace("ada@example", "ada@other");
    house.place.write("other.pub", &format!("{other}\n"));
    house.place.write("private.pub", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n");
    house.place.write("letter.pub", "Dear Ada,");
    house.place.write("film.pub", &"x".repeat(TOO_BIG));
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    come_to_the_key(&person, |person| say_where(person, "1"));
    person.fill("#pubkey_name", "mine");
    drop_file(&person, "#pubkey_body", "mine.pub", &format!("{KEY}\n"));
    person.until_text("#pubkey_body-said", "ssh-ed25519, SHA256:");
    person.until_text("#pubkey_body-said", "ada@example");
    assert_eq!(person.value("#pubkey_body"), KEY);
    look(&person, "wizard-key-dropped");

    // What is too big is not even read.
    drop_file(&person, "#pubkey_body", "film.pub", &"x".repeat(TOO_BIG));
    person.until_text("#pubkey_body-said .field-error", "too big");
    assert_eq!(person.value("#pubkey_body"), KEY, "the key before is still there");
    look(&person, "wizard-key-too-big");
    choose_file(&person, "#pubkey_file", &house.place, "private.pub");
    person.until_text("#pubkey_body-said .field-error", "private key");
    choose_file(&person, "#pubkey_file", &house.place, "film.pub");
    person.until_text("#pubkey_body-said .field-error", "too big");
    choose_file(&person, "#pubkey_file", &house.place, "letter.pub");
    person.until_text("#pubkey_body-said .field-error", "begins with ssh-ed25519");

    // Nobody goes on with it, and nothing else is lost.
    person.click(ONWARD);
    person.until_text("#wizard .flash.bad", "Please fix the highlighted fields.");
    person.complaints();
    assert_eq!(person.value("#pubkey_name"), "mine");
    choose_file(&person, "#pubkey_file", &house.place, "other.pub");
    person.until_text("#pubkey_body-said .field-good", "ada@other");
    person.click(ONWARD);
    person.until_text("h2", "Review");
    for part in ["web", "vim", "t3.small", "mine (new)"] {
        person.until_text("main", part);
    }
    person.click(ONWARD);
    until_launched(&person);
    until_machines_run(&house, &person, "The machine runs");
    expect_machines(&house, &person, 1);
}

#[test]
fn a_key_file_is_kept_for_later_launches() {
    let house = quick_house();
    house.place.write("mine.pub", &format!("{KEY}\n"));
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.go("/console/launch/keys");
    person.fill("#name", "mine");
    drop_file(&person, "#body", "film.pub", &"x".repeat(TOO_BIG));
    person.until_text("#body-said .field-error", "too big");
    choose_file(&person, "#file", &house.place, "mine.pub");
    person.until_text("#body-said .field-good", "SHA256:");
    person.click_on("main form button", "Add the key");
    person.until_text(".flash.good", "mine is kept.");
    look(&person, "keys-kept");
}

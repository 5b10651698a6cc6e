//! A public key as a file: dropped where it belongs, or chosen.

use serde_json::json;

use crate::launching::{
    KEY, ONWARD, come_to_the_key, expect_machines, quick_engine, say_where, until_launched,
    until_machines_run,
};
use crate::page_driver::{PageDriver, insist};
use crate::pictures::look;
use crate::stage::DataDirectory;

/// One byte more than is read.
const TOO_BIG: usize = 64 * 1024 + 1;
/// What a file manager does in the end; answers whether the page took the file.
const DROP: &str = "const area = document.querySelector(arguments[0]), dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([arguments[2]], arguments[1]));
    const send = kind => !area.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
    return send('dragover') && send('drop');";

#[track_caller]
fn drop_file(page_driver: &PageDriver, css: &str, name: &str, text: &str) {
    let taken = page_driver.script(DROP, &[css.into(), name.into(), text.into()]);
    assert!(taken == true, "the browser would open {name}");
}

#[track_caller]
fn choose_file(page_driver: &PageDriver, css: &str, place: &DataDirectory, name: &str) {
    let input = page_driver.find(css).unwrap();
    let path = place.path(name).display().to_string();
    insist(page_driver.browser().wire.post(&input.path("value"), &json!({ "text": path })));
}

#[test]
fn a_key_file_is_dropped_or_chosen_and_what_is_none_is_said() {
    let fixture = quick_engine();
    let other = KEY.replace("ada@example", "ada@other");
    fixture.place.write("other.pub", &format!("{other}\n"));
    fixture.place.write("private.pub", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n");
    fixture.place.write("letter.pub", "Dear Ada,");
    fixture.place.write("film.pub", &"x".repeat(TOO_BIG));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    come_to_the_key(&page_driver, |page_driver| say_where(page_driver, "1"));
    page_driver.fill("#pubkey_name", "mine");
    drop_file(&page_driver, "#pubkey_body", "mine.pub", &format!("{KEY}\n"));
    page_driver.until_text("#pubkey_body-said", "ssh-ed25519, SHA256:");
    page_driver.until_text("#pubkey_body-said", "ada@example");
    assert_eq!(page_driver.value("#pubkey_body"), KEY);
    look(&page_driver, "wizard-key-dropped");

    // What is too big is not even read.
    drop_file(&page_driver, "#pubkey_body", "film.pub", &"x".repeat(TOO_BIG));
    page_driver.until_text("#pubkey_body-said .field-error", "too big");
    assert_eq!(page_driver.value("#pubkey_body"), KEY, "the key before is still there");
    look(&page_driver, "wizard-key-too-big");
    choose_file(&page_driver, "#pubkey_file", &fixture.place, "private.pub");
    page_driver.until_text("#pubkey_body-said .field-error", "private key");
    choose_file(&page_driver, "#pubkey_file", &fixture.place, "film.pub");
    page_driver.until_text("#pubkey_body-said .field-error", "too big");
    choose_file(&page_driver, "#pubkey_file", &fixture.place, "letter.pub");
    page_driver.until_text("#pubkey_body-said .field-error", "begins with ssh-ed25519");

    // It does not go on, and nothing else is lost.
    page_driver.click(ONWARD);
    page_driver.until_text("#wizard .flash.bad", "Please fix the highlighted fields.");
    page_driver.error_texts();
    assert_eq!(page_driver.value("#pubkey_name"), "mine");
    choose_file(&page_driver, "#pubkey_file", &fixture.place, "other.pub");
    page_driver.until_text("#pubkey_body-said .field-good", "ada@other");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Review");
    for part in ["web", "vim", "t3.small", "mine (new)"] {
        page_driver.until_text("main", part);
    }
    page_driver.click(ONWARD);
    until_launched(&page_driver);
    until_machines_run(&fixture, &page_driver, "The instance is running");
    expect_machines(&fixture, &page_driver, 1);
}

#[test]
fn a_key_file_is_kept_for_later_launches() {
    let fixture = quick_engine();
    fixture.place.write("mine.pub", &format!("{KEY}\n"));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/launch/keys");
    page_driver.fill("#name", "mine");
    drop_file(&page_driver, "#body", "film.pub", &"x".repeat(TOO_BIG));
    page_driver.until_text("#body-said .field-error", "too big");
    choose_file(&page_driver, "#file", &fixture.place, "mine.pub");
    page_driver.until_text("#body-said .field-good", "SHA256:");
    page_driver.click_on("main form button", "Create public key");
    page_driver.until_text(".flash.good", "Public key mine created.");
    look(&page_driver, "keys-kept");
}

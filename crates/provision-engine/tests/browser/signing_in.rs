//! Coming in, staying in, and going out.

use reqwest::Method;
use serde_json::json;

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::DataDirectory;

#[test]
fn the_first_user_comes_in_with_the_password_in_the_file_and_goes_out_again() {
    let fixture = BrowserFixture::open();
    let (name, password) = fixture.first_user();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.go("/console/operations?phase=stuck");
    page_driver.type_password(&name, &password);
    page_driver.until_path("/console/operations?phase=stuck");
    assert_eq!(page_driver.text(".who-name"), name);
    let session = page_driver.cookie("pe_session").unwrap();

    page_driver.click(".who summary");
    look(&page_driver, "card-of-the-user");
    page_driver.click_on(".who-card button", "Sign out");
    page_driver.until_path("/console/sign-in");
    page_driver.until_text("main", "You are signed out.");
    assert_eq!(page_driver.cookie("pe_session"), None);

    // The user who kept the cookie has nothing.
    page_driver.set_cookie("pe_session", &session);
    page_driver.go("/console");
    page_driver.until_path("/console/sign-in?back=%2Fconsole");
}

#[test]
fn wrong_passwords_are_said_and_then_lock_the_user() {
    let fixture =
        BrowserFixture::open_in(DataDirectory::new().env("PROVISION_ENGINE_CONSOLE__ATTEMPTS", "3"));
    let (name, password) = fixture.first_user();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.go("/console");
    for _ in 0..3 {
        page_driver.type_password(&name, "not this one");
        // The page before this one says the same words, but its password is still typed in.
        page_driver.until_value("#password", "");
        page_driver.until_text("#sign-in-error", "The user or the password is wrong.");
        assert_eq!(page_driver.value("#name"), name, "what was typed is still there");
    }
    page_driver.error_texts();
    look(&page_driver, "sign-in-wrong");
    // The right one comes too late, and the user who guesses does not learn that it was right.
    page_driver.type_password(&name, &password);
    page_driver.until_text("#sign-in-error", "a user is locked for");
    assert_eq!(page_driver.cookie("pe_session"), None);
    page_driver.go("/console");
    page_driver.until_path("/console/sign-in?back=%2Fconsole");
}

#[test]
fn a_token_that_is_not_known_or_is_for_a_platform_opens_nothing() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.go("/console/sign-in");
    page_driver.type_token("pe_nothing");
    page_driver.until_text("#sign-in-error", "not known here");
    page_driver.type_token(&fixture.token_for("broker"));
    page_driver.until_text("#sign-in-error", "for a platform");
}

#[test]
fn a_session_that_ended_leads_to_the_page_to_sign_in_and_back() {
    let fixture = BrowserFixture::open();
    let id = fixture.submit_waiting();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    let here = format!("/console/operations/{id}");
    page_driver.go(&here);
    page_driver.until_live();
    let sessions = fixture.api(Method::GET, "/sessions", None);
    let [session] = sessions["items"].as_array().unwrap().as_slice() else { panic!("{sessions}") };
    fixture.api(Method::DELETE, &format!("/sessions/{}", session["id"].as_str().unwrap()), None);

    // The page notices by itself.
    page_driver.until_path(&format!("/console/sign-in?back={}", here.replace('/', "%2F")));
    page_driver.type_token(&fixture.token);
    page_driver.until_path(&here);
    page_driver.until_text("main", "waiting");
}

/// A page that is open and true does not count as a user who is there.
#[test]
fn a_session_that_no_one_uses_ends_by_itself() {
    let fixture = BrowserFixture::open_in(DataDirectory::new().env("PROVISION_ENGINE_CONSOLE__IDLE", "20s"));
    let id = fixture.submit_waiting();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    let here = format!("/console/operations/{id}");
    page_driver.go(&here);
    page_driver.until_live();
    page_driver.until_path(&format!("/console/sign-in?back={}", here.replace('/', "%2F")));
    assert_eq!(fixture.api(Method::GET, "/sessions", None)["items"], json!([]));
    page_driver.type_token(&fixture.token);
    page_driver.until_path(&here);

    // Nor does one that asks every few seconds.
    page_driver.go("/console/images");
    page_driver.until_path("/console/sign-in");
}

#[test]
fn a_form_without_the_word_of_its_page_is_refused() {
    let fixture = BrowserFixture::open();
    let id = fixture.submit_waiting();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go(&format!("/console/operations/{id}"));
    let path = format!("/console/operations/{id}/ask/cancel");
    for word in ["", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        let (status, said) = page_driver.post(&path, &json!({ "confirmed": "yes", "_csrf": word }));
        assert_eq!(status, 403, "{said}");
    }
    assert_eq!(fixture.phase(&id), "waiting");
    let (status, _) = page_driver.post(&path, &json!({ "confirmed": "yes", "_csrf": page_driver.word() }));
    assert_eq!(status, 200);
    fixture.until_phase(&id, "cancelled");
}

#[test]
fn colours_are_chosen_and_remembered() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    for (words, theme) in [("Dark", "dark"), ("Light", "light"), ("System", "")] {
        page_driver.click(".who summary");
        page_driver.click_on(".themes button", words);
        page_driver.until_path("/console");
        page_driver.until_theme(theme);
        page_driver.go("/console/operations");
        page_driver.until_theme(theme);
        page_driver.go("/console");
    }
}

//! What people make, change and take away with the pages: runtimes, machines, tokens and each other.

use reqwest::Method;
use serde_json::Value;

use crate::house::House;
use crate::person::Person;
use crate::pictures::look;
use crate::stage::{Place, until};

fn signed_in() -> (House, Person) {
    let house = House::open();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    (house, person)
}

#[test]
fn the_first_screen_starts_one_of_each() {
    let (house, person) = signed_in();
    let offers = [
        ("Start a launch", "machines run"),
        ("Start a runtime", "succeeded"),
        ("Start a serverless runtime", "succeeded"),
    ];
    for (number, (offer, end)) in offers.into_iter().enumerate() {
        person.go(if number == 0 { "/console" } else { "/console/try" });
        person.click_on(".offers button", offer);
        // What says that it was started goes with the end, which comes at any moment.
        person.until_text("main", end);
        person.expect_no_complaint();
    }
    let begun = ["launch", "runtime.provision", "serverless.create"];
    until("the end of all", || {
        let done = house.api(Method::GET, "/operations?phase=succeeded", None);
        let done: Vec<&Value> =
            done["items"].as_array().unwrap().iter().map(|one| &one["workflow"]).collect();
        begun.iter().all(|one| done.contains(&&Value::from(*one))).then_some(())
    });
    person.go("/console");
    look(&person, "home-after-all");
}

#[test]
fn a_runtime_is_made_from_a_form_bound_and_taken_down() {
    // Runtimes send their audit log somewhere, which takes overrides of every kind.
    let house = House::open_with(Place::new(), |place, _| {
        std::fs::write(place.path("password"), "hunter2").unwrap();
        let password = place.path("password").to_str().unwrap().to_owned();
        place
            .env("PROVISION_ENGINE_RUNTIME__AUDIT_LOG__URL", "http://127.0.0.1:1")
            .env("PROVISION_ENGINE_RUNTIME__AUDIT_LOG__USERNAME", "audit")
            .env("PROVISION_ENGINE_RUNTIME__AUDIT_LOG__PASSWORD_FILE", password)
    });
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    person.click_on("nav.menu a", "Runtimes");
    person.click_on("main a", "Create");
    person.click_on(".plans a", "azure");

    // What is missing is said where it is missing.
    person.click_on("main form.card button.primary", "Create");
    person.until_text("main", "Something is missing or not allowed.");
    person.complaints();
    look(&person, "runtimes-new-corrected");
    person.fill("main form.card input[id$='name']", "first");
    person.select("main form.card select[id$='region']", "westeurope");
    person.click_on("main form.card button.primary", "Create");
    person.until_text("#now", "succeeded");
    // Its name is in the part that changes, because the broker tells it only when the runtime is there.
    person.until_text("#now h1", "first");
    let runtimes = house.api(Method::GET, "/runtimes", None).to_string();
    assert!(runtimes.contains("westeurope"), "{runtimes}");
    let here = person.path();

    let made = house.api(Method::GET, "/operations?workflow=runtime.provision", None);
    person.go(&format!("/console/operations/{}", made["items"][0]["id"].as_str().unwrap()));
    person.click_on("#now-knows summary", "Overrides as they were sent");
    person.until_text("#now-knows tbody", "fluent-bit.auditlog.user\taudit");
    person.until_text("#now-knows tbody", "fluent-bit.auditlog.tenant\tfrom the request, not kept");
    person.until_text("#now-knows tbody", "fluent-bit.auditlog.password\tsecret");
    look(&person, "operation-overrides");
    person.go(&here);

    person.click_on(".deeds a", "Bind");
    person.click_on("main form button", "Make credentials");
    person.until_text("h1", "Credentials");
    person.click_on("main summary", "Show it");
    person.until_text("main pre", "apiVersion");
    person.click_on("main a", "Back to the runtime");

    // Credentials that are out there keep it.
    person.click_on(".deeds button", "Deprovision");
    person.click_on("dialog button", "Deprovision");
    person.until_text(".flash.bad", "unbind it first");
    person.click_on("main button.danger", "Unbind");
    person.click_on("dialog button", "Unbind");
    person.until_text("#now", "There are none.");
    person.click_on(".deeds button", "Deprovision");
    person.click_on("dialog button", "Deprovision");
    person.until_text("#now", "Gone");
    person.expect_no_complaint();
}

#[test]
fn a_machine_is_terminated_in_the_inventory() {
    let (house, person) = signed_in();
    person.click_on(".offers button", "Start a launch");
    person.until_text("main", "machines run");
    person.click_on("nav.menu a", "Inventory");
    person.until_text("#now", "running");
    let machines = |state: &str| {
        let all = house.api(Method::GET, "/api/provisioning/v1/inventory", None);
        let items = all["data"].as_array().or(all["items"].as_array()).unwrap().clone();
        items.iter().filter(|one| one["state"] == state).count()
    };
    let before = machines("running");
    assert!(before > 1);
    person.click_on("#now button.danger", "Terminate");
    person.until_text("dialog", "What is on it is lost.");
    person.click_on("dialog button", "Terminate");
    until("one machine less", || (machines("running") == before - 1).then_some(()));
    person.go("/console/inventory?state=running");
    person.until_text("#now", "running");
    person.expect_no_complaint();
}

#[test]
fn somebody_new_is_let_in_changes_their_password_and_is_let_out() {
    let (house, person) = signed_in();
    person.go("/console/admin/people");
    person.fill("#name", "grace");
    person.select("#role", "reader");
    person.fill("#password", "short");
    person.click_on("section button.primary", "Add");
    person.until_text("#password-error", "12");
    assert_eq!(person.value("#name"), "grace", "what was typed is still there");
    person.complaints();
    person.fill("#password", "a long enough sentence");
    person.click_on("section button.primary", "Add");
    person.until_text("main", "grace is made");

    let other = Person::new(&house.url);
    other.go("/console");
    other.type_password("grace", "a long enough sentence");
    other.until_path("/console");
    other.go("/console/me");
    other.fill("#current", "a long enough sentence");
    other.fill("#new", "another long sentence");
    other.fill("#again", "another long sentence");
    other.click_on("main form button.primary", "Change the password");
    other.until_text("h1", "Sign in");
    other.type_password("grace", "another long sentence");
    other.until_path("/console");
    other.until_live();

    // Whoever is removed sees nothing more, without doing anything.
    person.go("/console/admin/people");
    person.click_on("main button.danger", "grace");
    person.click_on("dialog button", "Remove");
    other.until_text("h1", "Sign in");
}

#[test]
fn a_token_is_shown_once_and_works_until_it_is_deleted() {
    let (house, person) = signed_in();
    person.go("/console/admin/tokens");
    person.fill("#name", "dashboard");
    person.select("#role", "reader");
    person.click_on("section button.primary", "Make a token");
    person.until_text("main", "The token dashboard");
    person.click_on("main summary", "Show it");
    let token = person.text(".reveal pre");
    assert!(token.starts_with("pe_"), "{token}");
    look(&person, "admin-tokens-made");
    person.go("/console/admin/tokens");
    assert!(!person.script("return document.body.innerHTML", &[]).as_str().unwrap().contains(&token));

    let other = Person::new(&house.url);
    other.sign_in(&token);
    assert_eq!(other.text(".who-role"), "reader");
    person.click_on("main button.danger", "dashboard");
    person.click_on("dialog button", "Delete");
    person.until_text(".flash.good", "dashboard");
    other.go("/console/sign-in");
    other.type_token(&token);
    other.until_text("#sign-in-error", "not known here");
}

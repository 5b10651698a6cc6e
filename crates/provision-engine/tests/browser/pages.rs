//! Every page, as everybody sees it.

use serde_json::json;

use crate::crawl::crawl;
use crate::house::House;
use crate::person::Person;
use crate::pictures::{keep, look};
use crate::stage::Place;

/// Everything in the menu belongs to one of the tests below.
const SECTIONS: [&[&str]; 4] = [
    &["/console/operations", "/console/workflows"],
    &["/console/launch", "/console/launches", "/console/images", "/console/inventory"],
    &["/console/runtimes", "/console/serverless"],
    &["/console/admin", "/console/me", "/console/try"],
];

#[test]
fn the_page_to_sign_in_is_for_everybody() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.go("/console");
    person.until_path("/console/sign-in?back=%2Fconsole");
    look(&person, "sign-in");
    person.click("summary");
    look(&person, "sign-in-with-a-token");
}

#[test]
fn every_line_of_the_menu_leads_to_a_page_that_is_tested() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    let links = "return [...document.querySelectorAll('nav.menu a')].map(one => one.getAttribute('href'))";
    let links: Vec<String> = serde_json::from_value(person.script(links, &[])).unwrap();
    assert!(links.len() > 5, "{links:?}");
    for link in links {
        let is_known = link == "/console" || SECTIONS.concat().contains(&link.as_str());
        assert!(is_known, "{link}: add it to the sections");
        let (status, text) = person.fetch(&link);
        assert_eq!(status, 200, "{link}: {text}");
    }
    look(&person, "home-new");
}

#[test]
fn the_pages_about_operations_are_for_everybody() {
    let house = House::open();
    let done = house.submit(&json!({ "name": "Ada" }));
    let undone = house.submit(&json!({ "name": "Ada", "fail": true }));
    let waiting = house.submit_waiting();
    house.until_phase(&done, "succeeded");
    house.until_phase(&undone, "undone");

    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    look(&person, "home");
    for (path, name) in [
        ("/console/operations?phase=stuck".to_owned(), "operations-none"),
        (format!("/console/operations/{undone}"), "operation-undone"),
        (format!("/console/operations/{waiting}"), "operation-waiting"),
        (format!("/console/operations/{waiting}/ask/cancel"), "operation-ask"),
    ] {
        person.go(&path);
        look(&person, name);
    }
    crawl(&person, SECTIONS[0], &["/console/operations".into(), "/console/workflows".into()]);
}

#[test]
fn the_pages_about_launches_are_for_everybody() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    for (path, name) in [
        ("/console/launches", "launches-none"),
        ("/console/images", "images-none"),
        ("/console/inventory", "inventory-none"),
    ] {
        person.go(path);
        look(&person, name);
    }
    house.place.write(
        "mine.pub",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB me\n",
    );
    let how = ["--source", "sandbox", "--type", "t3.small", "--key", "mine.pub", "--wait"];
    house.place.expect(0, &[&["launch", "--distribution", "rhel-9", "--count", "2"], &how[..]].concat());
    let starts = SECTIONS[1].iter().map(|section| (*section).to_owned()).collect::<Vec<_>>();
    let found = crawl(&person, SECTIONS[1], &starts);
    assert!(found.contains("/console/launches/one"), "{found:?}");
}

#[test]
fn the_pages_about_runtimes_are_for_everybody() {
    let place = Place::new()
        .env("PROVISION_ENGINE_ONE_USER", "cognit")
        .env("PROVISION_ENGINE_ONE_PASSWORD", "cognitpass");
    let house = House::open_in(place);
    let create = ["instances", "create", "first", "--plan", "azure", "--wait"];
    let how = ["--param", "name=first", "--param", "region=westeurope"];
    house.place.expect(0, &[&create[..], &how[..]].concat());
    house.place.expect(0, &["serverless", "create", "--faas", "Function", "--wait"]);
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    let starts = SECTIONS[2].iter().map(|section| (*section).to_owned()).collect::<Vec<_>>();
    let found = crawl(&person, SECTIONS[2], &starts);
    for kind in ["/console/runtimes/one", "/console/runtimes/new/one", "/console/serverless/one"] {
        assert!(found.contains(kind), "{kind}: {found:?}");
    }
}

#[test]
fn the_pages_of_administrators_are_for_everybody() {
    let house = House::open();
    house.token_for("reader");
    let person = Person::new(&house.url);
    let (name, password) = house.first_user();
    person.go("/console");
    person.type_password(&name, &password);
    person.until_path("/console");
    let starts = SECTIONS[3].iter().map(|section| (*section).to_owned()).collect::<Vec<_>>();
    let found = crawl(&person, SECTIONS[3], &starts);
    assert!(found.len() >= 8, "{found:?}");
}

#[test]
fn what_is_not_there_is_said_on_a_page_for_everybody() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.sign_in(&house.token);
    for (path, name) in [
        ("/console/nowhere", "missing-page"),
        ("/console/operations/00000000-0000-7000-8000-000000000000", "missing-operation"),
        ("/console/launches/00000000-0000-7000-8000-000000000000", "missing-launch"),
        ("/console/runtimes/nothing", "missing-runtime"),
    ] {
        person.go(path);
        let complaints = person.complaints();
        assert!(complaints.iter().all(|line| line.contains("404")), "{complaints:?}");
        assert_eq!(person.fetch(path).0, 404, "{path}");
        person.complaints();
        look(&person, name);
    }
}

#[test]
fn the_pictures_of_the_readme_are_of_this_console() {
    let house = House::open();
    let person = Person::new(&house.url);
    for fail in [false, true] {
        let id = house.submit(&json!({ "name": "Ada", "fail": fail }));
        house.until_phase(&id, if fail { "undone" } else { "succeeded" });
    }
    let waiting = house.submit_waiting();
    person.sign_in(&house.token);
    keep(&person, "home", 760);
    person.go(&format!("/console/operations/{waiting}"));
    keep(&person, "operation", 860);
}

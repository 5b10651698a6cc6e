//! Every page, as everybody sees it.

use serde_json::json;

use crate::crawl::crawl;
use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::{keep, look};
use crate::stage::DataDirectory;

/// Everything in the menu belongs to one of the tests below.
const SECTIONS: [&[&str]; 4] = [
    &["/console/operations", "/console/workflows"],
    &["/console/launch", "/console/launches", "/console/images", "/console/inventory"],
    &["/console/runtimes", "/console/upgrades", "/console/serverless"],
    &["/console/admin", "/console/me", "/console/try"],
];

#[test]
fn the_page_to_sign_in_is_for_everyone() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.go("/console");
    page_driver.until_path("/console/sign-in?back=%2Fconsole");
    look(&page_driver, "sign-in");
    page_driver.click("summary");
    look(&page_driver, "sign-in-with-a-token");
}

#[test]
fn every_line_of_the_menu_leads_to_a_page_that_is_tested() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    let links = "return [...document.querySelectorAll('nav.menu a')].map(one => one.getAttribute('href'))";
    let links: Vec<String> = serde_json::from_value(page_driver.script(links, &[])).unwrap();
    assert!(links.len() > 5, "{links:?}");
    for link in links {
        let is_known = link == "/console" || SECTIONS.concat().contains(&link.as_str());
        assert!(is_known, "{link}: add it to the sections");
        let (status, text) = page_driver.fetch(&link);
        assert_eq!(status, 200, "{link}: {text}");
    }
    look(&page_driver, "home-new");
}

#[test]
fn the_pages_about_operations_are_for_everyone() {
    let fixture = BrowserFixture::open();
    let done = fixture.submit(&json!({ "name": "Ada" }));
    let undone = fixture.submit(&json!({ "name": "Ada", "fail": true }));
    let waiting = fixture.submit_waiting();
    fixture.until_phase(&done, "succeeded");
    fixture.until_phase(&undone, "undone");

    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    look(&page_driver, "home");
    for (path, name) in [
        ("/console/operations?phase=stuck".to_owned(), "operations-none"),
        (format!("/console/operations/{undone}"), "operation-undone"),
        (format!("/console/operations/{waiting}"), "operation-waiting"),
        (format!("/console/operations/{waiting}/ask/cancel"), "operation-ask"),
    ] {
        page_driver.go(&path);
        look(&page_driver, name);
    }
    crawl(&page_driver, SECTIONS[0], &["/console/operations".into(), "/console/workflows".into()]);
}

#[test]
fn the_pages_about_launches_are_for_everyone() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    for (path, name) in [
        ("/console/launches", "launches-none"),
        ("/console/images", "images-none"),
        ("/console/inventory", "inventory-none"),
    ] {
        page_driver.go(path);
        look(&page_driver, name);
    }
    fixture.place.write(
        "mine.pub",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB me\n",
    );
    let how = ["--source", "sandbox", "--type", "t3.small", "--key", "mine.pub", "--wait"];
    fixture.place.expect(0, &[&["launch", "--distribution", "rhel-9", "--count", "2"], &how[..]].concat());
    let starts = SECTIONS[1].iter().map(|section| (*section).to_owned()).collect::<Vec<_>>();
    let found = crawl(&page_driver, SECTIONS[1], &starts);
    assert!(found.contains("/console/launches/one"), "{found:?}");
}

#[test]
fn the_pages_about_runtimes_are_for_everyone() {
    let place = DataDirectory::new()
        .env("PROVISION_ENGINE_ONE_USER", "cognit")
        .env("PROVISION_ENGINE_ONE_PASSWORD", "cognitpass");
    let fixture = BrowserFixture::open_in(place);
    let create = ["instances", "create", "first", "--plan", "azure", "--wait"];
    let how = ["--param", "name=first", "--param", "region=westeurope"];
    fixture.place.expect(0, &[&create[..], &how[..]].concat());
    fixture.place.expect(0, &["serverless", "create", "--faas", "Function", "--wait"]);
    let upgrade = ["upgrades", "start", "--cluster", "1.22.9", "--include", "plan=azure", "--wait"];
    fixture.place.expect(0, &upgrade);
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    let starts = SECTIONS[2].iter().map(|section| (*section).to_owned()).collect::<Vec<_>>();
    let found = crawl(&page_driver, SECTIONS[2], &starts);
    let is_upgrade = |page: &String| page.starts_with("/console/upgrades/") && !page.ends_with("/new");
    assert!(found.iter().any(is_upgrade), "{found:?}");
    for kind in ["/console/runtimes/one", "/console/runtimes/new/one", "/console/serverless/one"] {
        assert!(found.contains(kind), "{kind}: {found:?}");
    }
}

#[test]
fn the_pages_of_administrators_are_for_everyone() {
    let fixture = BrowserFixture::open();
    fixture.token_for("reader");
    let page_driver = PageDriver::new(&fixture.url);
    let (name, password) = fixture.first_user();
    page_driver.go("/console");
    page_driver.type_password(&name, &password);
    page_driver.until_path("/console");
    let starts = SECTIONS[3].iter().map(|section| (*section).to_owned()).collect::<Vec<_>>();
    let found = crawl(&page_driver, SECTIONS[3], &starts);
    assert!(found.len() >= 8, "{found:?}");
}

#[test]
fn what_is_not_there_is_said_on_a_page_for_everyone() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    for (path, name) in [
        ("/console/nowhere", "missing-page"),
        ("/console/operations/00000000-0000-7000-8000-000000000000", "missing-operation"),
        ("/console/launches/00000000-0000-7000-8000-000000000000", "missing-launch"),
        ("/console/runtimes/nothing", "missing-runtime"),
    ] {
        page_driver.go(path);
        let error_texts = page_driver.error_texts();
        assert!(error_texts.iter().all(|line| line.contains("404")), "{error_texts:?}");
        assert_eq!(page_driver.fetch(path).0, 404, "{path}");
        page_driver.error_texts();
        look(&page_driver, name);
    }
}

#[test]
fn the_pictures_of_the_readme_are_of_this_console() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    for fail in [false, true] {
        let id = fixture.submit(&json!({ "name": "Ada", "fail": fail }));
        fixture.until_phase(&id, if fail { "undone" } else { "succeeded" });
    }
    let waiting = fixture.submit_waiting();
    page_driver.sign_in(&fixture.token);
    keep(&page_driver, "home", 760);
    page_driver.go(&format!("/console/operations/{waiting}"));
    keep(&page_driver, "operation", 860);
}

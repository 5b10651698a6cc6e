//! Every list begins with the newest: of the API, of the command line and of the console.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::BrowserFixture;
use crate::launching::{KEY, quick_engine};
use crate::page_driver::PageDriver;

const NAMES: [&str; 2] = ["older", "newer"];
const LAUNCHES: &str = "/api/provisioning/v1/launches";
const INVENTORY: &str = "/api/provisioning/v1/inventory";
const IMAGES: &str = "/api/provisioning/v1/images";

/// One list, in the order in which both things were created.
struct List {
    api: &'static str,
    command: &'static [&'static str],
    page: &'static str,
    /// What names the older thing and the newer one.
    names: [String; 2],
}

fn list(
    api: &'static str,
    command: &'static [&'static str],
    page: &'static str,
    names: [impl Into<String>; 2],
) -> List {
    List { api, command, page, names: names.map(Into::into) }
}

/// Two of everything, the older one first.
fn make_two_of_everything(fixture: &BrowserFixture) -> Vec<List> {
    let run = |arguments: &[&str]| fixture.place.expect(0, arguments).out.trim().to_owned();
    let upgrades = NAMES.map(|name| {
        fixture.submit(&json!({ "name": format!("{name}-greeting") }));
        let key = format!("{name}.pub");
        let (number, line) = if name == "older" { (1, KEY.to_owned()) } else { (2, other_key()) };
        fixture.place.write(&key, &line);
        run(&["pubkeys", "create", "--name", &format!("{name}-key-{number}"), &key]);
        let launch = ["launch", "--source", "sandbox", "--type", "t3.small", "--key", &key, "--wait"];
        let names = [format!("{name}-launch"), format!("{name}-image")];
        let built = ["--distribution", "rhel-9", "--name", &names[0], "--image-name", &names[1]];
        run(&[&launch[..], &built[..]].concat());
        let runtime = format!("{name}-runtime");
        let plan = ["--plan", "azure", "--param", "name=any", "--param", "region=westeurope", "--wait"];
        run(&[&["instances", "create", &runtime][..], &plan[..]].concat());
        fixture.api(
            Method::POST,
            "/users",
            Some(&json!({ "name": format!("{name}-user"), "role": "reader" })),
        );
        run(&["upgrades", "start", "--include", "all", "--wait", "-o", "name"])
    });
    run(&["keys", "rotate"]);
    let keys = fixture.place.json(&["keys", "list"])["items"].clone();
    let is_active = |key: &&Value| key["active"] == true;
    let id = |key: Option<&Value>| key.unwrap()["id"].as_str().unwrap().to_owned();
    let keys = keys.as_array().unwrap();
    let keys = [id(keys.iter().find(|key| key["active"] == false)), id(keys.iter().find(is_active))];
    let of = |what: &str| NAMES.map(|name| format!("{name}-{what}"));
    vec![
        list("/operations", &["operations", "list"], "/console/operations", of("greeting")),
        list("/operations", &[], "/console", of("greeting")),
        list(LAUNCHES, &["launches", "list"], "/console/launches", of("launch")),
        list(INVENTORY, &["inventory"], "/console/inventory", of("launch")),
        list(IMAGES, &["images"], "/console/images", of("image")),
        list("", &["pubkeys", "list"], "/console/launch/keys", ["older-key-1", "newer-key-2"]),
        list("/runtimes", &["instances", "list"], "/console/runtimes", of("runtime")),
        list("/orchestrations", &["upgrades", "list"], "/console/upgrades", upgrades),
        list("/audit", &[], "/console/admin/audit", of("user")),
        list("/keys", &["keys", "list"], "/console/admin/keys", keys),
    ]
}

fn other_key() -> String {
    KEY.replace("2cZ071aFEB", "2cZ071aFEC")
}

#[track_caller]
fn expect_newest_first(what: &str, text: &str, [older, newer]: &[String; 2]) {
    let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("{what} has no {name}: {text}"));
    assert!(at(newer) < at(older), "{what} has {older} before {newer}: {text}");
}

#[test]
fn every_list_begins_with_the_newest() {
    let fixture = quick_engine();
    let lists = make_two_of_everything(&fixture);
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    for List { api, command, page, names } in &lists {
        if !api.is_empty() {
            expect_newest_first(api, &fixture.api(Method::GET, api, None).to_string(), names);
        }
        if !command.is_empty() {
            let ran = fixture.place.expect(0, &[*command, &["-o", "json"]].concat());
            expect_newest_first(&command.join(" "), &ran.out, names);
        }
        page_driver.go(page);
        expect_newest_first(page, &page_driver.text("main"), names);
    }
    // Names come before ids, so every operation has one.
    let operations = fixture.api(Method::GET, "/operations?limit=100", None);
    let operations = operations["items"].as_array().unwrap();
    assert!(operations.iter().all(|one| one["name"].is_string()), "{operations:#?}");
    for workflow in ["demo.hello", "launch", "runtime.provision", "runtime.upgrade", "notice.deliver"] {
        assert!(operations.iter().any(|one| one["workflow"] == workflow), "{workflow}: {operations:#?}");
    }
    // What is listed by name is a directory and not a history.
    let users = fixture.api(Method::GET, "/users", None);
    let names: Vec<&str> =
        users["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
}

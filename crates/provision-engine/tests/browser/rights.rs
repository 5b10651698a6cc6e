//! Who may not do something does not see the button, and cannot do it without one either.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::BrowserFixture;
use crate::launching::KEY;
use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::{DataDirectory, until};

#[test]
fn who_may_only_read_sees_everything_and_no_buttons() {
    let fixture = BrowserFixture::open();
    let id = fixture.submit_waiting();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token_for("reader"));
    let menu = page_driver.text("nav.menu");
    assert!(menu.contains("Operations") && menu.contains("Workflows"), "{menu}");
    assert!(!menu.contains("Build and launch") && !menu.contains("Administration"), "{menu}");

    page_driver.go(&format!("/console/operations/{id}"));
    page_driver.until_text("main", "waiting");
    page_driver.until_text("main", "rest");
    assert!(!page_driver.has("main form[method=post]"), "{}", page_driver.text("main"));
    look(&page_driver, "operation-for-a-reader");

    for page in ["/console/launch", "/console/admin"] {
        let (status, said) = page_driver.fetch(page);
        assert_eq!(status, 403, "{page}: {said}");
    }
}

#[test]
fn who_may_only_launch_is_led_to_the_launches() {
    let fixture = BrowserFixture::open();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.go("/console");
    page_driver.type_token(&fixture.token_for("launcher"));
    page_driver.until_path("/console/launches");
    let menu = page_driver.text("nav.menu");
    assert!(menu.contains("Build and launch") && menu.contains("Inventory"), "{menu}");
    assert!(!menu.contains("Operations") && !menu.contains("Runtimes"), "{menu}");
}

/// Every form that changes more than what belongs to its sender, filled in as by a user who may send it.
const FORMS: [(&str, &str); 42] = [
    ("operations/{operation}/ask/cancel", ""),
    ("operations/{operation}/ask/pause", ""),
    ("operations/{operation}/ask/resume", ""),
    ("operations/{operation}/ask/retry", ""),
    ("operations/{build}/signal", "payload={}"),
    ("workflows/demo.hello/start", "params={\"name\": \"Ada\"}"),
    ("try/launch", ""),
    ("try/runtime", ""),
    ("try/serverless", ""),
    ("launch/review", "at=image&image=build"),
    ("launch/now", "profile=wizard&image=cloud&image_id=ami-0abc0000000000001&{parameters}"),
    ("launch/account", "new_name=other&new_arn=arn:aws:iam::123456789012:role/other"),
    ("launch/accounts", "name=other&arn=arn:aws:iam::123456789012:role/other"),
    ("launch/accounts/sandbox/delete", ""),
    ("launch/keys", "name=other&body={body}"),
    ("launch/keys/{key}/delete", ""),
    ("launches/{building}/parameters", "image=build&{parameters}"),
    ("launches/{building}/cancel", ""),
    ("launches/{building}/detach", ""),
    ("launches/{building}/retry", ""),
    ("launches/{launch}/cleanup", ""),
    ("launches/{launch}/terminate", ""),
    ("inventory/{machine}/terminate", ""),
    ("runtimes/new/azure", "p.name=second&p.region=westeurope"),
    ("runtimes/first/change", "p.autoScalerMax=7"),
    ("runtimes/first/bind", ""),
    ("runtimes/first/unbind", "binding={binding}"),
    ("runtimes/first/deprovision", ""),
    ("runtimes/first/rescue", "action=repair&reason=by+hand"),
    ("runtimes/first/rescue", "action=expire&reason=by+hand"),
    ("runtimes/first/rescue", "action=force&reason=by+hand"),
    ("serverless/new", "flavour=Function"),
    ("serverless/{serverless}/resize", "f_memory=256"),
    ("serverless/{serverless}/delete", ""),
    ("admin/tokens", "name=eve&role=admin"),
    ("admin/tokens/delete", "name=admin"),
    ("admin/people", "name=eve&role=admin&password=a+long+enough+sentence"),
    ("admin/people/change", "name=grace&role=admin"),
    ("admin/people/delete", "name=grace"),
    ("admin/people/sign-out", "name=admin"),
    ("admin/sessions/end", "id={session}"),
    ("admin/keys", ""),
];
/// One of these sentences says that it is the role which does not allow it.
const SENTENCES: [&str; 4] = [
    "This needs the role",
    "This needs a token with the role",
    "This needs the permission",
    "role is read-only",
];
/// Everything that a form can change.
const THINGS: [&str; 12] = [
    "/operations",
    "/api/provisioning/v1/launches",
    "/api/provisioning/v1/inventory",
    "/api/provisioning/v1/pubkeys",
    "/api/provisioning/v1/sources",
    "/runtimes",
    "/runtimes/first",
    "/runtimes/first/operations",
    "/tokens",
    "/users",
    "/sessions",
    "/keys",
];
/// What changes although the page is not touched.
const RESTLESS: [&str; 3] = ["checked_at", "seen_at", "expires_at"];

/// Puts something of everything into a house, all of it at rest; answers what stands for each `{name}` in a form.
#[track_caller]
fn furnish(fixture: &BrowserFixture) -> Vec<(&'static str, String)> {
    let run = |arguments: &[&str]| fixture.place.expect(0, arguments).out.trim().to_owned();
    let first = |path: &str, pointer: &str| {
        let found = fixture.api(Method::GET, path, None);
        let value = found.pointer(pointer).unwrap_or_else(|| panic!("{pointer} in {found}")).clone();
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    };
    fixture.place.write("mine.pub", &format!("{KEY}\n"));
    let image = ["--image", "ami-0abc0000000000001", "--source", "sandbox", "--type", "t3.small"];
    run(&[&["launch", "--key", "mine.pub", "--wait"], &image[..]].concat());
    let launch = first("/api/provisioning/v1/launches", "/data/0/id");
    let key = first("/api/provisioning/v1/pubkeys", "/data/0/id");
    fixture.turn("image-builder/faults/hold", &json!({ "times": 1 }));
    let build = json!({ "distribution": "rhel-9", "image_requests": [{ "architecture": "x86_64", "image_type": "aws",
        "upload_request": { "type": "aws", "options": { "share_with_accounts": ["123456789012"] } } }] });
    let body = json!({ "provider": "aws", "profile": "images", "image": { "build": build } });
    let begun = fixture.api(Method::POST, "/api/provisioning/v1/launches", Some(&body));
    let operation = |launch: &Value| launch["operation_id"].as_str().unwrap().to_owned();
    fixture.until_phase(&operation(&begun), "waiting");

    let how = ["--param", "name=first", "--param", "region=westeurope"];
    run(&[&["instances", "create", "first", "--plan", "azure", "--wait"], &how[..]].concat());
    run(&["instances", "bind", "first"]);
    fixture.api(Method::POST, "/users", Some(&json!({ "name": "grace", "role": "reader" })));
    until("notices that are delivered", || at_rest(fixture).then_some(()));
    let parameters = "source_id=sandbox&region=us-east-1&instance_type=t3.small&amount=1&key=kept&pubkey_id=";
    vec![
        ("operation", fixture.submit_waiting()),
        ("build", operation(&begun)),
        ("building", begun["id"].as_str().unwrap().to_owned()),
        ("launch", launch),
        ("machine", first("/api/provisioning/v1/inventory", "/data/0/instance_id")),
        ("parameters", format!("{parameters}{key}")),
        ("key", key),
        ("body", KEY.replace(' ', "+")),
        ("binding", first("/runtimes/first", "/bindings/0/id")),
        ("serverless", run(&["serverless", "create", "--faas", "Function", "--wait"])),
        ("session", first("/sessions", "/items/0/id")),
    ]
}

/// Whether nothing happens any more, also not what follows the end of a launch.
fn at_rest(fixture: &BrowserFixture) -> bool {
    let all = fixture.api(Method::GET, "/operations", None);
    let all = all["items"].as_array().unwrap();
    let is_told = all.iter().any(|one| one["workflow"] == "notice.deliver");
    is_told && all.iter().all(|one| one["phase"] == "succeeded" || one["phase"] == "waiting")
}

/// All things as they are.
#[track_caller]
fn world(fixture: &BrowserFixture) -> Vec<Value> {
    let mut all: Vec<Value> = THINGS.iter().map(|path| fixture.api(Method::GET, path, None)).collect();
    all.push(fixture.place.json(&["serverless", "list"]));
    all.iter_mut().for_each(calm);
    all
}

fn calm(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !RESTLESS.contains(&name.as_str()));
            members.values_mut().for_each(calm);
        }
        Value::Array(items) => items.iter_mut().for_each(calm),
        _ => {}
    }
}

/// What is said about a form that was sent: all of a page that refuses, or the red sentence of another.
fn told(status: u64, page: &str) -> &str {
    let (begin, end) = if status == 403 { ("<main", "</main>") } else { ("class=\"flash bad\"", "</p>") };
    let found = page.split_once(begin).and_then(|(_, rest)| Some(rest.split_once(end)?.0));
    found.unwrap_or_default()
}

#[test]
fn who_may_only_read_changes_nothing_with_any_form() {
    let place = DataDirectory::new()
        .env("PROVISION_ENGINE_ONE_USER", "oneadmin")
        .env("PROVISION_ENGINE_ONE_PASSWORD", "opennebula");
    let fixture = BrowserFixture::open_in(place);
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    let furniture = furnish(&fixture);
    page_driver.sign_in(&fixture.token_for("reader"));
    let before = world(&fixture);
    for (path, fields) in FORMS {
        let filled = |text: &str| {
            let put =
                |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
            furniture.iter().fold(text.to_owned(), put)
        };
        let (path, fields) = (format!("/console/{}", filled(path)), filled(fields));
        let (status, page) =
            page_driver.post(&path, &json!(format!("{fields}&confirmed=yes&_csrf={}", page_driver.word())));
        let told = told(status, &page);
        assert!(SENTENCES.iter().any(|part| told.contains(part)), "{path}: {status} {told:?} on {page}");
    }
    let after = world(&fixture);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(page_driver.text(".who-role"), "reader");
}

//! From an image to instances: what people say on each page of the wizard, and what they see in the end.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::stage::{call, until, until_or};

pub(crate) const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB ada@example";
const LAUNCHES: &str = "/api/provisioning/v1/launches";

/// The button that leads on.
pub(crate) const ONWARD: &str = "#wizard .foot button.primary";

/// An engine whose image builds end soon.
#[track_caller]
pub(crate) fn quick_engine() -> BrowserFixture {
    let fixture = BrowserFixture::open();
    let delay_times = json!({"pending_ms": 50, "building_ms": 200, "uploading_ms": 50, "registering_ms": 50});
    fixture.turn("image-builder/pace", &delay_times);
    fixture
}

/// The first page, with an image that is to be built.
#[track_caller]
pub(crate) fn say_what(page_driver: &PageDriver) {
    page_driver.click("input[name=image][value=build]");
    page_driver.fill("#image_name", "web");
    page_driver.fill("#packages", "vim");
}

/// With a script, a type is found while a user types.
#[track_caller]
pub(crate) fn say_where(page_driver: &PageDriver, amount: &str) {
    page_driver.fill("#type_search", "t3.small");
    choose_type(page_driver, amount);
}

#[track_caller]
pub(crate) fn choose_type(page_driver: &PageDriver, amount: &str) {
    page_driver.click("input[name=instance_type][value='t3.small']");
    page_driver.fill("#amount", amount);
}

#[track_caller]
pub(crate) fn say_key(page_driver: &PageDriver) {
    page_driver.click("input[name=key][value=new]");
    page_driver.fill("#pubkey_name", "mine");
    page_driver.fill("#pubkey_body", KEY);
    // With a script the page says so while a user types, and what is below moves.
    if page_driver.script("return typeof htmx !== 'undefined'", &[]) == true {
        page_driver.until_text("#pubkey_body-said", "SHA256:");
    }
}

/// Through the first two pages to the one that asks for a key.
#[track_caller]
pub(crate) fn come_to_the_key(page_driver: &PageDriver, say_where: impl Fn(&PageDriver)) {
    page_driver.go("/console/launch");
    say_what(page_driver);
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Account and instances");
    say_where(page_driver);
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Public key");
}

/// Through all pages to the last one.
#[track_caller]
pub(crate) fn fill_in(page_driver: &PageDriver, say_where: impl Fn(&PageDriver)) {
    come_to_the_key(page_driver, say_where);
    say_key(page_driver);
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Review");
}

/// The launch that the address names, as the API has it.
#[track_caller]
pub(crate) fn launch(fixture: &BrowserFixture, page_driver: &PageDriver) -> Value {
    let path = page_driver.path();
    let id = path.rsplit('/').next().unwrap();
    fixture.api(Method::GET, &format!("{LAUNCHES}/{id}"), None)
}

#[track_caller]
pub(crate) fn until_launched(page_driver: &PageDriver) {
    until("the page of the launch", || {
        let path = page_driver.path();
        (path.starts_with("/console/launches/") && path.len() > "/console/launches/".len()).then_some(())
    });
}

/// The build of this launch, once the Image Builder has it.
#[track_caller]
pub(crate) fn until_built_by(fixture: &BrowserFixture, page_driver: &PageDriver) -> String {
    until("the image", || launch(fixture, page_driver)["build"]["compose"].as_str().map(str::to_owned))
}

/// Until the page says that instances are running.
#[track_caller]
pub(crate) fn until_machines_run(fixture: &BrowserFixture, page_driver: &PageDriver, words: &str) {
    until_or(
        || page_driver.text("main").contains(words).then_some(()),
        || {
            format!(
                "the page says {}\nand the truth is {:#}",
                page_driver.text("main"),
                launch(fixture, page_driver)
            )
        },
    );
}

/// So many instances run and answer, and the page says where and how to log in.
#[track_caller]
pub(crate) fn expect_machines(fixture: &BrowserFixture, page_driver: &PageDriver, count: usize) {
    let made = launch(fixture, page_driver);
    let instances = made["instances"].as_array().unwrap();
    assert_eq!((&made["state"], instances.len()), (&json!("succeeded"), count), "{made}");
    for instance in instances {
        let address = instance["detail"]["public_ipv4"].as_str().unwrap();
        let user = match made["provider"].as_str().unwrap() {
            "azure" => "azureuser",
            "gcp" => "gcp-user",
            _ => "ec2-user",
        };
        page_driver.until_text("main", &format!("ssh {user}@{address}"));
        let answer = call(Method::GET, &format!("http://{address}:8000/"), None);
        assert_eq!(answer["guest"]["instance"], instance["instance_id"], "{answer}");
    }
}

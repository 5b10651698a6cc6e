//! The wizard at Azure and Google: four clicks with its defaults, and every page in the words of the cloud. `wizard.rs`
//! does the same at AWS.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::BrowserFixture;
use crate::launching::{
    KEY, ONWARD, expect_machines, launch, quick_engine, say_key, until_launched, until_machines_run,
};
use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::until;

struct CloudWords {
    provider: &'static str,
    title: &'static str,
    instance_type: &'static str,
    /// What it calls the region, and the type of an instance.
    region: &'static str,
    kind: &'static str,
    /// What must not be on its pages.
    foreign: &'static [&'static str],
}

const AZURE: CloudWords = CloudWords {
    provider: "azure",
    title: "Azure",
    instance_type: "Standard_B2s",
    region: "Location",
    kind: "Size",
    foreign: &["AWS", "ami-", "Launch template", "us-east-1", "Zone"],
};
const GOOGLE: CloudWords = CloudWords {
    provider: "gcp",
    title: "Google Cloud",
    instance_type: "e2-medium",
    region: "Zone",
    kind: "Machine type",
    foreign: &["AWS", "ami-", "us-east-1", "Security group", "Resource group"],
};

#[track_caller]
fn choose_cloud(page_driver: &PageDriver, words: &CloudWords) {
    page_driver.click_on(".clouds button", words.title);
    page_driver.until_text(".clouds [aria-pressed=true]", words.title);
}

/// The page has no word of another cloud, but for the buttons that choose one.
#[track_caller]
fn expect_words(page_driver: &PageDriver, words: &CloudWords) {
    let buttons = if page_driver.has(".clouds") { page_driver.text(".clouds") } else { String::new() };
    let text = page_driver.text("main").replace(&buttons, "");
    let foreign = words.foreign.iter().find(|word| text.contains(**word));
    assert_eq!(foreign, None, "{}: {text}", words.title);
}

/// From the address of the console to instances that answer, with nothing but clicks.
fn four_clicks(fixture: &BrowserFixture, page_driver: &PageDriver, words: &CloudWords) -> Value {
    page_driver.go("/console");
    page_driver.click_on("main a", "Build and launch");
    page_driver.until_text("h2", "Image");
    choose_cloud(page_driver, words);
    page_driver.until_text("#summary", words.instance_type);
    page_driver.click_on("#wizard button", "Review and launch");
    page_driver.until_text("h2", "Review");
    page_driver.click(ONWARD);
    until_launched(page_driver);
    until_machines_run(fixture, page_driver, "The instance is running");
    expect_machines(fixture, page_driver, 1);
    launch(fixture, page_driver)
}

#[test]
fn four_clicks_lead_to_an_instance_at_azure_and_at_google() {
    let fixture = quick_engine();
    fixture.api(Method::POST, "/api/provisioning/v1/pubkeys", Some(&json!({ "name": "mine", "body": KEY })));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    for words in [&AZURE, &GOOGLE] {
        let made = four_clicks(&fixture, &page_driver, words);
        assert_eq!(made["provider"], words.provider, "{made}");
        let page = page_driver.text("main");
        for part in [words.title, words.region, words.kind, words.instance_type] {
            assert!(page.contains(part), "{part}: {page}");
        }
        expect_words(&page_driver, words);
        look(&page_driver, &format!("launch-succeeded-{}", words.provider));
    }
    // Every list names the cloud of what it shows.
    for list in ["/console/images", "/console/launches", "/console/inventory", "/console/launch/accounts"] {
        page_driver.go(list);
        for words in [&AZURE, &GOOGLE] {
            page_driver.until_text("main", words.title);
        }
    }
    page_driver.go("/console/inventory");
    look(&page_driver, "inventory-clouds");
    // An image that was built is launched in its own cloud.
    page_driver.go("/console/images");
    page_driver.click_on("#now a.button", "Launch");
    page_driver.until_text("h2", "Account and instances");
    page_driver.until_text("main", GOOGLE.region);
    // Nothing was made twice, and every instance has the parts of its cloud.
    let standing: Vec<String> = fixture.far("ledger")["effects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|effect| format!("{}/{}", effect["system"].as_str().unwrap(), effect["kind"].as_str().unwrap()))
        .collect();
    for kind in ["arm/vm", "arm/nic", "arm/public_ip", "arm/group", "gce/instance", "gce/disk"] {
        assert_eq!(standing.iter().filter(|one| *one == kind).count(), 1, "{kind}: {standing:?}");
    }
}

/// Every page of the wizard, as a user fills it in.
fn walk(page_driver: &PageDriver, words: &CloudWords) {
    let picture = |step: &str| look(page_driver, &format!("wizard-{step}-{}", words.provider));
    page_driver.go("/console/launch");
    choose_cloud(page_driver, words);
    page_driver.click("input[name=image][value=cloud]");
    page_driver.fill("#image_id", "ami-0123");
    page_driver.until_text("#image_id-said", "Must be");
    expect_no_other_architecture(page_driver);
    page_driver.click("input[name=image][value=build]");
    page_driver.fill("#image_name", "web");
    picture("image");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Account and instances");
    page_driver.until_text("main", words.region);
    page_driver.until_text("main", words.kind);
    page_driver.fill("#name", "Not_A Name!");
    page_driver.click(ONWARD);
    page_driver.until_text("#name-said", "letters");
    page_driver.error_texts();
    page_driver.fill("#name", "web");
    expect_words(page_driver, words);
    page_driver.click(".launch-more > summary");
    picture("where");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Public key");
    say_key(page_driver);
    picture("key");
    page_driver.click(ONWARD);
    page_driver.until_text("h2", "Review");
    expect_words(page_driver, words);
    let plan = page_driver.text(".review-plan");
    assert_eq!(plan.contains("prepare_network"), words.provider == "azure", "{plan}");
    assert!(!plan.contains("upload_public_key"), "keys go into the instances: {plan}");
    picture("review");
}

/// Images for these clouds are made for one architecture.
fn expect_no_other_architecture(page_driver: &PageDriver) {
    let names = page_driver.script(
        "return [...document.querySelectorAll('#architecture option')].map(one => one.value).join()",
        &[],
    );
    assert_eq!(names, json!("x86_64"));
}

#[test]
fn every_page_of_the_wizard_speaks_the_words_of_azure() {
    let fixture = quick_engine();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    walk(&page_driver, &AZURE);
}

#[test]
fn every_page_of_the_wizard_speaks_the_words_of_google() {
    let fixture = quick_engine();
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    walk(&page_driver, &GOOGLE);
    page_driver.click(ONWARD);
    until_launched(&page_driver);
    until_machines_run(&fixture, &page_driver, "The instance is running");
    page_driver.go("/console/launch/accounts?provider=gcp");
    page_driver.until_text("h2", "Create an account in Google Cloud");
    page_driver.fill("#name", "mine");
    page_driver.fill("#project_id", "my-project");
    look(&page_driver, "accounts-google");
    page_driver.click_on("main button", "Create account");
    until("the account", || page_driver.text("main").contains("Account mine created").then_some(()));
}

/// A cloud is chosen and launched in without a script, too.
#[test]
fn azure_is_chosen_without_a_script() {
    let fixture = quick_engine();
    fixture.api(Method::POST, "/api/provisioning/v1/pubkeys", Some(&json!({ "name": "mine", "body": KEY })));
    let page_driver = PageDriver::new(&fixture.url);
    page_driver.without_script();
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/launch");
    choose_cloud(&page_driver, &AZURE);
    page_driver.click_on("#wizard button", "Review and launch");
    page_driver.until_text("h2", "Review");
    page_driver.click(ONWARD);
    until_launched(&page_driver);
    until("the instance", || (launch(&fixture, &page_driver)["state"] == "succeeded").then_some(()));
}

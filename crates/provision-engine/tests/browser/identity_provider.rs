//! Coming in by way of an identity provider, which has a page and an address of its own.

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::look;
use crate::stage::DataDirectory;

const CALLBACK: &str = "/console/sign-in/provider/callback";
const FLOW: &str = "pe_flow";
const SESSION: &str = "pe_session";

/// A server to which the provider is an outsider: another system, and a client that has to prove itself.
fn fixture() -> BrowserFixture {
    BrowserFixture::open_with(DataDirectory::new(), |place, far| {
        place.write("client-secret", "sandbox+secret%\n");
        let secret = place.path("client-secret").display().to_string();
        place
            .env("PROVISION_ENGINE_OSB__OIDC__ISSUER", format!("{far}/identity-provider"))
            .env("PROVISION_ENGINE_OSB__OIDC__CLIENT_ID", "provision-engine-console-with-secret")
            .env("PROVISION_ENGINE_OSB__OIDC__CLIENT_SECRET_FILE", secret)
    })
}

/// To this browser the provider is another site, by its name.
fn test_user_of(fixture: &BrowserFixture) -> PageDriver {
    PageDriver::new(&fixture.url.replace("127.0.0.1", "localhost"))
}

/// From the page to sign in to that of the provider.
#[track_caller]
fn leave(page_driver: &PageDriver) {
    page_driver.click_on("main a", "Sign in with your organisation");
    page_driver.until_text("h1", "Sandbox sign-in");
}

/// What the console said to the provider, as it is in the address there.
#[track_caller]
fn state(page_driver: &PageDriver) -> String {
    let asked = Url::parse(&page_driver.path()).unwrap();
    let found = asked.query_pairs().find(|(name, _)| name == "state");
    found.unwrap().1.into_owned()
}

/// Where the provider would send this person back to. The test does not go there.
#[track_caller]
fn way_back(page_driver: &PageDriver, name: &str) -> String {
    let here = page_driver.path();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        let form = client.post(here).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        form.body(format!("person={name}")).send().await.unwrap()
    });
    let way = Url::parse(answer.headers()[LOCATION].to_str().unwrap()).unwrap();
    format!("{}?{}", way.path(), way.query().unwrap())
}

/// On the page to sign in, which says why.
#[track_caller]
fn expect_outside(page_driver: &PageDriver, why: &str) {
    page_driver.until_text("#sign-in-error", why);
    page_driver.error_texts();
    assert_eq!(page_driver.cookie(SESSION), None);
    assert_eq!(page_driver.fetch("/console/operations").1.matches("<h1>Sign in</h1>").count(), 1);
}

#[test]
fn someone_of_the_organisation_comes_in_where_they_wanted_to_and_goes_out_again() {
    let fixture = fixture();
    let page_driver = test_user_of(&fixture);
    page_driver.go("/console/operations?phase=stuck");
    leave(&page_driver);
    look(&page_driver, "provider");
    page_driver.click_on("button", "Olaf");
    page_driver.until_path("/console/operations?phase=stuck");
    assert_eq!(
        (page_driver.text(".who-name"), page_driver.text(".who-role")),
        ("oidc:olaf".into(), "operator".into())
    );
    assert_eq!(page_driver.cookie(FLOW), None, "it is over");
    page_driver.go("/console/me");
    page_driver.until_text("main", "at your identity provider");
    assert!(!page_driver.has("#current"), "there is no password of ours to change");
    look(&page_driver, "me-of-the-organisation");

    let session = page_driver.cookie(SESSION).unwrap();
    page_driver.click(".who summary");
    page_driver.click_on(".who-card button", "Sign out");
    page_driver.until_text("main", "You are signed out.");
    assert_eq!(page_driver.cookie(SESSION), None);
    page_driver.set_cookie(SESSION, &session);
    page_driver.go("/console");
    page_driver.until_path("/console/sign-in?back=%2Fconsole");
}

#[test]
fn groups_bring_roles_and_the_one_who_has_none_is_told() {
    let fixture = BrowserFixture::open();
    let page_driver = test_user_of(&fixture);
    for (name, role, place) in [
        ("Ann", "admin", "/console"),
        ("Vera", "reader", "/console"),
        ("Lena", "launcher", "/console/launches"),
    ] {
        page_driver.go("/console");
        leave(&page_driver);
        page_driver.click_on("button", name);
        page_driver.until_path(place);
        assert_eq!(
            (page_driver.text(".who-name"), page_driver.text(".who-role")),
            (format!("sandbox~{}", name.to_lowercase()), role.into())
        );
        page_driver.click(".who summary");
        page_driver.click_on(".who-card button", "Sign out");
        page_driver.until_path("/console/sign-in");
    }
    page_driver.go("/console/workflows");
    leave(&page_driver);
    page_driver.click_on("button", "Noel");
    expect_outside(&page_driver, "sandbox~noel is known, but has no role here");
    look(&page_driver, "sign-in-without-a-role");
}

#[test]
fn the_one_who_is_refused_there_comes_back_and_can_try_again() {
    let fixture = fixture();
    let page_driver = test_user_of(&fixture);
    page_driver.go("/console/workflows");
    leave(&page_driver);
    let state = state(&page_driver);
    page_driver.go(&format!("{CALLBACK}?error=access_denied&error_description=no&state={state}"));
    expect_outside(&page_driver, "The identity provider did not let you in.");
    look(&page_driver, "sign-in-refused");
    leave(&page_driver);
    page_driver.click_on("button", "Vera");
    page_driver.until_path("/console/workflows");
}

#[test]
fn a_way_back_that_is_forged_stolen_or_old_lets_no_one_in() {
    let fixture = fixture();
    let page_driver = test_user_of(&fixture);
    page_driver.go("/console");
    leave(&page_driver);
    let way = way_back(&page_driver, "ann");
    let forged = way.replace(&state(&page_driver), "AAAAAAAAAAAAAAAAAAAAAA");
    assert_ne!(forged, way);
    page_driver.go(&forged);
    expect_outside(&page_driver, "was not begun in this browser");
    let flow = page_driver.cookie(FLOW).unwrap();
    // The user who is sent there by another user does not become that a user.
    let other = test_user_of(&fixture);
    other.go(&way);
    expect_outside(&other, "was not begun in this browser");
    look(&other, "sign-in-not-begun-here");
    page_driver.go(&way);
    page_driver.until_path("/console");
    assert_eq!(page_driver.text(".who-name"), "oidc:ann");

    // The same again, with all that the browser held then.
    page_driver.click(".who summary");
    page_driver.click_on(".who-card button", "Sign out");
    page_driver.until_path("/console/sign-in");
    page_driver.set_cookie(FLOW, &flow);
    page_driver.go(&way);
    expect_outside(&page_driver, "identity provider");
}

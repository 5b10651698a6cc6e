//! Coming in by way of an identity provider, which has a page and an address of its own.

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use crate::house::House;
use crate::person::Person;
use crate::pictures::look;
use crate::stage::Place;

const CALLBACK: &str = "/console/sign-in/provider/callback";
const FLOW: &str = "pe_flow";
const SESSION: &str = "pe_session";

/// A server to which the provider is a stranger: another system, and a client that has to prove itself.
fn house() -> House {
    House::open_with(Place::new(), |place, far| {
        place.write("client-secret", "sandbox+secret%\n");
        let secret = place.path("client-secret").display().to_string();
        place
            .env("PROVISION_ENGINE_OSB__OIDC__ISSUER", format!("{far}/identity-provider"))
            .env("PROVISION_ENGINE_OSB__OIDC__CLIENT_ID", "provision-engine-console-with-secret")
            .env("PROVISION_ENGINE_OSB__OIDC__CLIENT_SECRET_FILE", secret)
    })
}

/// To this browser the provider is another site, by its name.
fn person_of(house: &House) -> Person {
    Person::new(&house.url.replace("127.0.0.1", "localhost"))
}

/// From the page to sign in to that of the provider.
#[track_caller]
fn leave(person: &Person) {
    person.click_on("main a", "Sign in with your organisation");
    person.until_text("h1", "Sandbox sign-in");
}

/// What the console said to the provider, as it is in the address there.
#[track_caller]
fn state(person: &Person) -> String {
    let asked = Url::parse(&person.path()).unwrap();
    let found = asked.query_pairs().find(|(name, _)| name == "state");
    found.unwrap().1.into_owned()
}

/// Where the provider would send this person back to. Nobody goes there.
#[track_caller]
fn way_back(person: &Person, name: &str) -> String {
    let here = person.path();
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
fn expect_outside(person: &Person, why: &str) {
    person.until_text("#sign-in-error", why);
    person.complaints();
    assert_eq!(person.cookie(SESSION), None);
    assert_eq!(person.fetch("/console/operations").1.matches("<h1>Sign in</h1>").count(), 1);
}

#[test]
fn somebody_of_the_organisation_comes_in_where_they_wanted_to_and_goes_out_again() {
    let house = house();
    let person = person_of(&house);
    person.go("/console/operations?phase=stuck");
    leave(&person);
    look(&person, "provider");
    person.click_on("button", "Olaf");
    person.until_path("/console/operations?phase=stuck");
    assert_eq!((person.text(".who-name"), person.text(".who-role")), ("oidc:olaf".into(), "operator".into()));
    assert_eq!(person.cookie(FLOW), None, "it is over");
    person.go("/console/me");
    person.until_text("main", "at your identity provider");
    assert!(!person.has("#current"), "there is no password of ours to change");
    look(&person, "me-of-the-organisation");

    let session = person.cookie(SESSION).unwrap();
    person.click(".who summary");
    person.click_on(".who-card button", "Sign out");
    person.until_text("main", "You are signed out.");
    assert_eq!(person.cookie(SESSION), None);
    person.set_cookie(SESSION, &session);
    person.go("/console");
    person.until_path("/console/sign-in?back=%2Fconsole");
}

#[test]
fn groups_bring_roles_and_whoever_has_none_is_told() {
    let house = House::open();
    let person = person_of(&house);
    for (name, role, place) in [
        ("Ann", "admin", "/console"),
        ("Vera", "reader", "/console"),
        ("Lena", "launcher", "/console/launches"),
    ] {
        person.go("/console");
        leave(&person);
        person.click_on("button", name);
        person.until_path(place);
        assert_eq!(
            (person.text(".who-name"), person.text(".who-role")),
            (format!("sandbox~{}", name.to_lowercase()), role.into())
        );
        person.click(".who summary");
        person.click_on(".who-card button", "Sign out");
        person.until_path("/console/sign-in");
    }
    person.go("/console/workflows");
    leave(&person);
    person.click_on("button", "Noel");
    expect_outside(&person, "sandbox~noel is known, but has no role here");
    look(&person, "sign-in-without-a-role");
}

#[test]
fn whoever_is_refused_there_comes_back_and_can_try_again() {
    let house = house();
    let person = person_of(&house);
    person.go("/console/workflows");
    leave(&person);
    let state = state(&person);
    person.go(&format!("{CALLBACK}?error=access_denied&error_description=no&state={state}"));
    expect_outside(&person, "The identity provider did not let you in.");
    look(&person, "sign-in-refused");
    leave(&person);
    person.click_on("button", "Vera");
    person.until_path("/console/workflows");
}

#[test]
fn a_way_back_that_is_forged_stolen_or_old_lets_nobody_in() {
    let house = house();
    let person = person_of(&house);
    person.go("/console");
    leave(&person);
    let way = way_back(&person, "ann");
    let forged = way.replace(&state(&person), "AAAAAAAAAAAAAAAAAAAAAA");
    assert_ne!(forged, way);
    person.go(&forged);
    expect_outside(&person, "was not begun in this browser");
    let flow = person.cookie(FLOW).unwrap();
    // Whoever is sent there by somebody else does not become that somebody.
    let other = person_of(&house);
    other.go(&way);
    expect_outside(&other, "was not begun in this browser");
    look(&other, "sign-in-not-begun-here");
    person.go(&way);
    person.until_path("/console");
    assert_eq!(person.text(".who-name"), "oidc:ann");

    // The same again, with all that the browser held then.
    person.click(".who summary");
    person.click_on(".who-card button", "Sign out");
    person.until_path("/console/sign-in");
    person.set_cookie(FLOW, &flow);
    person.go(&way);
    expect_outside(&person, "identity provider");
}

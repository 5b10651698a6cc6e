//! People sign in at the identity provider of the sandbox, over the wire, and it does everything wrong that it can.

use std::sync::Arc;
use std::time::Duration;

use engine::secret::{ExposeSecret, SecretString};
use engine::{Organisation, Proof, Role};
use reqwest::{Client, StatusCode, Url, redirect};
use sandbox::Sandbox;
use serde_json::{Value, json};
use server::{Begun, CodeFlow, CodeFlowSettings, FlowError, OidcSettings, Principal};

use crate::world::ManualClock;

const BACK: &str = "http://127.0.0.1:9/console/signed-in";
const CLIENT: &str = "provision-engine-console";
/// Of the client that has one. It has to be encoded twice on its way.
const SECRET: &str = "sandbox+secret%";

struct IssuerAddress {
    sandbox: Sandbox,
    clock: Arc<ManualClock>,
    browser: Client,
    flow: CodeFlow,
}

fn client(id: &str, secret: Option<&str>) -> CodeFlowSettings {
    CodeFlowSettings {
        client_id: id.to_owned(),
        client_secret: secret.map(SecretString::from),
        scopes: ["openid", "profile", "email", "groups"].map(str::to_owned).into(),
    }
}

/// Comes back from the sign-in page.
struct Returned {
    code: String,
    state: String,
}

impl IssuerAddress {
    async fn new() -> IssuerAddress {
        let sandbox = Sandbox::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        let clock = Arc::new(ManualClock::default());
        let browser = Client::builder().no_proxy().redirect(redirect::Policy::none()).build().unwrap();
        let flow = flow(&sandbox, &clock, client(CLIENT, None));
        IssuerAddress { sandbox, clock, browser, flow }
    }

    fn flow(&self, client: CodeFlowSettings) -> CodeFlow {
        flow(&self.sandbox, &self.clock, client)
    }

    async fn tell(&self, path: &str, body: Value) {
        let sent = self.browser.post(format!("{}{path}", self.sandbox.url())).json(&body).send().await;
        assert!(sent.unwrap().status().is_success(), "{path} {body}");
    }

    /// A user presses a button.
    async fn press(&self, begun: &Begun, test_user: &str) -> Returned {
        let pressed = self.browser.post(&begun.location);
        let pressed = pressed.header("content-type", "application/x-www-form-urlencoded");
        let answer = pressed.body(format!("person={test_user}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        let back = Url::parse(answer.headers()["location"].to_str().unwrap()).unwrap();
        assert!(back.as_str().starts_with(BACK), "{back}");
        let find = |name: &str| back.query_pairs().find(|(found, _)| found == name).unwrap().1.into_owned();
        Returned { code: find("code"), state: find("state") }
    }

    async fn sign_in(&self, flow: &CodeFlow, test_user: &str) -> Result<Principal, FlowError> {
        let begun = flow.begin(BACK).await?;
        let returned = self.press(&begun, test_user).await;
        assert_eq!(returned.state, begun.state);
        let ended = flow.finish(&returned.code, &begun.verifier, &begun.nonce, BACK).await;
        if let Err(error) = &ended {
            keeps_quiet(error, &begun, &returned);
        }
        ended
    }
}

fn flow(sandbox: &Sandbox, clock: &Arc<ManualClock>, client: CodeFlowSettings) -> CodeFlow {
    let issuer = format!("{}/identity-provider", sandbox.url());
    CodeFlow::new(OidcSettings::new(issuer, "us"), client, clock.clone()).unwrap()
}

/// Nothing of what was sent to and fro is in the text.
#[track_caller]
fn keeps_quiet(error: &FlowError, begun: &Begun, returned: &Returned) {
    let text = format!("{error} {error:?}");
    let verifier = begun.verifier.expose_secret();
    for secret in [verifier, &returned.code, &begun.nonce, &begun.state, "eyJ", SECRET] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[track_caller]
fn is_refused(ended: Result<Principal, FlowError>, part: &str) {
    match ended {
        Err(FlowError::Refused(why)) => assert!(why.contains(part), "{why}"),
        other => panic!("{other:?} instead of a refusal: {part}"),
    }
}

#[track_caller]
fn is_unavailable<T: std::fmt::Debug>(ended: Result<T, FlowError>, part: &str) {
    match ended {
        Err(FlowError::Unavailable(why)) => assert!(why.contains(part), "{why}"),
        other => panic!("{other:?} instead of trouble: {part}"),
    }
}

#[tokio::test]
async fn everyone_signs_in_with_the_role_of_their_group() {
    let place = IssuerAddress::new().await;
    let closed = place.flow(client("provision-engine-console-with-secret", Some(SECRET)));
    for flow in [&place.flow, &closed] {
        for (test_user, role) in [
            ("ann", Some(Role::Admin)),
            ("olaf", Some(Role::Operator)),
            ("vera", Some(Role::Reader)),
            ("lena", Some(Role::Launcher)),
            ("noel", None),
        ] {
            let organisation = match role {
                Some(_) => Organisation::Named("default".into()),
                None => Organisation::Missing,
            };
            let found = place.sign_in(flow, test_user).await.unwrap();
            assert_eq!((found.name.as_str(), found.role()), (&*format!("oidc:{test_user}"), role));
            assert_eq!((found.organisation, found.proof), (organisation, Proof::CodeFlow));
        }
    }
}

#[tokio::test]
async fn a_beginning_is_never_the_same_twice_and_does_not_give_itself_away() {
    let place = IssuerAddress::new().await;
    let begun = [place.flow.begin(BACK).await.unwrap(), place.flow.begin(BACK).await.unwrap()];
    let secrets = begun.iter().flat_map(|one| [&*one.state, &*one.nonce, one.verifier.expose_secret()]);
    let secrets: std::collections::BTreeSet<&str> = secrets.collect();
    assert_eq!(secrets.len(), 6, "all of them are random");
    assert!(secrets.iter().all(|secret| secret.len() == 43), "256 bits in base64url");
    let location = Url::parse(&begun[0].location).unwrap();
    let pairs: std::collections::BTreeMap<_, _> = location.query_pairs().collect();
    assert_eq!((&*pairs["response_type"], &*pairs["client_id"]), ("code", CLIENT));
    assert_eq!((&*pairs["redirect_uri"], &*pairs["scope"]), (BACK, "openid profile email groups"));
    assert_eq!((&*pairs["state"], &*pairs["nonce"]), (&*begun[0].state, &*begun[0].nonce));
    assert_eq!(pairs["code_challenge_method"], "S256");
    assert!(!begun[0].location.contains(begun[0].verifier.expose_secret()));
    let shown = format!("{begun:?}");
    assert!(secrets.iter().all(|secret| !shown.contains(secret)), "{shown}");
    for bad in ["", "/console", "javascript:alert(1)", "http://127.0.0.1/#there"] {
        assert!(matches!(place.flow.begin(bad).await, Err(FlowError::Refused(_))), "{bad}");
    }
}

#[tokio::test]
async fn a_token_that_is_wrong_in_one_way_lets_no_one_in() {
    let place = IssuerAddress::new().await;
    for (mistake, part) in [
        ("nonce", "the nonce"),
        ("audience", "another audience"),
        ("party", "another client"),
        ("issuer", "another issuer"),
        ("expired", "expired"),
        ("signature", "signature"),
        ("unsigned", "not a signed token"),
    ] {
        place.tell("/identity-provider/faults", json!({"kind": mistake})).await;
        is_refused(place.sign_in(&place.flow, "ann").await, part);
        place.sign_in(&place.flow, "ann").await.unwrap();
    }
    place.tell("/clock", json!({"advance_ms": 300_000})).await;
    is_refused(place.sign_in(&place.flow, "ann").await, "in the future");
    place.clock.turn(Duration::from_secs(300));
    place.sign_in(&place.flow, "ann").await.unwrap();
    place.clock.turn(Duration::from_secs(361));
    is_refused(place.sign_in(&place.flow, "ann").await, "expired");
}

#[tokio::test]
async fn a_code_is_good_once_and_only_for_the_one_who_began() {
    let place = IssuerAddress::new().await;
    let IssuerAddress { flow, .. } = &place;
    let begun = flow.begin(BACK).await.unwrap();
    let returned = place.press(&begun, "ann").await;
    flow.finish(&returned.code, &begun.verifier, &begun.nonce, BACK).await.unwrap();
    let replayed = flow.finish(&returned.code, &begun.verifier, &begun.nonce, BACK).await;
    keeps_quiet(replayed.as_ref().unwrap_err(), &begun, &returned);
    is_refused(replayed, "used before");

    let thief = flow.begin(BACK).await.unwrap();
    let returned = place.press(&begun, "ann").await;
    let stolen = flow.finish(&returned.code, &thief.verifier, &thief.nonce, BACK).await;
    keeps_quiet(stolen.as_ref().unwrap_err(), &thief, &returned);
    is_refused(stolen, "begun somewhere else");
    let returned = place.press(&begun, "ann").await;
    let elsewhere = flow.finish(&returned.code, &begun.verifier, &begun.nonce, "http://127.0.0.1:9/").await;
    is_refused(elsewhere, "invalid_grant");
    let returned = place.press(&begun, "ann").await;
    let other_nonce = flow.finish(&returned.code, &begun.verifier, &thief.nonce, BACK).await;
    is_refused(other_nonce, "the nonce");

    let returned = place.press(&begun, "ann").await;
    place.tell("/clock", json!({"advance_ms": 60_000})).await;
    is_refused(flow.finish(&returned.code, &begun.verifier, &begun.nonce, BACK).await, "took too long");
    for code in ["", &"x".repeat(4097)] {
        is_refused(flow.finish(code, &begun.verifier, &begun.nonce, BACK).await, "no code");
    }
}

#[tokio::test]
async fn a_client_that_the_issuer_does_not_take_is_told_so() {
    let place = IssuerAddress::new().await;
    let begun = place.flow.begin(BACK).await.unwrap();
    for settings in [
        client("provision-engine-console-with-secret", Some("wrong")),
        client("provision-engine-console-with-secret", None),
        client(CLIENT, Some(SECRET)),
    ] {
        let returned = place.press(&begun, "ann").await;
        let flow = place.flow(settings);
        let ended = flow.finish(&returned.code, &begun.verifier, &begun.nonce, BACK).await;
        keeps_quiet(ended.as_ref().unwrap_err(), &begun, &returned);
        is_refused(ended, "invalid_client");
    }
}

#[tokio::test]
async fn an_issuer_failing_says_nothing_about_anyone() {
    let place = IssuerAddress::new().await;
    for kind in ["error", "garbage", "drop_before"] {
        place.tell("/faults", json!({"system": "identity_provider", "kind": kind})).await;
        let fresh = place.flow(client(CLIENT, None));
        is_unavailable(fresh.begin(BACK).await, "does not answer");
        is_unavailable(fresh.begin(BACK).await, "does not answer");
        place.clock.turn(Duration::from_secs(10));
        fresh.begin(BACK).await.unwrap();
    }
    for (kind, part) in [("error", "503"), ("garbage", "cannot be read"), ("drop_after", "provider fails")] {
        place.tell("/faults", json!({"system": "identity_provider", "kind": kind, "about": "token"})).await;
        is_unavailable(place.sign_in(&place.flow, "ann").await, part);
        place.clock.turn(Duration::from_secs(10));
    }
    place.tell("/clock", json!({"advance_ms": 60_000})).await;
    place.sign_in(&place.flow, "ann").await.unwrap();
}

#[tokio::test]
async fn an_issuer_that_is_too_slow_is_not_waited_for() {
    let place = IssuerAddress::new().await;
    let patient = place.flow(client(CLIENT, None));
    let begun = patient.begin(BACK).await.unwrap();
    let hasty = |flow: CodeFlow| flow.with_call_limit(Duration::from_millis(50));
    let returned = place.press(&begun, "ann").await;
    let slow = json!({"system": "identity_provider", "kind": "latency", "latency_ms": 60_000, "times": 0});
    place.tell("/faults", slow).await;
    let ended = hasty(patient).finish(&returned.code, &begun.verifier, &begun.nonce, BACK).await;
    keeps_quiet(ended.as_ref().unwrap_err(), &begun, &returned);
    is_unavailable(ended, "did not answer within 50ms");
    is_unavailable(hasty(place.flow(client(CLIENT, None))).begin(BACK).await, "does not answer");
}

#[tokio::test]
async fn a_new_key_of_the_issuer_is_found_when_it_may_be_asked_again() {
    let place = IssuerAddress::new().await;
    place.sign_in(&place.flow, "ann").await.unwrap();
    place.tell("/identity-provider/rotate", json!(null)).await;
    is_refused(place.sign_in(&place.flow, "ann").await, "no key");
    place.clock.turn(Duration::from_secs(10));
    place.sign_in(&place.flow, "ann").await.unwrap();
}

#[tokio::test]
async fn the_one_who_signs_out_at_the_issuer_comes_back() {
    let place = IssuerAddress::new().await;
    assert_eq!(place.flow.end_session(BACK), None, "the issuer was not asked yet");
    place.flow.begin(BACK).await.unwrap();
    let location = place.flow.end_session(BACK).unwrap();
    let answer = place.browser.get(&location).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{location}");
    assert_eq!(answer.headers()["location"], BACK);
    let bearer = format!("{}/identity", place.sandbox.url());
    let settings = OidcSettings::new(bearer, "us");
    let programs = CodeFlow::new(settings, client(CLIENT, None), place.clock.clone()).unwrap();
    is_unavailable(programs.begin(BACK).await, "authorization_endpoint");
    assert_eq!(programs.end_session(BACK), None, "this issuer has no such place");
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let scopes = |scopes: &[&str]| CodeFlowSettings {
        scopes: scopes.iter().map(ToString::to_string).collect(),
        ..client(CLIENT, None)
    };
    for (issuer, settings, part) in [
        ("http://id.example.com", client(CLIENT, None), "issuer"),
        ("https://id.example.com", client("", None), "client_id"),
        ("https://id.example.com", client(CLIENT, Some("")), "client_secret"),
        ("https://id.example.com", scopes(&["profile", "openid2"]), "scopes"),
        ("https://id.example.com", scopes(&[]), "scopes"),
    ] {
        let made = CodeFlow::new(OidcSettings::new(issuer, "us"), settings, Arc::new(ManualClock::default()));
        assert!(made.err().unwrap().starts_with(part), "{issuer} {part}");
    }
}

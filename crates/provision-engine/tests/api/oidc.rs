//! Bearer tokens of an identity provider: a small issuer on loopback, and our own sandbox.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::launch::api::rights::Verb;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::{Clock, Organisation, Proof, Role, Timestamp};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use server::{AuthError, Bearers, Meter, Oidc, OidcSettings, Principal, Server};
use tokio::net::TcpListener;

use crate::world::{ApiFixture, ManualClock, endpoints, settings, world};

struct IssuerKey {
    id: String,
    private: EncodingKey,
    jwk: Value,
}

impl IssuerKey {
    fn new(id: &str) -> IssuerKey {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let private = EncodingKey::from_ec_der(document.as_ref());
        let mut jwk = Jwk::from_encoding_key(&private, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some(id.to_owned());
        IssuerKey { id: id.to_owned(), private, jwk: serde_json::to_value(jwk).unwrap() }
    }

    fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.id.clone());
        encode(&header, claims, &self.private).unwrap()
    }
}

/// An issuer whose answers a test chooses.
#[derive(Default)]
struct ScriptedIssuer {
    /// `None` is trouble.
    keys: Mutex<Option<Value>>,
    discovery: Mutex<Value>,
    asked: AtomicU32,
}

struct IssuerAddress {
    issuer: Arc<ScriptedIssuer>,
    url: String,
    clock: Arc<ManualClock>,
    oidc: Oidc,
}

async fn place(key: &IssuerKey) -> IssuerAddress {
    let issuer = Arc::new(ScriptedIssuer::default());
    let router = Router::new()
        .route(
            "/.well-known/openid-configuration",
            get(|State(issuer): State<Arc<ScriptedIssuer>>| async move {
                issuer.asked.fetch_add(1, Ordering::SeqCst);
                Json(issuer.discovery.lock().unwrap().clone())
            }),
        )
        .route(
            "/jwks",
            get(|State(issuer): State<Arc<ScriptedIssuer>>| async move {
                let keys = issuer.keys.lock().unwrap().clone();
                keys.map(|keys| Json(json!({"keys": keys}))).ok_or(StatusCode::INTERNAL_SERVER_ERROR)
            }),
        )
        .with_state(issuer.clone());
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    *issuer.discovery.lock().unwrap() = json!({"issuer": url, "jwks_uri": format!("{url}/jwks")});
    *issuer.keys.lock().unwrap() = Some(json!([key.jwk]));
    let clock = Arc::new(ManualClock::default());
    let oidc = Oidc::new(OidcSettings::new(url.clone(), "us"), clock.clone()).unwrap();
    IssuerAddress { issuer, url, clock, oidc }
}

impl IssuerAddress {
    fn claims(&self, change: &Value) -> Value {
        let now = self.clock.now().0 / 1_000_000;
        let mut claims =
            json!({"iss": self.url, "aud": "us", "sub": "jane", "exp": now + 3600, "groups": ["operator"]});
        claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        claims
    }

    fn asked(&self) -> u32 {
        self.issuer.asked.load(Ordering::SeqCst)
    }

    #[track_caller]
    fn is_refused(verified: Result<Principal, AuthError>, part: &str) {
        match verified {
            Err(AuthError::Refused(why)) => assert!(why.contains(part), "{why}"),
            other => panic!("{other:?} instead of a refusal: {part}"),
        }
    }
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn a_good_token_says_who_it_is_and_the_issuer_is_asked_once() {
    let key = IssuerKey::new("k1");
    let place = place(&key).await;
    for (change, role) in [
        (json!({}), Some(Role::Operator)),
        (json!({"groups": ["admin"], "aud": ["them", "us"]}), Some(Role::Admin)),
        (json!({"groups": [], "scope": "broker:write"}), Some(Role::Broker)),
        (json!({"groups": ["viewer"], "scope": "broker:write"}), Some(Role::Reader)),
        (json!({"groups": ["visitors"]}), None),
    ] {
        let claims = place.claims(&change);
        let found = place.oidc.verify(&key.sign(&claims)).await.unwrap();
        assert_eq!((found.name.as_str(), found.role()), ("oidc:jane", role));
        let expires_at = Timestamp((claims["exp"].as_i64().unwrap() + 60) * 1_000_000);
        assert_eq!(found.proof, Proof::Bearer { expires_at }, "it is the moment from which it is refused");
    }
    assert_eq!(place.asked(), 1);
}

#[tokio::test]
async fn a_token_brings_its_organisation_and_its_permissions() {
    let (key, forger) = (IssuerKey::new("k1"), IssuerKey::new("k1"));
    let place = place(&key).await;
    let verify =
        async |key: &IssuerKey, change: Value| place.oidc.verify(&key.sign(&place.claims(&change))).await;
    let claims = json!({"org_id": "13", "permissions": "provisioning:*:read", "groups": ["strangers"]});
    let found = verify(&key, claims.clone()).await.unwrap();
    assert_eq!((found.organisation.clone(), found.roles.len()), (Organisation::Named("13".into()), 0));
    assert!(found.may("pubkey", Verb::Read) && !found.may("pubkey", Verb::Write));
    let plain = verify(&key, json!({"groups": ["launcher", "viewer"]})).await.unwrap();
    assert_eq!(plain.organisation, Organisation::Missing);
    assert_eq!(plain.roles, [Role::Launcher, Role::Reader]);
    for refused in [verify(&forger, claims).await, verify(&key, json!({"org_id": "13", "exp": 1})).await] {
        assert!(matches!(refused, Err(AuthError::Refused(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn groups_bring_the_roles_that_the_settings_say_and_no_others() {
    let key = IssuerKey::new("k1");
    let place = place(&key).await;
    let groups = [("platform-team", Role::Admin), ("everyone", Role::Reader), ("everyone", Role::Launcher)];
    let settings = OidcSettings::new(place.url.clone(), "us")
        .with_groups(groups.map(|(group, role)| (group.to_owned(), role)));
    let oidc = Oidc::new(settings, place.clock.clone()).unwrap();
    for (groups, role) in [
        (json!(["platform-team"]), Some(Role::Admin)),
        (json!(["everyone"]), Some(Role::Reader)),
        (json!(["admin", "operator", "viewer", "launcher"]), None),
    ] {
        let found = oidc.verify(&key.sign(&place.claims(&json!({"groups": groups})))).await.unwrap();
        assert_eq!(found.role(), role, "{groups}");
    }
}

#[tokio::test]
async fn claims_that_are_not_meant_for_us_now_are_refused() {
    let key = IssuerKey::new("k1");
    let place = place(&key).await;
    let now = place.clock.now().0 / 1_000_000;
    for (change, why) in [
        (json!({"exp": now - 61}), "expired"),
        (json!({"nbf": now + 120}), "not valid yet"),
        (json!({"aud": "them"}), "audience"),
        (json!({"iss": "https://elsewhere.example.com"}), "issuer"),
        (json!({"exp": null}), "not valid"),
    ] {
        IssuerAddress::is_refused(place.oidc.verify(&key.sign(&place.claims(&change))).await, why);
    }
    let token = key.sign(&place.claims(&json!({})));
    assert!(place.oidc.verify(&token).await.is_ok());
    place.clock.turn(Duration::from_secs(3661));
    IssuerAddress::is_refused(place.oidc.verify(&token).await, "expired");
}

#[tokio::test]
async fn a_token_that_the_issuer_did_not_sign_is_refused_however_it_looks() {
    let key = IssuerKey::new("k1");
    let place = place(&key).await;
    let claims = place.claims(&json!({"groups": ["admin"]}));
    let good = key.sign(&claims);
    assert!(place.oidc.verify(&good).await.is_ok());

    let none = format!("{}.{}.", part(&json!({"alg": "none", "kid": "k1"})), part(&claims));
    IssuerAddress::is_refused(place.oidc.verify(&none).await, "can be read");
    // Everybody knows the public key: as a shared secret it would let everybody in.
    let public = serde_json::from_value::<Jwk>(key.jwk.clone()).unwrap();
    let public = jsonwebtoken::DecodingKey::from_jwk(&public).unwrap();
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some("k1".into());
    for secret in [public.try_get_as_bytes().unwrap(), key.jwk.to_string().as_bytes()] {
        let token = encode(&header, &claims, &EncodingKey::from_secret(secret)).unwrap();
        IssuerAddress::is_refused(place.oidc.verify(&token).await, "key does not allow");
    }
    let forged = IssuerKey { id: "k1".into(), ..IssuerKey::new("k1") }.sign(&claims);
    IssuerAddress::is_refused(place.oidc.verify(&forged).await, "signature");
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let other = key.sign(&place.claims(&json!({"groups": ["viewer"]})));
    let swapped = format!("{}.{signature}", other.rsplit_once('.').unwrap().0);
    IssuerAddress::is_refused(place.oidc.verify(&swapped).await, "signature");
    let mut header = Header::new(Algorithm::ES256);
    (header.kid, header.crit) = (Some("k1".into()), Some(vec!["b64".into()]));
    let critical = encode(&header, &claims, &key.private).unwrap();
    IssuerAddress::is_refused(place.oidc.verify(&critical).await, "critical");
    for garbage in ["", ".", "..", "a.b.c", signed, &format!("{good}.x"), "\u{0}", "ä.ö.ü", "pe_short"] {
        IssuerAddress::is_refused(place.oidc.verify(garbage).await, "");
    }
    let huge = key.sign(&place.claims(&json!({"groups": vec!["admin"; 10_000]})));
    IssuerAddress::is_refused(place.oidc.verify(&huge).await, "too long");
    assert_eq!(place.asked(), 1, "nothing of this makes us ask the issuer");
}

#[tokio::test]
async fn an_unknown_key_is_asked_for_but_not_too_often() {
    let (old, new) = (IssuerKey::new("k1"), IssuerKey::new("k2"));
    let place = place(&old).await;
    let token = new.sign(&place.claims(&json!({})));
    IssuerAddress::is_refused(place.oidc.verify(&token).await, "no key");
    *place.issuer.keys.lock().unwrap() = Some(json!([new.jwk]));
    IssuerAddress::is_refused(place.oidc.verify(&token).await, "no key");
    assert_eq!(place.asked(), 1, "it is too soon to ask again");
    place.clock.turn(Duration::from_secs(10));
    assert!(place.oidc.verify(&token).await.is_ok());
    assert_eq!(place.asked(), 2);
    place.clock.turn(Duration::from_secs(10));
    let taken_back = old.sign(&place.claims(&json!({})));
    IssuerAddress::is_refused(place.oidc.verify(&taken_back).await, "no key");
    for number in 0..50 {
        let outsider = IssuerKey::new(&format!("x{number}"));
        IssuerAddress::is_refused(
            place.oidc.verify(&outsider.sign(&place.claims(&json!({})))).await,
            "no key",
        );
    }
    assert_eq!(place.asked(), 3);
}

#[tokio::test]
async fn many_callers_at_once_ask_the_issuer_once() {
    let key = IssuerKey::new("k1");
    let place = place(&key).await;
    let token = key.sign(&place.claims(&json!({})));
    let all = futures_util::future::join_all((0..50).map(|_| place.oidc.verify(&token))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(place.asked(), 1);
}

#[tokio::test]
async fn an_issuer_failing_says_nothing_about_a_token() {
    let key = IssuerKey::new("k1");
    let place = place(&key).await;
    let token = |place: &IssuerAddress| key.sign(&place.claims(&json!({})));
    let good = json!({"issuer": place.url, "jwks_uri": format!("{}/jwks", place.url)});
    for (discovery, keys) in [
        (good.clone(), None),
        (good.clone(), Some(json!([]))),
        (good.clone(), Some(json!("x".repeat(300_000)))),
        (
            json!({"issuer": "https://elsewhere.example.com", "jwks_uri": good["jwks_uri"]}),
            Some(json!([key.jwk])),
        ),
        (json!({"issuer": place.url, "jwks_uri": "http://keys.example.com/"}), Some(json!([key.jwk]))),
        (json!("nonsense"), Some(json!([key.jwk]))),
    ] {
        *place.issuer.discovery.lock().unwrap() = discovery.clone();
        *place.issuer.keys.lock().unwrap() = keys;
        let verified = place.oidc.verify(&token(&place)).await;
        assert!(matches!(verified, Err(AuthError::Unavailable(_))), "{discovery}: {verified:?}");
        place.clock.turn(Duration::from_secs(10));
    }
    *place.issuer.discovery.lock().unwrap() = good;
    *place.issuer.keys.lock().unwrap() = Some(json!([key.jwk]));
    assert!(place.oidc.verify(&token(&place)).await.is_ok());
    *place.issuer.keys.lock().unwrap() = None;
    place.clock.turn(Duration::from_mins(59));
    assert!(place.oidc.verify(&token(&place)).await.is_ok(), "the keys are old, but good enough");
    place.clock.turn(Duration::from_mins(1));
    let verified = place.oidc.verify(&token(&place)).await;
    assert!(matches!(verified, Err(AuthError::Unavailable(_))), "{verified:?}");
}

#[test]
fn settings_that_would_let_in_outsiders_are_refused_by_name() {
    for (issuer, audience, part) in [
        ("http://id.example.com", "us", "issuer"),
        ("not a url", "us", "issuer"),
        ("https://id.example.com", "", "audience"),
    ] {
        let made = Oidc::new(OidcSettings::new(issuer, audience), Arc::new(ManualClock::default()));
        assert!(made.err().unwrap().starts_with(part), "{issuer}");
    }
}

/// The same world with an issuer whose tokens are good too.
fn with_bearers(base: ApiFixture, bearers: Arc<dyn Bearers>) -> ApiFixture {
    let router = server::router(Server {
        engine: base.engine.clone(),
        access: base.store.clone(),
        people: base.store.clone(),
        meter: Arc::new(Meter::new()),
        settings: settings(),
        bearers: Some(bearers),
        endpoints: endpoints(),
        workflows: None,
        diagnostics: server::Diagnostics::default(),
        closing: base.closing.clone(),
    });
    ApiFixture { router, ..base }
}

#[tokio::test]
async fn tokens_of_the_sandbox_open_the_apis_that_their_groups_may_open() {
    let sandbox = sandbox::Sandbox::start(([127, 0, 0, 1], 0).into()).await.unwrap();
    let issuer = format!("{}/identity", sandbox.url());
    let world = world().await;
    let oidc = Oidc::new(OidcSettings::new(issuer.clone(), "us"), world.clock.clone()).unwrap();
    let world = with_bearers(world, Arc::new(oidc));
    let http = reqwest::Client::new();
    let token = async |more: &str| {
        let form = format!("grant_type=client_credentials&audience=us&{more}");
        let asked = http.post(format!("{issuer}/token")).basic_auth("jane", Some("sandbox-secret"));
        let asked = asked.header("content-type", "application/x-www-form-urlencoded").body(form);
        let answer: Value = asked.send().await.unwrap().json().await.unwrap();
        answer["access_token"].as_str().unwrap().to_owned()
    };
    let (viewer, admin) = (token("groups=viewer").await, token("groups=admin").await);
    let broker = token("scope=broker%3Awrite").await;
    let call = |method: &str, path: &str, token: &str| world.call(method, path).token(token).send();
    assert_eq!(call("GET", "/workflows", &viewer).await.status, 200);
    call("POST", "/signals/k", &viewer).await.is(403, "forbidden");
    assert_eq!(call("POST", "/signals/k", &admin).await.status, 202);
    call("GET", "/workflows", &broker).await.is(403, "forbidden");
    let log = world.get("/audit").await.json;
    assert_eq!(log["items"][0]["who"], "oidc:jane");

    http.post(format!("{issuer}/rotate")).send().await.unwrap();
    let renewed = token("groups=viewer").await;
    world.clock.turn(Duration::from_secs(10));
    assert_eq!(call("GET", "/workflows", &renewed).await.status, 200);
    call("GET", "/workflows", &viewer).await.is(401, "unauthenticated");
    sandbox.stop().await;
    world.clock.turn(Duration::from_secs(10));
    call("GET", "/workflows", &viewer).await.is(401, "unauthenticated");
    assert_eq!(
        world.call("GET", "/workflows").token(&world.reader).send().await.status,
        200,
        "ours still work"
    );
}

//! The identity provider for people: who is sent where, and who gets a token for what.

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use reqwest::{Client, Method, StatusCode, Url, redirect};
use serde_json::{Value, json};

use super::caller::HttpClient;

const BASE: &str = "/identity-provider";
const BACK: &str = "http://127.0.0.1:9/back?from=there";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

struct ProviderAddress {
    caller: HttpClient,
    /// Goes nowhere by itself.
    browser: Client,
}

impl ProviderAddress {
    async fn new() -> ProviderAddress {
        let browser = Client::builder().no_proxy().redirect(redirect::Policy::none()).build().unwrap();
        ProviderAddress { caller: HttpClient::new().await, browser }
    }

    /// The address at which a user signs in, with some parameters changed.
    fn authorize(&self, change: &[(&str, &str)]) -> Url {
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", "provision-engine-console"),
            ("redirect_uri", BACK),
            ("scope", "openid profile email groups"),
            ("state", "the state"),
            ("nonce", "the nonce"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        fields.retain(|(name, _)| change.iter().all(|(changed, _)| changed != name));
        fields.extend(change);
        let address = format!("{}{BASE}/authorize", self.caller.sandbox.url());
        Url::parse_with_params(&address, fields).unwrap()
    }

    async fn press(&self, address: Url, test_user: &str) -> Url {
        let pressed = self.browser.post(address).header("content-type", "application/x-www-form-urlencoded");
        let answer = pressed.body(format!("person={test_user}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        answer.headers()["location"].to_str().unwrap().parse().unwrap()
    }

    async fn code(&self, test_user: &str) -> String {
        parameter(&self.press(self.authorize(&[]), test_user).await, "code").unwrap()
    }

    async fn exchange(&self, code: &str, change: &[(&str, &str)]) -> (u16, Value) {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", BACK),
            ("client_id", "provision-engine-console"),
            ("code_verifier", VERIFIER),
        ];
        fields.retain(|(name, _)| change.iter().all(|(changed, _)| changed != name));
        fields.extend(change.iter().filter(|(_, value)| !value.is_empty()));
        let form = Url::parse_with_params("http://localhost", fields).unwrap();
        let request = self.caller.request(Method::POST, &format!("{BASE}/token"));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let answer = request.body(form.query().unwrap().to_owned()).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn id_token(&self, test_user: &str) -> String {
        let (status, body) = self.exchange(&self.code(test_user).await, &[]).await;
        assert_eq!(status, 200, "{body}");
        body["id_token"].as_str().unwrap().to_owned()
    }

    /// The claims, if a key of the provider signed them.
    async fn claims(&self, token: &str) -> Option<Value> {
        let keys: JwkSet = serde_json::from_value(self.caller.get(&format!("{BASE}/jwks")).await).unwrap();
        let key = DecodingKey::from_jwk(keys.find(&decode_header(token).ok()?.kid?)?).unwrap();
        let mut validation = Validation::new(Algorithm::ES256);
        (validation.validate_exp, validation.validate_aud) = (false, false);
        decode(token, &key, &validation).ok().map(|data| data.claims)
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

#[tokio::test]
async fn the_page_has_a_button_for_everyone_and_repeats_nothing_unescaped() {
    let place = ProviderAddress::new().await;
    let address = place.authorize(&[("state", "\"><script>")]);
    let answer = place.browser.get(address.clone()).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let page = answer.text().await.unwrap();
    assert!(page.contains("<html lang=\"en\">") && page.contains("<h1>Sandbox sign-in</h1>"), "{page}");
    assert!(!page.contains("<script>"), "{page}");
    let people = place.caller.get(&format!("{BASE}/people")).await;
    let people = people["people"].as_array().unwrap();
    assert_eq!(people.len(), 5);
    for test_user in people {
        let button = format!("name=\"person\" value={}", test_user["name"]);
        assert_eq!(page.matches(&button).count(), 1, "{button} in {page}");
    }
    let action = format!("action=\"{}?{}\"", address.path(), address.query().unwrap().replace('&', "&amp;"));
    assert!(page.contains(&action), "{action} in {page}");
}

#[tokio::test]
async fn a_button_leads_back_with_a_code_that_becomes_a_token() {
    let place = ProviderAddress::new().await;
    let discovered = place.caller.get(&format!("{BASE}/.well-known/openid-configuration")).await;
    let issuer = format!("{}{BASE}", place.caller.sandbox.url());
    assert_eq!(discovered["issuer"], issuer);
    assert_eq!(discovered["code_challenge_methods_supported"], json!(["S256"]));
    let back = place.press(place.authorize(&[]), "olaf").await;
    assert!(back.as_str().starts_with(BACK), "{back}");
    assert_eq!(parameter(&back, "state").as_deref(), Some("the state"));
    let (status, body) = place.exchange(&parameter(&back, "code").unwrap(), &[]).await;
    assert_eq!((status, &body["token_type"]), (200, &json!("Bearer")));
    let claims = place.claims(body["id_token"].as_str().unwrap()).await.unwrap();
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(issuer), &json!("provision-engine-console")));
    assert_eq!((&claims["sub"], &claims["nonce"]), (&json!("olaf"), &json!("the nonce")));
    assert_eq!((&claims["groups"], &claims["org_id"]), (&json!(["operator"]), &json!("default")));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 300);
    let noel = place.claims(&place.id_token("noel").await).await.unwrap();
    assert_eq!((&noel["groups"], noel.get("org_id")), (&json!([]), None));
    let little = place.press(place.authorize(&[("scope", "openid")]), "ann").await;
    let (_, body) = place.exchange(&parameter(&little, "code").unwrap(), &[]).await;
    let claims = place.claims(body["id_token"].as_str().unwrap()).await.unwrap();
    assert_eq!((claims.get("groups"), claims.get("email"), &claims["sub"]), (None, None, &json!("ann")));
}

#[tokio::test]
async fn no_one_is_sent_to_an_outsider() {
    let place = ProviderAddress::new().await;
    for change in [
        ("client_id", "stranger"),
        ("redirect_uri", "https://example.com/"),
        ("redirect_uri", "http://127.0.0.1@example.com/"),
    ] {
        for method in [Method::GET, Method::POST] {
            let asked = place.browser.request(method, place.authorize(&[change]));
            let asked = asked.header("content-type", "application/x-www-form-urlencoded").body("person=ann");
            let answer = asked.send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{change:?}");
            assert_eq!(answer.headers().get("location"), None, "{change:?}");
        }
    }
    for (change, error) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("scope", "groups"), "invalid_scope"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge", VERIFIER.trim_end_matches('k')), "invalid_request"),
    ] {
        let back = place.press(place.authorize(&[change]), "ann").await;
        assert_eq!(parameter(&back, "error").as_deref(), Some(error), "{back}");
        assert_eq!(parameter(&back, "code"), None, "{back}");
    }
    let address = place.authorize(&[]);
    let asked = place.browser.post(address).header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(asked.body("person=eve").send().await.unwrap().status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_code_is_good_once_for_a_minute_and_for_the_one_who_asked() {
    let place = ProviderAddress::new().await;
    for (change, status, error) in [
        (("code_verifier", CHALLENGE), 400, "invalid_grant"),
        (("code_verifier", ""), 400, "invalid_request"),
        (("redirect_uri", "http://127.0.0.1:9/back"), 400, "invalid_grant"),
        (("code", "another"), 400, "invalid_grant"),
        (("grant_type", "password"), 400, "unsupported_grant_type"),
        (("client_id", "stranger"), 401, "invalid_client"),
        (("client_id", "provision-engine-console-with-secret"), 401, "invalid_client"),
    ] {
        let answer = place.exchange(&place.code("ann").await, &[change]).await;
        assert_eq!(answer, (status, json!({"error": error})), "{change:?}");
    }
    let code = place.code("ann").await;
    assert_eq!(place.exchange(&code, &[]).await.0, 200);
    assert_eq!(place.exchange(&code, &[]).await.1, json!({"error": "invalid_grant"}));
    let guessed = place.code("ann").await;
    assert_eq!(place.exchange(&guessed, &[("code_verifier", CHALLENGE)]).await.0, 400);
    assert_eq!(place.exchange(&guessed, &[]).await.0, 400, "a code that was tried is used up");
    let late = place.code("ann").await;
    place.caller.advance(60).await;
    assert_eq!(place.exchange(&late, &[]).await.1, json!({"error": "invalid_grant"}));
}

#[tokio::test]
async fn tokens_are_wrong_in_the_way_that_was_asked_for() {
    let place = ProviderAddress::new().await;
    let faults = format!("{BASE}/faults");
    for (mistake, claim) in
        [("nonce", "nonce"), ("audience", "aud"), ("party", "azp"), ("issuer", "iss"), ("expired", "exp")]
    {
        let added = place.caller.send(Method::POST, &faults, json!({"kind": mistake})).await;
        assert_eq!(added, StatusCode::CREATED, "{mistake}");
        let wrong = place.claims(&place.id_token("ann").await).await.unwrap();
        let right = place.claims(&place.id_token("ann").await).await.unwrap();
        assert_ne!(wrong[claim], right[claim], "{mistake}");
        assert_eq!(wrong["sub"], right["sub"], "{mistake}");
    }
    for mistake in ["signature", "unsigned"] {
        place.caller.send(Method::POST, &faults, json!({"kind": mistake})).await;
        assert_eq!(place.claims(&place.id_token("ann").await).await, None, "{mistake}");
    }
    place.caller.send(Method::POST, &faults, json!({"kind": "nonce", "times": 0})).await;
    assert_eq!(place.caller.get(&faults).await["faults"].as_array().unwrap().len(), 1);
    assert_eq!(place.caller.send(Method::DELETE, &faults, json!(null)).await, StatusCode::NO_CONTENT);
    let token = place.id_token("ann").await;
    assert_eq!(place.claims(&token).await.unwrap()["nonce"], "the nonce");
    let refused = place.caller.send(Method::POST, &faults, json!({"kind": "spelling"})).await;
    assert_eq!(refused, StatusCode::BAD_REQUEST);
    place.caller.send(Method::POST, &format!("{BASE}/rotate"), json!(null)).await;
    assert_eq!(place.claims(&token).await, None, "its key is gone");
    place.caller.arm(json!({"system": "identity_provider", "kind": "error", "about": "jwks"})).await;
    let down = place.caller.request(Method::GET, &format!("{BASE}/jwks")).send().await.unwrap();
    assert_eq!(down.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn the_one_who_signs_out_comes_back_or_reads_that_it_is_done() {
    let place = ProviderAddress::new().await;
    let end = async |query: &[(&str, &str)]| {
        let address = format!("{}{BASE}/end-session", place.caller.sandbox.url());
        let address = Url::parse_with_params(&address, query).unwrap();
        let answer = place.browser.get(address).send().await.unwrap();
        let location = answer.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
        (answer.status().as_u16(), location)
    };
    let client = ("client_id", "provision-engine-console");
    assert_eq!(end(&[]).await, (200, None));
    let back = end(&[client, ("post_logout_redirect_uri", BACK), ("state", "s")]).await;
    assert_eq!(back, (303, Some(format!("{BACK}&state=s"))));
    assert_eq!(end(&[client, ("post_logout_redirect_uri", "https://example.com")]).await, (400, None));
    assert_eq!(end(&[("post_logout_redirect_uri", BACK)]).await, (400, None));
}

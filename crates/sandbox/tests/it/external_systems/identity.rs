//! The identity provider: who gets a token, and what is in it.

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::HttpClient;

async fn ask(
    caller: &HttpClient,
    query: &str,
    form: &str,
    basic: Option<(&str, &str)>,
) -> (StatusCode, Value) {
    let request = caller.request(Method::POST, &format!("/identity/token{query}")).body(form.to_owned());
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let request = basic.into_iter().fold(request, |r, (user, password)| r.basic_auth(user, Some(password)));
    let response = request.send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

/// The claims, checked as a relying party does it: with the keys that discovery leads to.
async fn claims(caller: &HttpClient, token: &str) -> Option<Value> {
    let base = caller.sandbox.url();
    let discovered = caller.get("/identity/.well-known/openid-configuration").await;
    let path = discovered["jwks_uri"].as_str().unwrap().strip_prefix(&base).unwrap();
    let keys: JwkSet = serde_json::from_value(caller.get(path).await).unwrap();
    let key = DecodingKey::from_jwk(keys.find(&decode_header(token).unwrap().kid.unwrap())?).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_issuer(&[discovered["issuer"].as_str().unwrap()]);
    validation.set_audience(&["broker"]);
    decode(token, &key, &validation).ok().map(|data| data.claims)
}

#[tokio::test]
async fn a_client_gets_a_token_that_anyone_can_check() {
    let caller = HttpClient::new().await;
    let form = "grant_type=client_credentials&scope=a%20b&audience=broker&groups=admins%20readers";
    let (status, body) = ask(&caller, "", form, Some(("ada", "sandbox-secret"))).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&body["token_type"], &body["expires_in"], &body["scope"]),
        (&json!("Bearer"), &json!(3600), &json!("a b"))
    );
    let token = body["access_token"].as_str().unwrap();
    let claims = claims(&caller, token).await.unwrap();
    assert_eq!(
        (&claims["sub"], &claims["aud"], &claims["scope"]),
        (&json!("ada"), &json!("broker"), &json!("a b"))
    );
    assert_eq!(claims["groups"], json!(["admins", "readers"]));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3600);
}

#[tokio::test]
async fn a_token_ends_with_its_time_or_with_its_key() {
    let caller = HttpClient::new().await;
    let form = "grant_type=client_credentials&client_id=ada&client_secret=sandbox-secret&audience=broker";
    let (_, short) = ask(&caller, "?expires_in=7200", form, None).await;
    assert_eq!(short["expires_in"], 7200);
    let token = short["access_token"].as_str().unwrap();
    assert!(claims(&caller, token).await.is_some());
    let keys = caller.get("/identity/jwks").await;
    assert_eq!(caller.send(Method::POST, "/identity/rotate", json!(null)).await, StatusCode::NO_CONTENT);
    assert_eq!(claims(&caller, token).await, None);
    let rotated = caller.get("/identity/jwks").await;
    assert_eq!(rotated["keys"].as_array().unwrap().len(), 1);
    assert_ne!(rotated["keys"][0]["kid"], keys["keys"][0]["kid"]);
    assert_ne!(rotated["keys"][0]["x"], keys["keys"][0]["x"]);
    assert_eq!(rotated["keys"][0].get("d"), None);
}

#[tokio::test]
async fn the_one_who_does_not_know_the_password_gets_nothing() {
    let caller = HttpClient::new().await;
    let granted = "grant_type=client_credentials";
    let cases = [
        (granted, Some(("ada", "wrong")), 401, "invalid_client"),
        (granted, Some(("", "sandbox-secret")), 401, "invalid_client"),
        (granted, None, 401, "invalid_client"),
        ("grant_type=client_credentials&client_id=ada&client_secret=wrong", None, 401, "invalid_client"),
        ("grant_type=password", Some(("ada", "sandbox-secret")), 400, "unsupported_grant_type"),
        ("scope=a", Some(("ada", "sandbox-secret")), 400, "invalid_request"),
    ];
    for (form, basic, status, error) in cases {
        let (seen, body) = ask(&caller, "", form, basic).await;
        assert_eq!((seen.as_u16(), body), (status, json!({"error": error})), "{form} {basic:?}");
    }
    let (status, _) = ask(&caller, "?expires_in=soon", granted, Some(("ada", "sandbox-secret"))).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    caller.arm(json!({"system": "identity", "kind": "error"})).await;
    let (status, _) = ask(&caller, "", granted, Some(("ada", "sandbox-secret"))).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
}

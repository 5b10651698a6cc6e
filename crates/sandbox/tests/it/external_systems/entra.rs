//! Sign-in to Azure with a certificate: what the sandbox takes for a proof, and what it answers to everything else.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{CertificateParams, PKCS_RSA_SHA256, date_time_ymd};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::caller::HttpClient;

const TENANT: &str = "5a9db0c4-0000-4000-8000-000000000001";
const CLIENT: &str = "5a9db0c4-0000-4000-8000-000000000002";
/// Every UUID is one.
const SUBSCRIPTION: &str = "5a9db0c4-0000-4000-8000-000000000003";
const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A certificate that signed itself, and its key.
struct TestCertificate {
    der: Vec<u8>,
    pem: String,
    key: EncodingKey,
}

impl TestCertificate {
    fn new(last_year: i32) -> TestCertificate {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let pkcs8 = pair.as_der().unwrap();
        let key =
            rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8.as_ref().into(), &PKCS_RSA_SHA256).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(last_year, 1, 1);
        let certificate = params.self_signed(&key).unwrap();
        // The crate that signs tokens reads keys of PKCS #1, which is the last part of PKCS #8.
        let der = pkcs8.as_ref();
        let start = der.windows(2).skip(1).position(|bytes| bytes == [0x30, 0x82]).map(|at| at + 1).unwrap();
        let start = if der[start + 4] == 0x02 { start } else { panic!("this is no key of PKCS #8") };
        let key = EncodingKey::from_rsa_der(&der[start..]);
        TestCertificate { der: certificate.der().to_vec(), pem: certificate.pem(), key }
    }

    fn sha256(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, &self.der))
    }

    /// An assertion with changes to what is right.
    fn assertion(&self, audience: &str, change: impl FnOnce(&mut Header, &mut Value)) -> String {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let mut claims = json!({
            "aud": audience, "iss": CLIENT, "sub": CLIENT, "jti": "1", "nbf": now, "iat": now, "exp": now + 600,
        });
        let mut header = Header::new(Algorithm::PS256);
        header.x5t_s256 = Some(self.sha256());
        change(&mut header, &mut claims);
        jsonwebtoken::encode(&header, &claims, &self.key).unwrap()
    }
}

async fn sign_in(client: &HttpClient, assertion: &str) -> (StatusCode, Value) {
    let path = format!("/azure/login/{TENANT}/oauth2/v2.0/token");
    let scope = "https%3A%2F%2Fmanagement.azure.com%2F.default";
    let form = format!(
        "grant_type=client_credentials&client_id={CLIENT}&scope={scope}&client_assertion_type={TYPE}\
         &client_assertion={assertion}"
    );
    let request = client.request(Method::POST, &path).body(form);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let answer = request.send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

async fn register(client: &HttpClient, certificate: &TestCertificate) -> Value {
    let body = json!({"certificate": certificate.pem});
    let answer = client.request(Method::POST, "/azure/certificates").json(&body).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    answer.json().await.unwrap()
}

#[tokio::test]
async fn an_assertion_of_a_registered_certificate_is_exchanged_for_a_token() {
    let client = HttpClient::new().await;
    let certificate = TestCertificate::new(2100);
    let audience = format!("{}/azure/login/{TENANT}/oauth2/v2.0/token", client.sandbox.url());
    let assertion = certificate.assertion(&audience, |_, _| {});
    assert_eq!(sign_in(&client, &assertion).await.0, StatusCode::UNAUTHORIZED, "it is not registered yet");
    assert_eq!(register(&client, &certificate).await["x5t#S256"], certificate.sha256());
    let by_sha1 = |header: &mut Header, _: &mut Value| {
        let sha1 = URL_SAFE_NO_PAD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &certificate.der));
        (header.alg, header.x5t, header.x5t_s256) = (Algorithm::RS256, Some(sha1), None);
    };
    let real = format!("https://login.microsoftonline.com/{TENANT}/oauth2/v2.0/token");
    for assertion in
        [assertion, certificate.assertion(&audience, by_sha1), certificate.assertion(&real, |_, _| {})]
    {
        let (status, body) = sign_in(&client, &assertion).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let token = body["access_token"].as_str().unwrap();
        let path = format!("/azure/subscriptions/{SUBSCRIPTION}?api-version=2022-12-01");
        let look = client.request(Method::GET, &path).bearer_auth(token).send().await.unwrap();
        assert_eq!(look.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn an_assertion_that_proves_nothing_is_refused_as_entra_refuses_it() {
    let client = HttpClient::new().await;
    let (known, unknown, ended) =
        (TestCertificate::new(2100), TestCertificate::new(2100), TestCertificate::new(2021));
    register(&client, &known).await;
    register(&client, &ended).await;
    let audience = format!("{}/azure/login/{TENANT}/oauth2/v2.0/token", client.sandbox.url());
    let moved = |claims: &mut Value, seconds: i64| {
        for name in ["nbf", "iat", "exp"] {
            claims[name] = json!(claims[name].as_i64().unwrap() + seconds);
        }
    };
    let other = "https://login.microsoftonline.com/other/oauth2/v2.0/token";
    let cases = [
        ("unknown certificate", unknown.assertion(&audience, |_, _| {}), 700_027, "key was not found"),
        (
            "wrong key",
            unknown.assertion(&audience, |header, _| header.x5t_s256 = Some(known.sha256())),
            700_027,
            "invalid signature",
        ),
        ("expired", known.assertion(&audience, |_, c| moved(c, -3600)), 700_024, "valid time range"),
        ("not yet good", known.assertion(&audience, |_, c| moved(c, 3600)), 700_024, "valid time range"),
        ("wrong audience", known.assertion(other, |_, _| {}), 700_023, "audience"),
        ("other issuer", known.assertion(&audience, |_, c| c["iss"] = json!("app")), 700_021, "client_id"),
        ("other subject", known.assertion(&audience, |_, c| c["sub"] = json!("app")), 700_021, "client_id"),
        ("ended certificate", ended.assertion(&audience, |_, _| {}), 7_000_222, "expired"),
        ("no thumbprint", known.assertion(&audience, |h, _| h.x5t_s256 = None), 5_002_723, "thumbprint"),
    ];
    for (name, assertion, number, said) in cases {
        let (status, body) = sign_in(&client, &assertion).await;
        assert_eq!(
            (status, &body["error"]),
            (StatusCode::UNAUTHORIZED, &json!("invalid_client")),
            "{name}: {body}"
        );
        assert_eq!(body["error_codes"], json!([number]), "{name}: {body}");
        let text = body["error_description"].as_str().unwrap();
        assert!(text.starts_with(&format!("AADSTS{number}: ")) && text.contains(said), "{name}: {text}");
    }
    let (status, body) = sign_in(&client, "no-assertion").await;
    assert_eq!((status, &body["error_codes"]), (StatusCode::BAD_REQUEST, &json!([50_027])));
    let (status, body) = sign_in(&client, &known.assertion(&audience, |_, _| {})).await;
    assert_eq!(status, StatusCode::OK, "{body}");
}

//! An `OpenID` Connect issuer that signs whatever claims a test wants, as bearer tokens and for the code flow.

use std::net::SocketAddr;
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use axum::extract::{Form, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub(crate) const AUDIENCE: &str = "provision-engine";

pub(crate) struct Issuer {
    pub(crate) url: String,
    key: EncodingKey,
    jwk: Value,
}

impl Issuer {
    pub(crate) async fn start() -> Arc<Issuer> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let key = EncodingKey::from_ec_der(document.unwrap().as_ref());
        let mut jwk = Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some("k1".to_owned());
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let issuer = Arc::new(Issuer { url, key, jwk: serde_json::to_value(jwk).unwrap() });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route(
                "/jwks",
                get(|State(own): State<Arc<Issuer>>| async move { Json(json!({"keys": [own.jwk]})) }),
            )
            .route("/token", post(token))
            .with_state(Arc::clone(&issuer));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        issuer
    }

    /// A token with these claims that is good from now for so many seconds.
    pub(crate) fn sign(&self, claims: &Value, now: i64, seconds: i64) -> String {
        let mut all =
            json!({"iss": self.url, "aud": AUDIENCE, "sub": "jane", "iat": now, "exp": now + seconds});
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some("k1".to_owned());
        encode(&header, &all, &self.key).unwrap()
    }
}

async fn discovery(State(own): State<Arc<Issuer>>) -> Json<Value> {
    let at = |place: &str| format!("{}/{place}", own.url);
    Json(json!({
        "issuer": own.url, "jwks_uri": at("jwks"),
        "authorization_endpoint": at("authorize"), "token_endpoint": at("token"),
    }))
}

/// The code that a sign-in with these claims comes back with; it holds all that the token will say.
pub(crate) fn code(claims: &Value, nonce: &str, now: i64) -> String {
    URL_SAFE_NO_PAD.encode(json!({"claims": claims, "nonce": nonce, "now": now}).to_string())
}

async fn token(State(own): State<Arc<Issuer>>, Form(fields): Form<Vec<(String, String)>>) -> Json<Value> {
    let code = fields.iter().find(|(name, _)| name == "code").unwrap();
    let code: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(&code.1).unwrap()).unwrap();
    let mut claims = code["claims"].clone();
    claims["nonce"] = code["nonce"].clone();
    Json(json!({"id_token": own.sign(&claims, code["now"].as_i64().unwrap(), 300)}))
}

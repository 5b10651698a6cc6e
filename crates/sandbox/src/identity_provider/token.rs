//! `POST /token`: a code, and the proof that it was asked for here, become an ID token.

use axum::Json;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::clients::OidcClient;
use super::codes::Grant;
use super::{IdentityProvider, Provider};

const EXPIRES_IN_S: i64 = 300;

#[derive(Debug, Deserialize)]
pub(super) struct TokenForm {
    grant_type: Option<String>,
    code: Option<String>,
    redirect_uri: Option<String>,
    client_id: Option<String>,
    code_verifier: Option<String>,
}

pub(super) async fn issue(
    State(provider): Provider,
    headers: HeaderMap,
    form: Result<Form<TokenForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else { return refuse(StatusCode::BAD_REQUEST, "invalid_request") };
    let Some(client) = OidcClient::of(&headers, form.client_id.as_deref()) else {
        return refuse(StatusCode::UNAUTHORIZED, "invalid_client");
    };
    match form.grant_type.as_deref() {
        Some("authorization_code") => {}
        Some(_) => return refuse(StatusCode::BAD_REQUEST, "unsupported_grant_type"),
        None => return refuse(StatusCode::BAD_REQUEST, "invalid_request"),
    }
    let (Some(code), Some(redirect_uri), Some(verifier)) = (form.code, form.redirect_uri, form.code_verifier)
    else {
        return refuse(StatusCode::BAD_REQUEST, "invalid_request");
    };
    let is_good = |grant: &Grant| {
        let asked = &grant.asked;
        asked.client_id == client.id && asked.redirect_uri == redirect_uri && asked.is_proved_by(&verifier)
    };
    let Some(grant) = provider.codes.take(&code, provider.clock.now()).filter(is_good) else {
        return refuse(StatusCode::BAD_REQUEST, "invalid_grant");
    };
    let body = json!({
        "access_token": Uuid::now_v7().simple().to_string(),
        "token_type": "Bearer",
        "expires_in": EXPIRES_IN_S,
        "scope": grant.asked.scopes.join(" "),
        "id_token": provider.id_token(&grant),
    });
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

impl IdentityProvider {
    fn id_token(&self, grant: &Grant) -> String {
        let issued_at = self.clock.now().unix_timestamp();
        let mut claims = grant.test_user.claims(&grant.asked.scopes);
        let about_token = json!({
            "iss": self.issuer,
            "aud": grant.asked.client_id,
            "iat": issued_at,
            "exp": issued_at + EXPIRES_IN_S,
        });
        claims.extend(about_token.as_object().cloned().unwrap_or_default());
        claims.extend(grant.asked.nonce.clone().map(|nonce| ("nonce".to_owned(), json!(nonce))));
        let mut claims = Value::Object(claims);
        match self.faults.take(|_| true, |about| grant.asked.client_id == about) {
            Some(fault) => {
                fault.kind.spoil(&mut claims);
                fault.kind.sign(&claims, &self.key())
            }
            None => self.key().sign(&claims),
        }
    }
}

fn refuse(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({"error": error}))).into_response()
}

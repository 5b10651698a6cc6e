//! The call that turns a code into a token: what is sent, and what the answer means.

use engine::secret::SecretString;
use http_client::percent_encoded;
use serde::Deserialize;

use super::code_flow::FlowError;

#[derive(Deserialize)]
struct TokenResponse {
    id_token: Option<String>,
}

#[derive(Deserialize)]
struct TokenErrorBody {
    error: String,
}

/// A form of these fields.
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", percent_encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// The ID token in an answer. Nothing of the answer gets into a text, because it may repeat what was sent.
pub(super) fn id_token(status: u16, body: &[u8]) -> Result<SecretString, FlowError> {
    match status {
        200 => {
            let unreadable =
                |_| FlowError::Unavailable("the identity provider's answer cannot be read".into());
            let answer: TokenResponse = serde_json::from_slice(body).map_err(unreadable)?;
            answer.id_token.map(SecretString::from).ok_or_else(|| {
                FlowError::Refused(
                    "the identity provider does not say who signed in: it sent no ID token".into(),
                )
            })
        }
        400..=499 if status != 408 && status != 429 => {
            let error_body: Option<TokenErrorBody> = serde_json::from_slice(body).ok();
            Err(FlowError::Refused(error_response(
                status,
                error_body.as_ref().map(|error_body| error_body.error.as_str()),
            )))
        }
        _ => Err(FlowError::Unavailable(format!("the identity provider answered {status}; try again later"))),
    }
}

fn error_response(status: u16, error: Option<&str>) -> String {
    match error {
        Some("invalid_grant") => {
            "the identity provider does not take this sign-in (invalid_grant): it was used \
             before, took too long, or was begun somewhere else; sign in again"
                .into()
        }
        Some(error @ ("invalid_client" | "unauthorized_client")) => format!(
            "the identity provider does not take this client ({error}); the operator of this server has to check its id and its secret"
        ),
        Some(error @ ("invalid_request" | "invalid_scope" | "unsupported_grant_type")) => {
            format!("the identity provider does not take this kind of sign-in ({error})")
        }
        _ => format!("the identity provider refused this sign-in and answered {status}"),
    }
}

#[cfg(test)]
mod tests {
    use engine::secret::ExposeSecret;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_form_spells_out_what_could_be_taken_for_something_else() {
        assert_eq!(form(&[("a", "x y&b=1"), ("c", "ü+%~")]), "a=x%20y%26b%3D1&c=%C3%BC%2B%25~");
    }

    #[test]
    fn an_answer_is_a_token_an_error_or_failure() {
        let answer = |status: u16, body: Value| id_token(status, body.to_string().as_bytes());
        let good = answer(200, json!({"id_token": "t", "access_token": "a", "expires_in": 5})).unwrap();
        assert_eq!(good.expose_secret(), "t");
        for (status, body, part) in [
            (200, json!({"access_token": "echo"}), "no ID token"),
            (400, json!({"error": "invalid_grant", "error_description": "echo"}), "invalid_grant"),
            (401, json!({"error": "invalid_client"}), "secret"),
            (400, json!({"error": "invalid_scope"}), "invalid_scope"),
            (400, json!({"error": "echo"}), "answered 400"),
            (404, json!("echo"), "answered 404"),
        ] {
            match answer(status, body.clone()) {
                Err(FlowError::Refused(why)) => assert!(why.contains(part) && !why.contains("echo"), "{why}"),
                other => panic!("{body}: {other:?}"),
            }
        }
        for (status, body) in [
            (200, json!("echo")),
            (200, json!({"id_token": 7})),
            (302, json!({})),
            (408, json!({"error": "invalid_grant"})),
            (429, json!({"error": "invalid_grant"})),
            (500, json!({"error": "invalid_grant"})),
        ] {
            let answered = answer(status, body.clone());
            assert!(matches!(answered, Err(FlowError::Unavailable(_))), "{status} {body}: {answered:?}");
        }
    }
}

//! Certificates of the application, and the assertions that their keys sign in place of a secret.

use std::fmt;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::login::EntraError;

const CERTIFICATES_MAX: usize = 100;
/// Entra allows for clocks that differ.
const SKEW: Duration = Duration::minutes(5);

#[derive(Debug, Default)]
pub(super) struct AppCertificates(Vec<AppCertificate>);

struct AppCertificate {
    /// By which an assertion names it in `x5t` and in `x5t#S256`.
    sha1: String,
    sha256: String,
    key: DecodingKey,
    starts: OffsetDateTime,
    ends: OffsetDateTime,
}

impl fmt::Debug for AppCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppCertificate").field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

impl AppCertificates {
    /// Takes a certificate in PEM, as the portal does.
    pub(super) fn add(&mut self, pem: &str) -> Result<Value, String> {
        if self.0.len() >= CERTIFICATES_MAX {
            return Err("there are too many certificates".to_owned());
        }
        let base64: String = pem.lines().map(str::trim).filter(|line| !line.starts_with('-')).collect();
        let der = STANDARD.decode(base64).map_err(|_| "this is no certificate in PEM")?;
        let read = Certificate::from_der(&der).map_err(|error| format!("this is no certificate: {error}"))?;
        let part = &read.tbs_certificate;
        let at = |time: x509_cert::time::Time| {
            OffsetDateTime::from_unix_timestamp(
                i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX),
            )
            .map_err(|_| "its validity cannot be read".to_owned())
        };
        let certificate = AppCertificate {
            sha1: URL_SAFE_NO_PAD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &der)),
            sha256: URL_SAFE_NO_PAD.encode(digest(&SHA256, &der)),
            key: DecodingKey::from_rsa_der(part.subject_public_key_info.subject_public_key.raw_bytes()),
            starts: at(part.validity.not_before)?,
            ends: at(part.validity.not_after)?,
        };
        let shown = json!({"x5t": certificate.sha1, "x5t#S256": certificate.sha256});
        self.0.push(certificate);
        Ok(shown)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether the application signed this assertion a short time ago, for this service.
    pub(super) fn check(
        &self,
        assertion: &str,
        client_id: &str,
        audiences: &[String],
        now: OffsetDateTime,
    ) -> Result<(), EntraError> {
        let malformed = || EntraError::request(50_027, "JWT token is invalid or malformed");
        let header = jsonwebtoken::decode_header(assertion).map_err(|_| malformed())?;
        if !matches!(header.alg, Algorithm::RS256 | Algorithm::PS256) {
            return Err(malformed());
        }
        let unsigned = claims_of(assertion).ok_or_else(malformed)?;
        if unsigned["iss"] != client_id || unsigned["sub"] != client_id {
            let why = "Client assertion application identifier doesn't match 'client_id' parameter";
            return Err(EntraError::client(700_021, why));
        }
        let certificate = self.named(header.x5t.as_deref(), header.x5t_s256.as_deref(), client_id)?;
        let mut validation = Validation::new(header.alg);
        // Times and audiences have errors of their own.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let claims = jsonwebtoken::decode::<Value>(assertion, &certificate.key, &validation);
        let claims = claims.map_err(|_| {
            let why = "Client assertion contains an invalid signature. [Reason - The key was found, but use of \
                       the key to verify the signature failed.";
            EntraError::client(700_027, &format!("{why}, Thumbprint of key used by client: '{}']", certificate.sha1))
        })?;
        is_in_time(&claims.claims, now)?;
        if !(certificate.starts..certificate.ends).contains(&now) {
            return Err(EntraError::client(
                7_000_222,
                "The provided client secret keys or certificates are expired",
            ));
        }
        if !audiences.iter().any(|audience| claims.claims["aud"] == *audience) {
            let why = "Client assertion audience claim does not match Realm issuer";
            return Err(EntraError::client(700_023, why));
        }
        Ok(())
    }

    fn named(
        &self,
        sha1: Option<&str>,
        sha256: Option<&str>,
        client_id: &str,
    ) -> Result<&AppCertificate, EntraError> {
        let Some(name) = sha256.or(sha1) else {
            let why = "Invalid JWT token. No certificate SHA-1 thumbprint, certificate SHA-256 thumbprint, nor \
                       keyId specified in token header";
            return Err(EntraError::client(5_002_723, why));
        };
        let is_named = |one: &&AppCertificate| match sha256 {
            Some(sha256) => one.sha256 == sha256,
            None => Some(one.sha1.as_str()) == sha1,
        };
        self.0.iter().find(is_named).ok_or_else(|| {
            let why = format!(
                "The certificate with identifier used to sign the client assertion is not registered on \
                 application. [Reason - The key was not found., Thumbprint of key used by client: '{name}', Please \
                 visit the Azure Portal to see configured keys for app Id '{client_id}']"
            );
            EntraError::client(700_027, &why)
        })
    }
}

fn is_in_time(claims: &Value, now: OffsetDateTime) -> Result<(), EntraError> {
    let at = |name: &str| {
        OffsetDateTime::from_unix_timestamp(claims[name].as_i64().unwrap_or_default())
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    };
    let (from, until) = (at("nbf"), at("exp"));
    if from <= now + SKEW && now <= until + SKEW {
        return Ok(());
    }
    let show = |at: OffsetDateTime| at.format(&Rfc3339).unwrap_or_default();
    let why = format!(
        "Client assertion is not within its valid time range. Current time: {}, assertion valid from {}, expiry time \
         of assertion {}",
        show(now),
        show(from),
        show(until)
    );
    Err(EntraError::client(700_024, &why))
}

/// The claims before the signature is checked: they say by whom it should be.
fn claims_of(assertion: &str) -> Option<Value> {
    let part = assertion.split('.').nth(1)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

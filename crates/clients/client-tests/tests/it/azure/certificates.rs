//! Sign-in with a certificate in place of a secret.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use azure::{Azure, ClientCertificate, Credential, Options};
use cloud::{Category, Provider};
use engine::{Clock, Timestamp, WallClock};
use rcgen::{CertificateParams, PKCS_RSA_SHA256};
use serde_json::json;

use super::fixture::AzureFixture;

/// A computer whose clock is an hour behind.
pub(super) struct ClockBehind;

#[async_trait::async_trait]
impl Clock for ClockBehind {
    fn now(&self) -> Timestamp {
        WallClock.now().minus(Duration::from_hours(1))
    }

    async fn sleep(&self, duration: Duration) {
        WallClock.sleep(duration).await;
    }

    fn chance(&self) -> u64 {
        WallClock.chance()
    }
}

/// A certificate and its key, in PEM.
pub(crate) fn certificate() -> (String, String) {
    let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der = pair.as_der().unwrap();
    let key = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&der.as_ref().into(), &PKCS_RSA_SHA256).unwrap();
    let certificate = CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

#[tokio::test]
async fn a_certificate_signs_in_once_it_is_registered() {
    let fixture = AzureFixture::new().await;
    let (certificate, key) = certificate();
    let read = ClientCertificate::parse(&format!("{certificate}{key}")).unwrap();
    let options = Options::beside(&fixture.shared.sandbox.url());
    let options = Options { credential: Some(Credential::Certificate(read)), ..options };
    let azure = Azure::new(&options).unwrap();
    let error = azure.identity(&fixture.place()).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "AADSTS700027"));
    assert!(error.message.contains("launch.azure.client_certificate_file"), "{error}");
    fixture.shared.post("/azure/certificates", &json!({"certificate": certificate})).await;
    azure.identity(&fixture.place()).await.unwrap();
    let late = Azure::with_clock(&options, Arc::new(ClockBehind)).unwrap();
    let error = late.identity(&fixture.place()).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "AADSTS700024"));
    assert!(error.message.contains("clock"), "{error}");
}

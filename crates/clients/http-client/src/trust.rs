//! The certificate authorities that outgoing HTTP clients trust: those of the system and those of the configuration. The
//! whole process has one list. It is read at the first handshake, because most processes make none.

use std::sync::{Arc, OnceLock};

use reqwest::{Certificate, Client, ClientBuilder};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

static AUTHORITIES: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
static TLS: OnceLock<ClientConfig> = OnceLock::new();

/// Trusts these authorities, in PEM, besides those of the system. Only the first call counts, and only before the first
/// handshake.
pub fn trust(pem: &[u8]) -> Result<(), String> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("it holds no certificates: {error}"))?;
    if found.is_empty() {
        return Err("it holds no certificate".to_owned());
    }
    let mut roots = RootCertStore::empty();
    for certificate in &found {
        roots.add(certificate.clone()).map_err(|error| format!("it holds no certificates: {error}"))?;
    }
    let _ = AUTHORITIES.set(found);
    Ok(())
}

/// How every HTTP client of this process begins.
pub fn http_client() -> ClientBuilder {
    Client::builder().tls_backend_preconfigured(TLS.get_or_init(tls_config).clone())
}

/// The same client with TLS that is made for it alone, so that an authority or a certificate of its own counts: on a client
/// as [`http_client`] begins it, both would be ignored. Without an authority it trusts what every client trusts.
pub fn with_own_tls(builder: ClientBuilder, authorities: Option<Vec<Certificate>>) -> ClientBuilder {
    let builder = builder.tls_backend_rustls();
    if let Some(authorities) = authorities {
        return builder.tls_certs_only(authorities);
    }
    let configured = AUTHORITIES.get().into_iter().flatten();
    builder.tls_certs_merge(configured.filter_map(|der| Certificate::from_der(der).ok()))
}

fn tls_config() -> ClientConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions of TLS")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(LazyVerifier { provider, verifier: OnceLock::new() }))
        .with_no_client_auth()
}

/// The verifier of the platform, made at the first handshake. Making it reads every certificate of the system, and a
/// process has several clients.
#[derive(Debug)]
struct LazyVerifier {
    provider: Arc<CryptoProvider>,
    verifier: OnceLock<Result<Verifier, Error>>,
}

impl LazyVerifier {
    fn get(&self) -> Result<&Verifier, Error> {
        let extra = || AUTHORITIES.get().into_iter().flatten().cloned();
        let made = || Verifier::new_with_extra_roots(extra(), Arc::clone(&self.provider));
        self.verifier.get_or_init(made).as_ref().map_err(Clone::clone)
    }
}

impl ServerCertVerifier for LazyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.get()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.get()?.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.get()?.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

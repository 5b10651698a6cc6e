//! `sslmode` and `sslrootcert` of a database address, with the meaning that libpq gives them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use engine::store::StoreError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// A file with authorities that are trusted besides those of the system, for all databases of this process.
static CA_FILE: OnceLock<PathBuf> = OnceLock::new();

/// Trusts the authorities in this file besides those of the system. Only the first call counts.
pub fn trust(ca_file: PathBuf) {
    let _ = CA_FILE.set(ca_file);
}

/// What an address says about TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TlsRequirement {
    mode: Mode,
    /// The only authorities that are trusted; `None` for those of the system.
    root: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// One way to connect; the next one is tried when it fails.
#[derive(Clone)]
pub(super) enum ConnectAttempt {
    Plain,
    /// TLS if the server has it.
    Optional(MakeRustlsConnect),
    Tls(MakeRustlsConnect),
}

impl ConnectAttempt {
    pub(super) fn mode(&self) -> SslMode {
        match self {
            ConnectAttempt::Plain => SslMode::Disable,
            ConnectAttempt::Optional(_) => SslMode::Prefer,
            ConnectAttempt::Tls(_) => SslMode::Require,
        }
    }
}

impl TlsRequirement {
    /// Takes what is said about TLS out of an address.
    pub(super) fn take_from(url: &str) -> Result<(String, TlsRequirement), StoreError> {
        let mut wanted = TlsRequirement { mode: Mode::Prefer, root: None };
        let Some((base, query)) = url.split_once('?') else { return Ok((url.to_owned(), wanted)) };
        let mut rest = Vec::new();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => wanted.mode = Mode::named(mode)?,
                Some(("sslrootcert", path)) => {
                    wanted.root = Some(decoded(path)).filter(|path| path != "system").map(PathBuf::from);
                }
                _ => rest.push(pair),
            }
        }
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        Ok((format!("{base}{query}"), wanted))
    }

    /// For an address that is not a URL, whose own words the library reads.
    pub(super) fn with(mut self, mode: SslMode) -> TlsRequirement {
        self.mode = match mode {
            SslMode::Disable => Mode::Disable,
            SslMode::Require if self.mode == Mode::Prefer => Mode::Require,
            _ => self.mode,
        };
        self
    }

    pub(super) fn ways(&self) -> Result<Vec<ConnectAttempt>, StoreError> {
        let any = || connector(Arc::new(Unverified(provider())));
        Ok(match self.mode {
            Mode::Disable => vec![ConnectAttempt::Plain],
            Mode::Allow => vec![ConnectAttempt::Plain, ConnectAttempt::Tls(any()?)],
            Mode::Prefer => vec![ConnectAttempt::Optional(any()?), ConnectAttempt::Plain],
            Mode::Require if self.root.is_none() => vec![ConnectAttempt::Tls(any()?)],
            // libpq verifies the authority as soon as one is named.
            Mode::Require | Mode::VerifyCa => {
                vec![ConnectAttempt::Tls(connector(Arc::new(AnyName(self.verifier()?)))?)]
            }
            Mode::VerifyFull => vec![ConnectAttempt::Tls(connector(self.verifier()?)?)],
        })
    }

    fn verifier(&self) -> Result<Arc<WebPkiServerVerifier>, StoreError> {
        let mut roots = RootCertStore::empty();
        if self.root.is_none() {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        if let Some(path) = self.root.as_ref().or(CA_FILE.get()) {
            let unusable = |why: String| StoreError::Refused(format!("cannot use {}: {why}", path.display()));
            let found = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
            }
        }
        if roots.is_empty() {
            let text = "the database wants TLS, and this host has no certificates to verify it with";
            return Err(StoreError::Refused(text.into()));
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map_err(|error| StoreError::Refused(format!("cannot use TLS: {error}")))
    }
}

impl Mode {
    fn named(text: &str) -> Result<Mode, StoreError> {
        Ok(match text {
            "disable" => Mode::Disable,
            "allow" => Mode::Allow,
            "prefer" => Mode::Prefer,
            "require" => Mode::Require,
            "verify-ca" => Mode::VerifyCa,
            "verify-full" => Mode::VerifyFull,
            _ => {
                let text = "the address of the database is wrong: sslmode must be disable, allow, prefer, require, \
                            verify-ca or verify-full";
                return Err(StoreError::Refused(text.into()));
            }
        })
    }
}

/// The text behind percent signs.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits =
            tail.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn connector(verifier: Arc<dyn ServerCertVerifier>) -> Result<MakeRustlsConnect, StoreError> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Refused(format!("cannot use TLS: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// For `allow`, `prefer` and `require`: no transaction reads along, but the server may be any transaction.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

/// For `verify-ca`: the authority is known, and the name does not matter.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

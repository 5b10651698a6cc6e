//! TLS of the listener. Certificate and key are files, which are read again when they change and on SIGHUP.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

use crate::config::{ClientCertificates, ServerTls};

/// How often the files are compared with what is in use.
const FOLLOW: Duration = Duration::from_secs(1);

pub struct Tls {
    files: ServerTls,
    current: Mutex<Current>,
}

struct Current {
    config: Arc<ServerConfig>,
    stamps: Vec<Stamp>,
}

/// What tells one content of a file from another: when it was written, and its length.
type Stamp = Option<(SystemTime, u64)>;

impl Tls {
    /// Fails where a file cannot be used.
    pub fn open(files: &ServerTls) -> Result<Arc<Tls>> {
        let stamps = stamps(files);
        let config = read(files).context("server.tls")?;
        Ok(Arc::new(Tls { files: files.clone(), current: Mutex::new(Current { config, stamps }) }))
    }

    pub(super) fn client_certificates(&self) -> ClientCertificates {
        self.files.client_certificates
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&current.config))
    }

    /// Connections that are open keep what they began with. Files that cannot be used change nothing.
    pub fn reload(&self) {
        let stamps = stamps(&self.files);
        let read = read(&self.files);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.stamps = stamps;
        match read {
            Ok(config) => {
                current.config = config;
                info!(certificate = %self.files.certificate.display(), "TLS certificate loaded");
            }
            Err(error) => {
                let error = format!("{error:#}");
                warn!(error, "TLS certificate not usable, keeping the one in use");
            }
        }
    }

    /// Reads the files again whenever one of them has changed.
    pub async fn follow(&self) -> Infallible {
        loop {
            sleep(FOLLOW).await;
            let now = stamps(&self.files);
            let has_changed = self.current.lock().unwrap_or_else(PoisonError::into_inner).stamps != now;
            if has_changed {
                self.reload();
            }
        }
    }
}

fn stamps(files: &ServerTls) -> Vec<Stamp> {
    let paths = [Some(&files.certificate), Some(&files.key), files.client_ca.as_ref()];
    let stamp = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    paths.into_iter().flatten().map(stamp).collect()
}

/// TLS 1.2 and 1.3.
fn read(files: &ServerTls) -> Result<Arc<ServerConfig>> {
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .with_context(|| format!("cannot read a private key from {}", files.key.display()))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).with_context(|| format!("{} holds no CA", path.display()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match files.client_certificates {
                ClientCertificates::Required => verifier,
                ClientCertificates::Optional | ClientCertificates::Broker => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .with_context(|| format!("{} and {} do not fit", files.certificate.display(), files.key.display()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let name = path.display();
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .with_context(|| format!("cannot read certificates from {name}"))?
        .collect();
    let found = found.with_context(|| format!("cannot read certificates from {name}"))?;
    anyhow::ensure!(!found.is_empty(), "{name} holds no certificate");
    Ok(found)
}

//! Every wire with TLS: our own listener, and every client against a peer that speaks TLS alone, with a certificate that
//! is good and with some that are not.

mod listener;
mod outgoing;
mod postgres;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Good,
    Expired,
    WrongName,
    UnknownAuthority,
}

const KINDS: [Kind; 4] = [Kind::Good, Kind::Expired, Kind::WrongName, Kind::UnknownAuthority];

/// An authority with the files of its certificates.
struct Authority {
    dir: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, as files.
#[derive(Debug, Clone)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        Authority { dir, issuer }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    fn pem(&self) -> Vec<u8> {
        fs::read(self.file()).unwrap()
    }

    fn issue(&self, file: &str, name: &str, kind: Kind) -> Files {
        let names =
            if kind == Kind::WrongName { vec!["other.example"] } else { vec!["localhost", "127.0.0.1"] };
        let mut params =
            CertificateParams::new(names.into_iter().map(str::to_owned).collect::<Vec<_>>()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after =
            if kind == Kind::Expired { date_time_ymd(2021, 1, 1) } else { date_time_ymd(2100, 1, 1) };
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let at = |end: &str| self.dir.path().join(format!("{file}.{end}"));
        let files = Files { certificate: at("crt"), key: at("key") };
        fs::write(&files.certificate, certificate.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }
}

/// Two authorities, of which our side trusts the first.
struct Authorities {
    trusted: Authority,
    unknown: Authority,
}

impl Authorities {
    fn new() -> Authorities {
        Authorities { trusted: Authority::new("trusted"), unknown: Authority::new("unknown") }
    }

    fn issue(&self, kind: Kind) -> Files {
        let authority = if kind == Kind::UnknownAuthority { &self.unknown } else { &self.trusted };
        authority.issue(&format!("{kind:?}"), "peer", kind)
    }
}

fn server_config(files: &Files) -> ServerConfig {
    let chain = CertificateDer::pem_file_iter(&files.certificate).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    builder.with_no_client_auth().with_single_cert(chain, key).unwrap()
}

/// Speaks TLS and nothing else, and passes what it hears on to somebody who does not.
struct Peer {
    address: SocketAddr,
    attempts: Arc<AtomicUsize>,
    /// Connections that got through the handshake.
    passed: Arc<AtomicUsize>,
}

impl Peer {
    fn start(runtime: &Runtime, files: &Files, behind: String) -> Peer {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (attempts, passed) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let acceptor = TlsAcceptor::from(Arc::new(server_config(files)));
        let counts = (Arc::clone(&attempts), Arc::clone(&passed));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, behind, counts) = (acceptor.clone(), behind.clone(), counts.clone());
                tokio::spawn(async move {
                    let accepted = acceptor.accept(stream).await;
                    counts.0.fetch_add(1, Ordering::SeqCst);
                    let Ok(mut stream) = accepted else { return };
                    let mut first = [0; 1];
                    // In TLS 1.3 a client tells its verdict with its first bytes.
                    if tokio::io::AsyncReadExt::read_exact(&mut stream, &mut first).await.is_err() {
                        return;
                    }
                    counts.1.fetch_add(1, Ordering::SeqCst);
                    let Ok(mut plain) = TcpStream::connect(behind).await else { return };
                    if tokio::io::AsyncWriteExt::write_all(&mut plain, &first).await.is_ok() {
                        let _ = copy_bidirectional(&mut stream, &mut plain).await;
                    }
                });
            }
        });
        Peer { address, attempts, passed }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    fn attempts(&self) -> usize {
        self.attempts.load(Ordering::SeqCst)
    }

    fn passed(&self) -> usize {
        self.passed.load(Ordering::SeqCst)
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

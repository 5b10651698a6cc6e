//! Every wire with TLS: our own listener, and every client against a peer that speaks TLS alone, with a certificate that
//! is good and with some that are not.

mod certificates;
mod listener;
mod outgoing;
mod postgres;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use self::certificates::Files;

fn server_config(files: &Files) -> ServerConfig {
    let chain = CertificateDer::pem_file_iter(&files.certificate).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    builder.with_no_client_auth().with_single_cert(chain, key).unwrap()
}

/// Speaks TLS and nothing else, and passes what it hears on to a user who does not.
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

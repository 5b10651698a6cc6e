//! Clusters over TLS: each is trusted by the authority of its kubeconfig and by no other, and knows us by the certificate
//! of that kubeconfig.

use std::sync::Arc;

use ::http_client::ExternalSystem;
use ::kubernetes::{ApiServer, Kubeconfig};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client_tests::TIMEOUT;
use engine::secret::SecretString;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reqwest::{Method, StatusCode};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const SYSTEM: ExternalSystem = ExternalSystem("cluster");

struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key, both in PEM.
struct Issued {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn issue(&self) -> Issued {
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        Issued { certificate: params.signed_by(&key, &self.0).unwrap(), key }
    }

    fn data(&self) -> Value {
        STANDARD.encode(self.0.pem()).into()
    }
}

/// A server with a certificate of this authority, and its address. It lets in who has a certificate of `clients`.
async fn serve(authority: &Authority, clients: Option<&Authority>) -> String {
    let Issued { certificate, key } = authority.issue();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = match clients {
        None => config.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(clients.0.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4096]).await;
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    url
}

async fn answers(cluster: Value, user: &Value) -> bool {
    let file = json!({
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "users": [{"name": "c", "user": user}],
    });
    let kubeconfig = Kubeconfig::parse(&SecretString::from(file.to_string())).unwrap();
    let server = ApiServer::new(SYSTEM, &kubeconfig, TIMEOUT).unwrap();
    let answer = server.call(Method::GET, server.url(&["version"]).unwrap(), None).await;
    answer.is_ok_and(|answer| answer.status == StatusCode::OK)
}

#[tokio::test]
async fn a_cluster_is_trusted_by_the_authority_of_its_kubeconfig_and_by_no_other() {
    let (authority, other) = (Authority::new(), Authority::new());
    let url = serve(&authority, None).await;
    let both = STANDARD.encode(format!("{}{}", other.0.pem(), authority.0.pem()));
    for (data, is_trusted) in
        [(authority.data(), true), (both.into(), true), (other.data(), false), (Value::Null, false)]
    {
        let cluster = json!({"server": url, "certificate-authority-data": data});
        assert_eq!(answers(cluster, &json!({"token": "t-1"})).await, is_trusted);
    }
}

#[tokio::test]
async fn a_cluster_knows_us_by_the_certificate_of_the_kubeconfig() {
    let (authority, clients, other) = (Authority::new(), Authority::new(), Authority::new());
    let url = serve(&authority, Some(&clients)).await;
    let user = |issued: &Issued| {
        json!({
            "client-certificate-data": STANDARD.encode(issued.certificate.pem()),
            "client-key-data": STANDARD.encode(issued.key.serialize_pem()),
        })
    };
    for (user, is_known) in
        [(user(&clients.issue()), true), (user(&other.issue()), false), (json!({"token": "t-1"}), false)]
    {
        let cluster = json!({"server": url, "certificate-authority-data": authority.data()});
        assert_eq!(answers(cluster, &user).await, is_known);
    }
}

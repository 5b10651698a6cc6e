//! The certificate authorities that outgoing clients trust besides those of the system: one list for the whole process,
//! as the system's own is.

use std::sync::OnceLock;

use reqwest::{Certificate, Client, ClientBuilder};

static AUTHORITIES: OnceLock<Vec<Certificate>> = OnceLock::new();

/// Trusts these authorities, in PEM. Only the first call counts, and only for clients that are made afterwards.
pub fn trust(pem: &[u8]) -> Result<(), String> {
    let found =
        Certificate::from_pem_bundle(pem).map_err(|error| format!("it holds no certificates: {error}"))?;
    if found.is_empty() {
        return Err("it holds no certificate".to_owned());
    }
    let _ = AUTHORITIES.set(found);
    Ok(())
}

/// How every HTTP client of this process begins.
pub fn http_client() -> ClientBuilder {
    match AUTHORITIES.get() {
        Some(found) => Client::builder().tls_certs_merge(found.iter().cloned()),
        None => Client::builder(),
    }
}

//! The settings of the listener: where it is, what clients may take, and its TLS.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::{Period, Reader};

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) listen: SocketAddr,
    pub(crate) body_limit_bytes: usize,
    pub(crate) request_timeout: Period,
    pub(crate) header_timeout: Period,
    pub(crate) body_timeout: Period,
    pub(crate) idle_timeout: Period,
    pub(crate) connections: usize,
    pub(crate) connections_per_address: usize,
    pub(crate) public_metrics: bool,
    pub(crate) tls: Option<ServerTls>,
}

/// The files of the TLS of the listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerTls {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) client_certificates: ClientCertificates,
}

/// Who needs a client certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientCertificates {
    Optional,
    Broker,
    Required,
}

impl Reader<'_> {
    pub(super) fn server(&mut self) -> Server {
        Server {
            listen: self.get("server.listen"),
            body_limit_bytes: self.get("server.body_limit_bytes"),
            request_timeout: self.get("server.request_timeout"),
            header_timeout: self.get("server.header_timeout"),
            body_timeout: self.get("server.body_timeout"),
            idle_timeout: self.get("server.idle_timeout"),
            connections: self.get("server.connections"),
            connections_per_address: self.get("server.connections_per_address"),
            public_metrics: self.get("server.public_metrics"),
            tls: self.server_tls(),
        }
    }

    fn server_tls(&mut self) -> Option<ServerTls> {
        let client_ca: Option<PathBuf> = self.get("server.tls.client_ca");
        let client_certificates = match self.get::<String>("server.tls.client_certificates").as_str() {
            "broker" => ClientCertificates::Broker,
            "required" => ClientCertificates::Required,
            _ => ClientCertificates::Optional,
        };
        if client_certificates != ClientCertificates::Optional && client_ca.is_none() {
            let message = "needs server.tls.client_ca beside it".to_owned();
            self.refuse_whole("server.tls.client_certificates", message);
        }
        match (self.get("server.tls.certificate"), self.get("server.tls.key")) {
            (Some(certificate), Some(key)) => {
                Some(ServerTls { certificate, key, client_ca, client_certificates })
            }
            (None, None) => {
                if client_ca.is_some() {
                    let message = "needs server.tls.certificate and server.tls.key beside it".to_owned();
                    self.refuse_whole("server.tls.client_ca", message);
                }
                None
            }
            (certificate, _) => {
                let [given, missing] = match certificate {
                    Some(_) => ["server.tls.certificate", "server.tls.key"],
                    None => ["server.tls.key", "server.tls.certificate"],
                };
                self.refuse_whole(given, format!("needs {missing} beside it"));
                None
            }
        }
    }
}

//! The settings of the listener: where it is, what clients may take, and its TLS.

use std::net::SocketAddr;
use std::path::PathBuf;

use ::config::Preset::{Is, Nothing};
use ::config::{DAY, HOUR, Period, SECOND, Section, SectionReader, Setting, ValueKind, set};

#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub listen: SocketAddr,
    pub body_limit_bytes: usize,
    pub request_timeout: Period,
    pub header_timeout: Period,
    pub body_timeout: Period,
    pub idle_timeout: Period,
    pub connections: usize,
    pub connections_per_address: usize,
    pub streams: usize,
    pub streams_per_principal: usize,
    pub public_metrics: bool,
    pub tls: Option<ServerTls>,
    /// Authorities that outgoing connections trust besides those of the system.
    pub ca_file: Option<PathBuf>,
}

/// The files of the TLS of the listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTls {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub client_ca: Option<PathBuf>,
    pub client_certificates: ClientCertificates,
}

/// Who needs a client certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCertificates {
    Optional,
    Broker,
    Required,
}

impl Section for ServerSettings {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("server.listen", Is("127.0.0.1:1337"), ValueKind::Address,
            "The address at which the engine serves."),
        set("server.body_limit_bytes", Is("1048576"), ValueKind::Whole(1_024, 1_073_741_824),
            "The largest request body that is read, in bytes."),
        set("server.request_timeout", Is("30s"), ValueKind::Time(SECOND, HOUR),
            "How long a request may take before it is answered with an error."),
        set("server.header_timeout", Is("10s"), ValueKind::Time(Period::millis(100), HOUR),
            "How long a client may take to send the header of a request. The connection is closed then."),
        set("server.body_timeout", Is("10s"), ValueKind::Time(Period::millis(100), HOUR),
            "How long a client may take to send the body of a request. The response is 408 then."),
        set("server.idle_timeout", Is("75s"), ValueKind::Time(Period::millis(100), DAY),
            "How long a connection stays open between two requests."),
        set("server.connections", Is("4096"), ValueKind::Whole(8, 60_000),
            "How many connections may be open at the same time. Never more than three quarters of the limit of open files \
             (`LimitNOFILE`): the rest is for the database and for calls to other systems. When all are open, a new \
             connection closes the one that has been without a request for the longest time."),
        set("server.connections_per_address", Is("1024"), ValueKind::Whole(4, 60_000),
            "How many connections one address may have; for IPv6, one network of 64 bits. Never more than three quarters of all. \
             Behind a proxy all clients have its address."),
        set("server.streams", Is("512"), ValueKind::Whole(1, 60_000),
            "How many event streams may be open at the same time, of the API and of the console together. One more is refused with \
             `too-many-streams`."),
        set("server.streams_per_principal", Is("128"), ValueKind::Whole(1, 60_000),
            "How many event streams one user or token may have, so that no client takes all of them."),
        set("server.public_metrics", Is("true"), ValueKind::Switch,
            "Whether `/metrics` answers without credentials."),
        set("server.tls.certificate", Nothing, ValueKind::Path,
            "The PEM file with the certificate of the server and those between it and its authority. With it and the key the \
             server speaks TLS 1.2 and 1.3 and nothing else. The files are read again when they change and on SIGHUP."),
        set("server.tls.key", Nothing, ValueKind::Path,
            "The PEM file with the private key of that certificate."),
        set("server.tls.client_ca", Nothing, ValueKind::Path,
            "The PEM file with the authorities of client certificates. With it clients are asked for one, and one that is \
             not good ends the connection."),
        set("server.tls.client_certificates", Is("optional"), ValueKind::OneOf(&["optional", "broker", "required"]),
            "Which clients need such a certificate: `optional` none, `broker` platforms that use the service broker, `required` all \
             clients, also browsers. It is asked for besides a token or a password, and does not replace it."),
        set("tls.ca_file", Nothing, ValueKind::Path,
            "The PEM file with authorities that all outgoing connections trust besides those of the system: HTTP clients, the \
             command line, PostgreSQL and Kafka."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> ServerSettings {
        ServerSettings {
            listen: settings.get("server.listen"),
            body_limit_bytes: settings.get("server.body_limit_bytes"),
            request_timeout: settings.get("server.request_timeout"),
            header_timeout: settings.get("server.header_timeout"),
            body_timeout: settings.get("server.body_timeout"),
            idle_timeout: settings.get("server.idle_timeout"),
            connections: settings.get("server.connections"),
            connections_per_address: settings.get("server.connections_per_address"),
            streams: settings.get("server.streams"),
            streams_per_principal: settings.get("server.streams_per_principal"),
            public_metrics: settings.get("server.public_metrics"),
            tls: tls(settings),
            ca_file: settings.get("tls.ca_file"),
        }
    }
}

fn tls(settings: &mut SectionReader<'_>) -> Option<ServerTls> {
    let client_ca: Option<PathBuf> = settings.get("server.tls.client_ca");
    let words = [
        ("optional", ClientCertificates::Optional),
        ("broker", ClientCertificates::Broker),
        ("required", ClientCertificates::Required),
    ];
    let client_certificates = settings.one_of("server.tls.client_certificates", &words);
    if client_certificates != ClientCertificates::Optional && client_ca.is_none() {
        let message = "needs server.tls.client_ca beside it".to_owned();
        settings.refuse("server.tls.client_certificates", message);
    }
    match (settings.get("server.tls.certificate"), settings.get("server.tls.key")) {
        (Some(certificate), Some(key)) => {
            Some(ServerTls { certificate, key, client_ca, client_certificates })
        }
        (None, None) => {
            if client_ca.is_some() {
                let message = "needs server.tls.certificate and server.tls.key beside it".to_owned();
                settings.refuse("server.tls.client_ca", message);
            }
            None
        }
        (certificate, _) => {
            let [given, missing] = match certificate {
                Some(_) => ["server.tls.certificate", "server.tls.key"],
                None => ["server.tls.key", "server.tls.certificate"],
            };
            settings.refuse(given, format!("needs {missing} beside it"));
            None
        }
    }
}

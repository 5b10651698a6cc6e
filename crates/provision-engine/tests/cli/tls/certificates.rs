//! Certificates, of which one is good and the others are not, with their authorities. The tests of Kafka's client use this
//! file, too.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Good,
    Expired,
    WrongName,
    UnknownAuthority,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Good, Kind::Expired, Kind::WrongName, Kind::UnknownAuthority];

/// An authority with the files of its certificates.
pub(crate) struct Authority {
    dir: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, as files.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        Authority { dir, issuer }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    pub(crate) fn issue(&self, file: &str, name: &str, kind: Kind) -> Files {
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
pub(crate) struct Authorities {
    pub(crate) trusted: Authority,
    pub(crate) unknown: Authority,
}

impl Authorities {
    pub(crate) fn new() -> Authorities {
        Authorities { trusted: Authority::new("trusted"), unknown: Authority::new("unknown") }
    }

    pub(crate) fn issue(&self, kind: Kind) -> Files {
        let authority = if kind == Kind::UnknownAuthority { &self.unknown } else { &self.trusted };
        authority.issue(&format!("{kind:?}"), "peer", kind)
    }
}

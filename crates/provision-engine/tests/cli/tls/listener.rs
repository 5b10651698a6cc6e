//! Our own listener: who is let in, and a certificate that is replaced while it serves.

use std::fs;

use reqwest::{Certificate, Client, Identity};
use rustix::process::Signal;
use tokio::runtime::Runtime;

use super::certificates::{Authorities, Authority, Files, Kind};
use super::text;
use crate::stage::{DataDirectory, ServerProcess, until};

fn place(files: &Files) -> DataDirectory {
    DataDirectory::new()
        .env("PROVISION_ENGINE_SERVER__TLS__CERTIFICATE", text(&files.certificate))
        .env("PROVISION_ENGINE_SERVER__TLS__KEY", text(&files.key))
}

fn https(server: &ServerProcess, path: &str) -> String {
    format!("{}{path}", server.url.replace("http://127.0.0.1", "https://localhost"))
}

/// A client that trusts this authority alone, with a certificate of its own or without.
fn client(authority: &Authority, own: Option<&Files>) -> Client {
    let mut builder = Client::builder().no_proxy().pool_max_idle_per_host(0);
    builder =
        builder.tls_certs_only(Certificate::from_pem_bundle(&fs::read(authority.file()).unwrap()).unwrap());
    if let Some(Files { certificate, key }) = own {
        let pem = [fs::read(certificate).unwrap(), fs::read(key).unwrap()].concat();
        builder = builder.identity(Identity::from_pem(&pem).unwrap());
    }
    builder.build().unwrap()
}

/// The status, or nothing if there was no connection.
fn status(runtime: &Runtime, client: &Client, url: &str) -> Option<u16> {
    runtime.block_on(client.get(url).send()).ok().map(|answer| answer.status().as_u16())
}

#[test]
fn the_server_speaks_tls_and_takes_a_new_certificate_while_it_serves() {
    let runtime = Runtime::new().unwrap();
    let (first, second) = (Authority::new("first"), Authority::new("second"));
    let files = first.issue("server", "server", Kind::Good);
    let place = place(&files);
    let server = place.serve(&["--sandbox"]);
    let url = https(&server, "/healthz");
    let [trusts_first, trusts_second] = [&first, &second].map(|authority| client(authority, None));
    assert_eq!(status(&runtime, &trusts_first, &url), Some(200));
    assert_eq!(status(&runtime, &trusts_second, &url), None, "an authority that the client does not know");
    assert_eq!(status(&runtime, &trusts_first, &url.replace("https", "http")), None, "in clear");
    let said = server.going.err();
    assert!(said.contains(&format!("serves at {}", server.url.replace("http", "https"))), "{said}");
    // Commands on the same machine find their way by the data directory.
    place.expect(0, &["operations", "submit", "demo.hello", "--wait"]);
    let shown = place.json(&["status"]);
    assert!(shown["url"].as_str().unwrap().starts_with("https://127.0.0.1:"), "{shown}");

    // On change: both files are replaced, as a tool that renews certificates does it.
    let next = second.issue("next", "server", Kind::Good);
    for (from, to) in [(&next.certificate, &files.certificate), (&next.key, &files.key)] {
        fs::copy(from, to).unwrap();
    }
    until("the new certificate", || status(&runtime, &trusts_second, &url));
    assert_eq!(status(&runtime, &trusts_first, &url), None);

    // A file that cannot be used changes nothing.
    fs::write(&files.certificate, "no certificate").unwrap();
    server.going.signal(Signal::HUP);
    until("the news", || server.going.err().contains("keeping the one in use").then_some(()));
    assert_eq!(status(&runtime, &trusts_second, &url), Some(200));

    let again = first.issue("again", "server", Kind::Good);
    fs::copy(&again.key, &files.key).unwrap();
    fs::copy(&again.certificate, &files.certificate).unwrap();
    server.going.signal(Signal::HUP);
    until("the certificate after SIGHUP", || status(&runtime, &trusts_first, &url));
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn client_certificates_are_checked_where_they_are_wanted() {
    let runtime = Runtime::new().unwrap();
    let authorities = Authorities::new();
    let files = authorities.trusted.issue("server", "server", Kind::Good);
    let [good, expired, unknown] =
        [Kind::Good, Kind::Expired, Kind::UnknownAuthority].map(|kind| authorities.issue(kind));
    for (wanted, health, broker) in
        [("optional", Some(200), Some(401)), ("broker", Some(200), Some(403)), ("required", None, None)]
    {
        let place = place(&files)
            .env("PROVISION_ENGINE_SERVER__TLS__CLIENT_CA", text(&authorities.trusted.file()))
            .env("PROVISION_ENGINE_SERVER__TLS__CLIENT_CERTIFICATES", wanted);
        let server = place.serve(&["--sandbox"]);
        let ask = |own: Option<&Files>, path: &str| {
            status(&runtime, &client(&authorities.trusted, own), &https(&server, path))
        };
        assert_eq!((ask(None, "/healthz"), ask(None, "/v2/catalog")), (health, broker), "{wanted}, without");
        assert_eq!(ask(None, "/oauth/v2/catalog"), broker, "{wanted}, without");
        let with = (ask(Some(&good), "/healthz"), ask(Some(&good), "/v2/catalog"));
        assert_eq!(with, (Some(200), Some(401)), "{wanted}: a certificate does not replace a password");
        for bad in [&expired, &unknown] {
            assert_eq!(ask(Some(bad), "/healthz"), None, "{wanted}: {bad:?}");
        }
        place.expect(0, &["operations", "list"]);
    }
}

#[test]
fn a_certificate_that_cannot_be_used_stops_the_start() {
    let authorities = Authorities::new();
    let [good, other] = [Kind::Good, Kind::WrongName].map(|kind| authorities.issue(kind));
    let swapped = Files { certificate: good.certificate.clone(), key: other.key };
    let missing = Files { certificate: "/nowhere".into(), key: good.key.clone() };
    for (files, why) in [(swapped, "do not fit"), (missing, "/nowhere")] {
        let refused = place(&files).expect(1, &["serve", "--listen", "127.0.0.1:0", "--sandbox"]);
        assert!(refused.err.contains("server.tls") && refused.err.contains(why), "{refused:?}");
    }
    let half = DataDirectory::new().env("PROVISION_ENGINE_SERVER__TLS__KEY", text(&good.key));
    assert!(half.expect(1, &["config", "check"]).err.contains("needs server.tls.certificate beside it"));
}

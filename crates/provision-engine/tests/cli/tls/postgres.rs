//! `sslmode` and `sslrootcert` against a server that takes nothing but TLS, and against one that has none.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use store::PostgresStore;
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};
use tokio::runtime::Runtime;

use super::certificates::{Authorities, Files, KINDS, Kind};
use super::text;
use crate::stage::{DataDirectory, until};

/// The owner of a key must be the user that the server runs as.
fn hand_over(server: &PrivatePostgres, files: &Files, dir: &Path, kind: &str) -> Vec<(String, String)> {
    let owner = fs::metadata(format!("/proc/{}", server.pid().unwrap())).unwrap();
    let put = |from: &Path, name: &str| {
        let to = dir.join(name);
        fs::copy(from, &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
        chown(&to, Some(owner.uid()), Some(owner.gid())).unwrap();
        text(&to)
    };
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    let rule = dir.join("draft_hba.conf");
    fs::write(&rule, format!("{kind} all all 127.0.0.1/32 trust\n")).unwrap();
    vec![
        ("ssl".to_owned(), "on".to_owned()),
        ("ssl_cert_file".to_owned(), put(&files.certificate, "server.crt")),
        ("ssl_key_file".to_owned(), put(&files.key, "server.key")),
        ("hba_file".to_owned(), put(&rule, "hba.conf")),
    ]
}

/// A server that offers TLS and takes only plain connections: libpq connects without TLS where it may.
#[test]
fn a_database_that_refuses_tls_is_connected_to_in_clear_where_the_address_allows_it() {
    let authorities = Authorities::new();
    let root = format!("sslrootcert={}", text(&authorities.trusted.file()).replace('/', "%2F"));
    let runtime = Runtime::new().unwrap();
    let plain = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let settings = hand_over(&plain, &authorities.issue(Kind::Good), dir.path(), "hostnossl");
    let server =
        PrivatePostgres::start(&PrivatePostgresOptions { settings, ..PrivatePostgresOptions::default() });
    let server = server.unwrap();
    for (mode, works) in [
        ("disable", true),
        ("allow", true),
        ("prefer", true),
        ("require", false),
        ("verify-ca", false),
        ("verify-full", false),
    ] {
        let connected = connects(&runtime, &server, &format!("sslmode={mode}&{root}"));
        assert_eq!(connected.is_ok(), works, "{mode}: {connected:?}");
    }
}

fn connects(runtime: &Runtime, server: &PrivatePostgres, words: &str) -> Result<(), String> {
    let url = format!("{}?{words}", server.url("postgres"));
    runtime.block_on(PostgresStore::migrate(&url)).map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_database_is_verified_as_far_as_its_address_says() {
    let authorities = Authorities::new();
    let root = format!("sslrootcert={}", text(&authorities.trusted.file()).replace('/', "%2F"));
    let runtime = Runtime::new().unwrap();
    let plain = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    for (mode, works) in
        [("disable", true), ("allow", true), ("prefer", true), ("require", false), ("verify-full", false)]
    {
        let connected = connects(&runtime, &plain, &format!("sslmode={mode}&{root}"));
        assert_eq!(connected.is_ok(), works, "{mode} without TLS: {connected:?}");
    }
    assert!(connects(&runtime, &plain, "sslmode=please").unwrap_err().contains("sslmode must be"));
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let settings = hand_over(&plain, &authorities.issue(kind), dir.path(), "hostssl");
        let options = PrivatePostgresOptions { settings, ..PrivatePostgresOptions::default() };
        let server = PrivatePostgres::start(&options).unwrap();
        let has_good_authority = !matches!(kind, Kind::Expired | Kind::UnknownAuthority);
        for (words, works) in [
            ("sslmode=disable".to_owned(), false),
            ("sslmode=allow".to_owned(), true),
            ("sslmode=prefer".to_owned(), true),
            ("connect_timeout=5".to_owned(), true),
            ("sslmode=require".to_owned(), true),
            (format!("sslmode=require&{root}"), has_good_authority),
            (format!("sslmode=verify-ca&{root}"), has_good_authority),
            (format!("sslmode=verify-full&{root}"), kind == Kind::Good),
            ("sslmode=verify-full&sslrootcert=system".to_owned(), false),
        ] {
            let connected = connects(&runtime, &server, &words);
            assert_eq!(connected.is_ok(), works, "{kind:?}, {words}: {connected:?}");
        }
    }
}

/// `tls.ca_file` is for the database, too, where its address names no authority.
#[test]
fn the_authority_of_the_settings_verifies_the_database() {
    let authorities = Authorities::new();
    let plain = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let settings = hand_over(&plain, &authorities.issue(Kind::Good), dir.path(), "hostssl");
    let options = PrivatePostgresOptions { settings, ..PrivatePostgresOptions::default() };
    let server = PrivatePostgres::start(&options).unwrap();
    let url = format!("{}?sslmode=verify-full", server.url("postgres"));
    let place = || DataDirectory::new().env("PROVISION_ENGINE_STORE__DATABASE_URL", &url);
    for authority in [None, Some(&authorities.unknown)] {
        let place = authority.into_iter().fold(place(), |place, authority| {
            place.env("PROVISION_ENGINE_TLS__CA_FILE", text(&authority.file()))
        });
        // The program goes on trying for a while, as the database may be about to start.
        let going = place.begin(&["migrate"]);
        until("an error of TLS", || going.err().contains("UnknownIssuer").then_some(()));
    }
    let place = place().env("PROVISION_ENGINE_TLS__CA_FILE", text(&authorities.trusted.file()));
    place.expect(0, &["migrate"]);
}

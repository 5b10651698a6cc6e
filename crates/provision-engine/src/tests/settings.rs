//! What a good configuration looks like, and what every test of it needs.

mod error_responses;
mod layers;

use std::path::{Path, PathBuf};

use ::config::file::Files;
use ::config::{Setting, Surroundings, ValueKind};
use app::config::{Config, ConfigError, Database, LogFormat, LogOutput, Period, Warning};
use secrecy::ExposeSecret;

type Loaded = Result<(Config, Vec<Warning>), ConfigError>;

/// Loads a file called `provision-engine.yaml` with this text for an ordinary user.
fn load(yaml: &str, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Loaded {
    load_bytes(yaml.as_bytes(), env, flags)
}

fn load_bytes(yaml: &[u8], env: &[(&str, &str)], flags: &[(&str, &str)]) -> Loaded {
    let home = [("HOME", "/home/ann")];
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let around = Surroundings { environment: home.iter().chain(env).map(owned).collect(), is_root: false };
    let flags: Vec<_> = flags.iter().map(owned).collect();
    let own = Some((PathBuf::from("provision-engine.yaml"), yaml.to_vec()));
    Config::parse(&crate::app(), &Files { own, ..Files::default() }, &around, &flags)
}

#[track_caller]
fn good(yaml: &str) -> Config {
    let (config, warnings) = load(yaml, &[], &[]).unwrap();
    assert_eq!(warnings, []);
    config
}

#[track_caller]
fn refused(yaml: &str, message: &str) {
    assert_eq!(load(yaml, &[], &[]).unwrap_err().to_string(), message);
}

#[test]
fn nothing_at_all_is_a_good_configuration() {
    for yaml in ["", "\n", "# only a comment\n", "---\n", "~", "{}", "server:\n", "log: {to: }", "\u{feff}"] {
        let config = good(yaml);
        assert_eq!(config.server.listen.to_string(), "127.0.0.1:1337");
        assert_eq!(config.server.body_limit_bytes, 1024 * 1024);
        assert_eq!(config.server.request_timeout, Period::seconds(30));
        assert!(config.server.public_metrics);
        assert_eq!(config.data_dir, Path::new("/home/ann/.local/state/provision-engine"));
        assert!(matches!(&config.store.database, Database::Sqlite(path) if path.ends_with("engine.db")));
        assert_eq!((config.store.connections, config.engine.max_running), (4, 1000));
        assert_eq!((config.store.lease, config.store.poll), (Period::seconds(5), Period::seconds(2)));
        assert_eq!(config.engine.step_limit, Period::minutes(1));
        assert_eq!(config.engine.operation_deadline, Period::days(30));
        assert_eq!(config.engine.retry.budget, Period::minutes(10));
        assert_eq!(config.engine.limits.default, 64);
        assert_eq!(config.engine.retention, Period::days(90));
        assert!(!config.sandbox.enabled && config.sandbox.url.is_none());
        assert_eq!(config.section::<::demo::Settings>().timeout, Period::seconds(10));
        assert_eq!(config.log.level.as_str(), "info");
        assert_eq!((config.log.format, config.log.to), (LogFormat::Text, vec![LogOutput::Stderr]));
        assert_eq!(config.log.file, config.data_dir.join("provision-engine.log"));
        assert_eq!(config.secrets.key_ring, config.data_dir.join("keys.json"));
    }
}

#[test]
fn every_setting_can_be_written_in_the_file() {
    let config = good(
        "data_dir: /srv/engine\n\
         server: {listen: '[::1]:80', body_limit_bytes: 2048, request_timeout: 5m, public_metrics: false}\n\
         store: {database_url: postgres://u:p@h/d, connections: 8, lease: 1s, poll: 250ms}\n\
         engine:\n  max_running: 7\n  step_limit: 2s\n  operation_deadline: 90d\n  stop_grace: 0s\n\
         \x20 retry: {first: 10ms, max: 10ms, budget: 1s}\n  limits: {default: 3, greeter: 5}\n\
         \x20 retention: 36500d\n\
         sandbox: {enabled: false}\n\
         drivers: {greeter: {url: https://greeter.example, timeout: 1s}}\n\
         log: {level: 'engine=debug, info', format: json, to: [stdout, file, syslog], file: ~/x.log}\n\
         secrets: {key_ring: /etc/keys.json}\n",
    );
    assert_eq!(config.server.listen.to_string(), "[::1]:80");
    assert_eq!(config.engine.operation_deadline, Period::days(90));
    assert_eq!(config.engine.retention, Period::days(36_500));
    assert_eq!(config.engine.limits.by_name["greeter"], 5);
    assert_eq!(config.engine.limits.default, 3);
    assert_eq!(config.log.to, [LogOutput::Stdout, LogOutput::File, LogOutput::Syslog]);
    assert_eq!(config.log.file, Path::new("/home/ann/x.log"));
    let Database::Postgres(url) = config.store.database else { panic!("expected PostgreSQL") };
    assert_eq!(url.expose_secret(), "postgres://u:p@h/d");
}

#[test]
fn every_name_that_the_table_offers_is_understood() {
    for setting in &crate::app().table() {
        if let ValueKind::OneOf(names) | ValueKind::SomeOf(names) = setting.kind {
            for name in names {
                // Some need others beside them, which is another matter.
                let loaded = load(&format!("{}: \"{name}\"", setting.path), &[], &[]);
                let refused =
                    loaded.err().map(|error| error.to_string()).filter(|text| text.contains("expected"));
                assert_eq!(refused, None);
            }
        }
    }
    assert_eq!(good("log.to: syslog").log.to, [LogOutput::Syslog]);
}

#[test]
fn every_path_is_written_once_and_explained() {
    let table = crate::app().table();
    let settings: Vec<&Setting> = table.iter().collect();
    for (index, setting) in settings.iter().enumerate() {
        assert!(settings[index + 1..].iter().all(|other| other.path != setting.path), "{}", setting.path);
        assert!(setting.doc.ends_with('.'), "{}", setting.path);
        assert!(
            setting.path.chars().all(|c| c.is_ascii_lowercase() || "._*".contains(c)),
            "{}",
            setting.path
        );
    }
}

#[test]
fn the_committed_manual_is_the_one_the_table_gives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    let expected = ::config::manual::render(&crate::app().table());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == expected,
        "docs/settings.md is out of date: \
         run `UPDATE=1 cargo test -p provision-engine manual` to rewrite it"
    );
}

#[test]
fn keys_may_have_a_leading_colon() {
    let config = good(":server:\n  :listen: 0.0.0.0:80\n  public_metrics: false\n");
    assert_eq!(config.server.listen.to_string(), "0.0.0.0:80");
    assert!(!config.server.public_metrics);
}

#[test]
fn what_is_in_force_is_shown_as_a_tree() {
    let config =
        good("log: {to: [stdout]}\nengine: {limits: {greeter: 5}}\nstore: {database_url: 'sqlite:/x.db'}\n");
    let shown = config.to_value_masked();
    assert_eq!(shown["log"]["to"], serde_json::json!(["stdout"]));
    assert_eq!(shown["engine"]["limits"], serde_json::json!({"default": 64, "greeter": 5}));
    assert_eq!(shown["store"]["database_url"], "sqlite:/x.db");
    assert_eq!(shown["sandbox"], serde_json::json!({"enabled": false, "url": null}));
    assert!(matches!(config.store.database, Database::Sqlite(path) if path == Path::new("/x.db")));
}

#[test]
fn a_named_file_is_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let present = dir.path().join("present.yaml");
    std::fs::write(&present, "server: {listen: '1.1.1.1:1'}").unwrap();
    let (config, _) = crate::app().load(Some(&present), std::iter::empty(), &[]).unwrap();
    assert_eq!(config.server.listen.to_string(), "1.1.1.1:1");
    assert_eq!(config.file, Some(present));
}

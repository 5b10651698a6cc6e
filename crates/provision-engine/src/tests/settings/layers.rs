//! The environment and the flags lie over the file, and no layer gives a password away.

use std::collections::BTreeMap;

use secrecy::ExposeSecret;

use super::*;

#[test]
fn the_environment_wins_over_the_file_and_flags_win_over_both() {
    let yaml = "server: {listen: '1.1.1.1:1', public_metrics: false, body_limit_bytes: 2048}\n\
                engine: {limits: {a: 1, b: 2}}\nlog: {to: [stdout, file]}\n";
    let env = [
        ("PROVISION_ENGINE_SERVER__LISTEN", "2.2.2.2:2"),
        ("PROVISION_ENGINE_SERVER__BODY_LIMIT_BYTES", "4096"),
        ("PROVISION_ENGINE_ENGINE__LIMITS__B", "20"),
        ("PROVISION_ENGINE_ENGINE__RETRY", "{first: 2s}"),
        ("PROVISION_ENGINE_LOG__TO", "syslog, stderr"),
        ("PROVISION_ENGINE_STORE__CONNECTIONS", ""),
        ("PROVISION_ENGINE_CONFIG", "/elsewhere"),
        ("PROVISION_ENGINE_PORT_1337_TCP_PORT", "1337"),
        ("PROVISION_ENGINE_SERVICE_HOST", "10.0.0.1"),
        ("OTHER", "1"),
    ];
    let flags = [("server.listen", "3.3.3.3:3"), ("engine.limits.c", "30"), ("engine.limits.c", "31")];
    let (config, warnings) = load(yaml, &env, &flags).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(config.server.listen.to_string(), "3.3.3.3:3");
    assert_eq!(config.server.body_limit_bytes, 4096);
    assert!(!config.server.public_metrics);
    assert_eq!(config.store.connections, 4);
    assert_eq!(config.engine.retry.first, Period::seconds(2));
    let limits = [("a", 1), ("b", 20), ("c", 31)].map(|(name, limit)| (name.to_owned(), limit));
    assert_eq!(config.engine.limits.by_name, BTreeMap::from(limits));
    assert_eq!(config.log.to, [LogOutput::Syslog, LogOutput::Stderr]);

    assert_eq!(config.to_value_masked()["log"]["to"], serde_json::json!(["syslog", "stderr"]));

    let origin = |path| config.origins().of(path).unwrap().to_string();
    assert_eq!(origin("server.listen"), "command line");
    assert_eq!(origin("log.to"), "environment variable PROVISION_ENGINE_LOG__TO");
    assert_eq!(origin("server.public_metrics"), "provision-engine.yaml:1:47");
    assert_eq!(origin("store.lease"), "default");
    assert_eq!(config.origins().iter().count(), crate::app().table().iter().count() - 1 + 3);
}

#[test]
fn a_list_replaces_the_one_below_it_even_with_nothing() {
    let (by_variable, by_flag) = (("PROVISION_ENGINE_LOG__TO", "[]"), ("log.to", "[ ]"));
    for (yaml, env, flags) in [
        ("log: {to: []}", vec![], vec![]),
        ("log: {to: [stdout, file]}", vec![by_variable], vec![]),
        ("log: {to: [stdout, file]}", vec![("PROVISION_ENGINE_LOG__TO", "stdout,file")], vec![by_flag]),
    ] {
        let (config, warnings) = load(yaml, &env, &flags).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(config.log.to, []);
        assert_eq!(config.to_value_masked()["log"]["to"], serde_json::json!([]));
    }
}

#[test]
fn bad_variables_and_flags_are_named() {
    let error = load("", &[("PROVISION_ENGINE_STORE__LEASE", "soon")], &[("log.format", "xml")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "environment variable PROVISION_ENGINE_STORE__LEASE: store.lease: \
         expected a time from 1s to 10m, got \"soon\"\n\
         command line: log.format: expected one of text, json, got \"xml\"",
    );
    let (_, warnings) =
        load("", &[("PROVISION_ENGINE_SERVR__LISTEN", "x")], &[("log.levle", "info")]).unwrap();
    assert_eq!(
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "environment variable PROVISION_ENGINE_SERVR__LISTEN: unknown setting `servr.listen` is ignored: \
             did you mean `server.listen`?",
            "command line: unknown setting `log.levle` is ignored: did you mean `level`?",
        ],
    );
}

#[test]
fn the_data_directory_follows_the_user() {
    let dir = |environment: &[(&str, &str)], is_root| {
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (config, _) =
            Config::parse(&crate::app(), &Files::default(), &Surroundings { environment, is_root }, &[])
                .unwrap();
        config.data_dir.display().to_string()
    };
    assert_eq!(dir(&[("HOME", "/h")], false), "/h/.local/state/provision-engine");
    assert_eq!(dir(&[("HOME", "/root")], true), "/var/lib/provision-engine");
    assert_eq!(dir(&[], false), "/var/lib/provision-engine");
    assert_eq!(dir(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")], true), "/s/provision-engine");
    assert_eq!(dir(&[("HOME", "/h"), ("XDG_STATE_HOME", "s")], false), "/h/.local/state/provision-engine");
    assert_eq!(dir(&[("HOME", "/h"), ("PROVISION_ENGINE_DATA_DIR", "~/d")], true), "/h/d");
    assert_eq!(
        dir(&[("HOME", "/h"), ("PROVISION_ENGINE_PREFIX", "/p/")], false),
        "/p/var/lib/provision-engine"
    );
}

#[test]
fn a_password_is_shown_nowhere() {
    for url in [
        "postgres://ann:s3cret@db.example:5432/engine",
        "postgresql://ann:s3c/r#et@s3cret@db/engine",
        "postgres://db/engine?user=ann&password=s3cret",
        "postgres://db/engine?password=x@s3cret",
        "postgres://ann:s3cret@one,two/engine",
    ] {
        for (yaml, env) in [(format!("store: {{database_url: '{url}'}}"), ""), (String::new(), url)] {
            let (config, warnings) =
                load(&yaml, &[("PROVISION_ENGINE_STORE__DATABASE_URL", env)], &[]).unwrap();
            let Database::Postgres(secret) = &config.store.database else { panic!("expected PostgreSQL") };
            assert_eq!(secret.expose_secret(), url);
            let seen = format!("{config:?} {warnings:?} {}", config.to_value_masked());
            assert!(!seen.contains("s3c"), "{seen}");
        }
    }
    for url in ["mysql://ann:s3cret@db/x", "ann:s3cret@db", "postgres://", "s3cret"] {
        refused(
            &format!("store: {{database_url: '{url}'}}"),
            "provision-engine.yaml:1:23: store.database_url: \
             expected postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH",
        );
        refused(
            &format!("store: '{url}'"),
            "provision-engine.yaml:1:8: store: expected a map of settings, got text",
        );
    }
    let config = good("store: {database_url: 'postgres://ann:s3cret@db:5432/engine'}");
    assert_eq!(config.to_value_masked()["store"]["database_url"], "postgres://ann:***@db:5432/engine");
}

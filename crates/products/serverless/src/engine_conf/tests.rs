//! Files of every age are understood, and what is wrong with one is told with its place.

mod mutations;

use std::path::PathBuf;
use std::time::Duration;

use crate::model::ResizeMode;
use serde_json::{Value, json};

use super::as_engine_conf;
use super::keys::{self, KEYS};
use crate::settings::Settings;
use ::config::Surroundings;
use ::config::file::Files;
use app::config::{Config, ConfigError, HttpUrl, LogSeverity, LogSystem, Warning};

/// The file that is installed.
const SHIPPED: &str = include_str!("../../../../../packaging/engine.conf");

type Loaded = Result<(Config, Vec<Warning>), ConfigError>;

fn load(conf: &[u8]) -> Loaded {
    under("", conf, &[])
}

/// With a file of our own and an environment over it.
fn under(yaml: &str, conf: &[u8], environment: &[(&str, &str)]) -> Loaded {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let around = Surroundings { environment: environment.iter().map(owned).collect(), is_root: true };
    let own = (!yaml.is_empty()).then(|| (PathBuf::from("config.yaml"), yaml.as_bytes().to_vec()));
    let base = Some((PathBuf::from("engine.conf"), conf.to_vec()));
    Config::parse(
        &app::App::new("provision-engine").product::<crate::Serverless>(),
        &Files { own, base },
        &around,
        &[],
    )
}

#[track_caller]
fn good(conf: &str) -> Config {
    let (config, warnings) = load(conf.as_bytes()).unwrap();
    assert_eq!(warnings, []);
    config
}

#[track_caller]
fn refused(conf: &str, message: &str) {
    assert_eq!(load(conf.as_bytes()).unwrap_err().to_string(), message);
}

fn shown(config: &Config) -> Value {
    let url = |url: &Option<HttpUrl>| url.as_ref().unwrap().as_str().to_owned();
    let settings = config.section::<Settings>();
    as_engine_conf(config, &url(&settings.oned), &url(&settings.oneflow))
}

/// The file itself as JSON, read by another reader, with plain keys.
fn as_json(conf: &str) -> Value {
    fn plain(value: Value) -> Value {
        match value {
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| (key.trim_start_matches(':').to_owned(), plain(value)))
                .collect(),
            other => other,
        }
    }
    plain(serde_saphyr::from_str(conf).unwrap())
}

#[test]
fn the_installed_file_is_good_and_says_what_is_in_force() {
    assert_eq!(shown(&good(SHIPPED)), as_json(SHIPPED));
    assert_eq!(shown(&good(SHIPPED))["capacity"]["memory"]["resize_mode"], "BALLOONING");
}

#[test]
fn a_complete_file_of_other_values_is_shown_as_it_is() {
    let conf = "\
---
:one_xmlrpc: \"https://one.example:2633/RPC2\"
:oneflow_server: 'http://10.0.0.2:2474'
:host: localhost
:port: 8080
:timeout: 45
:capacity:
  :disk:
    :default: 2048
  :cpu:
    :default: 1
    :mult: 4
  :memory:
    :default: 512
    :mult: 3
    :resize_mode: HOTPLUG
:mapping:
  :nature: 0
  :nature-s3: 3
  :Function.1: 12
:log:
  :level: 0
  :system: syslog
";
    let config = good(conf);
    assert_eq!(shown(&config), as_json(conf));
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.section::<Settings>().made.timeout, Duration::from_secs(45));
    assert_eq!(config.section::<Settings>().made.resize_mode, ResizeMode::Hotplug);
    assert_eq!(config.log.components.severity, LogSeverity::Debug);
    assert_eq!(config.log.components.system, LogSystem::Syslog);
    let mapping = config.section::<Settings>().made.mapping.clone().unwrap();
    assert_eq!((mapping["nature"], mapping["nature-s3"], mapping["Function.1"]), (0, 3, 12));
}

#[test]
fn plain_keys_quoted_numbers_and_symbols_mean_the_same() {
    let ruby = ":port: 8080\n:timeout: 31\n:log:\n  :level: 2\n  :system: file\n:mapping:\n  :a-b: 1\n";
    let plain =
        "port: '8080'\ntimeout: \"31\"\nlog: {level: '2', \"system\": :file}\nmapping: {a-b: '1'} # one\n";
    assert_eq!(shown(&good(ruby)), shown(&good(plain)));
    let modes = [("ballooning", "BALLOONING"), (":HOTPLUG", "HOTPLUG"), ("'Hotplug'", "HOTPLUG")];
    for (written, expected) in modes {
        let config = good(&format!(":capacity:\n  :memory:\n    :resize_mode: {written}\n"));
        assert_eq!(config.section::<Settings>().made.resize_mode.as_str(), expected);
    }
}

#[test]
fn the_older_shape_of_the_capacity_is_understood() {
    let conf = ":capacity:\n  :max:\n    :vcpu_mult: 3\n    :memory_mult: 4\n  :default:\n    :vcpu: 5\n    \
                :memory: 600\n";
    let expected = json!({
        "cpu": {"default": 5, "mult": 3},
        "memory": {"default": 600, "mult": 4, "resize_mode": "BALLOONING"},
        "disk": {"default": 1024},
    });
    assert_eq!(shown(&good(conf))["capacity"], expected);

    let (newer, older) = ("  :cpu:\n    :default: 7\n", "  :default:\n    :vcpu: 5\n");
    for (conf, line) in
        [(format!(":capacity:\n{newer}{older}"), 5), (format!(":capacity:\n{older}{newer}"), 5)]
    {
        let (config, warnings) = load(conf.as_bytes()).unwrap();
        assert_eq!(config.section::<Settings>().made.cpu_default, 7);
        assert_eq!(
            warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [format!(
                "engine.conf:{line}:5: serverless.capacity.cpu.default has an older and a newer key; \
                 the newer one counts"
            )],
        );
    }
}

#[test]
fn a_part_of_a_file_changes_that_part_and_nothing_else() {
    let mut expected = as_json(SHIPPED);
    expected["log"]["level"] = json!(2);
    for nothing in ["", "---\n", "# all commented out\n", ":capacity:\n", "{}", ":log:\n  :level:\n"] {
        assert_eq!(shown(&good(nothing)), expected, "{nothing}");
    }
    expected["capacity"]["cpu"]["default"] = json!(3);
    assert_eq!(shown(&good(":capacity:\n  :cpu:\n    :default: 3\n")), expected);
    assert_eq!(good(":port: 99\n").server.listen.to_string(), "127.0.0.1:99");
    assert_eq!(good(":host: 0.0.0.0\n").server.listen.to_string(), "0.0.0.0:1337");
    assert_eq!(good(":host: '::1'\n").server.listen.to_string(), "[::1]:1337");
    assert_eq!(shown(&good(":host: '::1'\n"))["host"], "::1");
}

#[test]
fn our_own_file_and_the_environment_win_over_it() {
    let conf = b":port: 99\n:timeout: 31\n:mapping:\n  :a: 1\n:log:\n  :level: 3\n";
    let yaml = "server: {listen: '1.1.1.1:1'}\nserverless: {mapping: {b: 2}}\nlog: {directory: /l}\n";
    let environment = [
        ("PROVISION_ENGINE_SERVERLESS__TIMEOUT", "32s"),
        ("PROVISION_ENGINE_PREFIX", "/p"),
        ("PROVISION_ENGINE_ENGINE_CONF", "engine.conf"),
    ];
    let (config, warnings) = under(yaml, conf, &environment).unwrap();
    assert_eq!(warnings, []);
    let shown = shown(&config);
    assert_eq!((&shown["host"], &shown["port"]), (&json!("1.1.1.1"), &json!(1)));
    assert_eq!((&shown["timeout"], &shown["mapping"]), (&json!(32), &json!({"b": 2})));
    assert_eq!(config.log.components.directory, Some("/l".into()));

    let origin = |config: &Config, path| config.origins().of(path).unwrap().to_string();
    assert_eq!(origin(&config, "log.severity"), "engine.conf:6:11");
    assert_eq!(origin(&config, "serverless.oned"), "default with engine.conf");
    let (config, _) = under("", conf, &environment).unwrap();
    assert_eq!(config.log.components.directory, Some("/p/var/log/provision-engine".into()));
    assert_eq!(config.base_file.unwrap(), PathBuf::from("engine.conf"));
}

#[test]
fn without_the_file_nothing_of_it_is_assumed() {
    let (config, _) = Config::parse(
        &app::App::new("provision-engine").product::<crate::Serverless>(),
        &Files::default(),
        &Surroundings::default(),
        &[],
    )
    .unwrap();
    assert!(config.base_file.is_none() && config.section::<Settings>().oned.is_none());
    assert!(config.section::<Settings>().oneflow.is_none() && config.log.components.directory.is_none());
    let shown = as_engine_conf(&config, "http://127.0.0.1:9/RPC2", "http://127.0.0.1:10");
    assert_eq!(shown["one_xmlrpc"], "http://127.0.0.1:9/RPC2");
    assert!(shown.get("mapping").is_none());
}

#[test]
fn addresses_can_be_hidden_and_passwords_in_them_always_are() {
    let (config, _) = under("serverless: {show_config: redacted}\n", b":port: 1\n", &[]).unwrap();
    let shown = as_engine_conf(&config, "http://a", "http://b");
    assert_eq!((&shown["one_xmlrpc"], &shown["oneflow_server"]), (&json!("***"), &json!("***")));
    let shown = as_engine_conf(&good(""), "http://ann:s3cret@a/RPC2", "http://b");
    assert_eq!(shown["one_xmlrpc"], "http://ann:***@a/RPC2");
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_its_place() {
    refused(
        "# one\n:port: many\n:timeout: 0\n",
        "engine.conf:2:8: port: expected a whole number from 0 to 65535, got \"many\"\n\
         engine.conf:3:11: timeout: expected a whole number from 1 to 3600, got 0, in seconds",
    );
    refused(
        ":host: engine.example\n",
        "engine.conf:1:8: host: expected an IP address such as 127.0.0.1, or localhost",
    );
    refused(
        ":one_xmlrpc: 2633\n",
        "engine.conf:1:14: one_xmlrpc: expected a URL that begins with http:// or https://, got 2633",
    );
    refused(
        ":capacity:\n  :cpu: 2\n  :memory:\n    :default: -1\n    :resize_mode: fast\n",
        "engine.conf:2:9: capacity.cpu: expected a map, got a number\n\
         engine.conf:4:15: capacity.memory.default: expected a whole number from 1 to 67108864, got -1\n\
         engine.conf:5:19: capacity.memory.resize_mode: expected one of BALLOONING, HOTPLUG, got \"fast\"",
    );
    refused(
        ":log:\n  :level: 4\n  :system: printer\n",
        "engine.conf:2:11: log.level: expected a number from 0 to 3: \
         0 = DEBUG, 1 = INFO, 2 = WARNING, 3 = ERROR\n\
         engine.conf:3:12: log.system: expected one of file, syslog, got \"printer\"",
    );
    refused(
        ":mapping:\n  :nature: zero\n",
        "engine.conf:2:12: mapping: expected a map of flavours to ids of service templates, got \"zero\"",
    );
    refused("- a\n", "engine.conf:1:1: expected a map, got a list");
    refused(":port: [1\n", "engine.conf:1:8: unclosed bracket '['");
    assert_eq!(load(b":port: 1\n\xff").unwrap_err().to_string(), "engine.conf:2:1: expected text in UTF-8");
}

#[test]
fn unknown_keys_are_warnings_with_an_image_event() {
    let (config, warnings) =
        load(b":prot: 1\n:capacity:\n  :cpu:\n    :defualt: 3\n:colour: blue\n").unwrap();
    assert_eq!(config.server.listen.port(), 1337);
    assert_eq!(
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "engine.conf:1:1: unknown key `prot` is ignored: did you mean `:port:`?",
            "engine.conf:4:5: unknown key `capacity.cpu.defualt` is ignored: did you mean `:default:`?",
            "engine.conf:5:1: unknown key `colour` is ignored",
        ],
    );
}

#[test]
fn the_guide_has_every_key_and_the_setting_it_stands_for() {
    let guide = include_str!("../../../../../docs/guide/install.md");
    for key in KEYS {
        let setting =
            if [keys::HOST, keys::PORT].contains(&key.setting) { "server.listen" } else { key.setting };
        let row =
            guide.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{}`", key.path)));
        assert!(row.is_some_and(|row| row.contains(&format!("`{setting}`"))), "{}", key.path);
    }
}

#[test]
fn one_half_of_opennebula_alone_is_refused() {
    let (config, _) = under("serverless: {oned: 'http://a'}", b"", &[]).unwrap();
    assert_eq!(shown(&config)["oneflow_server"], "http://localhost:2474");
    let own = Some((PathBuf::from("config.yaml"), b"serverless: {oned: 'http://a'}".to_vec()));
    let error = Config::parse(
        &app::App::new("provision-engine").product::<crate::Serverless>(),
        &Files { own, base: None },
        &Surroundings::default(),
        &[],
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "config.yaml:1:20: serverless.oned: needs serverless.oneflow beside it");
    let error = under("serverless: {orphans: {policy: clean}}", b"", &[]).unwrap_err().to_string();
    assert!(error.contains("serverless.orphans.policy: needs serverless.orphans.one_auth"), "{error}");
}

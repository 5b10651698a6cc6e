//! Which external systems a server uses and which sign-ins are open, by how it is configured and by whether OpenNebula is
//! there when it starts.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::Command;

use ::opennebula::OpenNebulaOptions;
use serde_json::Value;

use crate::engine_conf::get;
use crate::stage::{DataDirectory, Sandbox, ServerProcess, until};

const SHIPPED: &str = include_str!("../../../../packaging/engine.conf");
const UNKNOWN_USER: u32 = 65_534;

/// Where the configuration comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigSource {
    /// There is none at all.
    Bare,
    /// The flag `--sandbox` and nothing else.
    Flag,
    /// The flag beside the configuration of an OpenNebula.
    FlagAndFile,
    EngineConf,
    /// One of an earlier release, which asks for the sandbox.
    OlderEngineConf,
    File,
    Environment,
}

const SOURCES: [ConfigSource; 7] = [
    ConfigSource::Bare,
    ConfigSource::Flag,
    ConfigSource::FlagAndFile,
    ConfigSource::EngineConf,
    ConfigSource::OlderEngineConf,
    ConfigSource::File,
    ConfigSource::Environment,
];

/// Whether OpenNebula listens when the server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nebula {
    There,
    Absent,
    Late,
}

impl ConfigSource {
    fn names_nebula(self) -> bool {
        !matches!(self, ConfigSource::Bare | ConfigSource::Flag)
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            ConfigSource::Flag => &["--sandbox"],
            ConfigSource::FlagAndFile => &["--sandbox", "--config", "config.yaml"],
            ConfigSource::EngineConf | ConfigSource::OlderEngineConf => &["--engine-conf", "engine.conf"],
            ConfigSource::File => &["--config", "config.yaml"],
            ConfigSource::Bare | ConfigSource::Environment => &[],
        }
    }

    fn place(self, at: &OpenNebulaOptions) -> DataDirectory {
        let OpenNebulaOptions { oned, oneflow, .. } = at;
        let place = DataDirectory::new();
        match self {
            ConfigSource::Bare | ConfigSource::Flag => place,
            ConfigSource::FlagAndFile | ConfigSource::File => {
                place
                    .write("config.yaml", &format!("serverless: {{oned: '{oned}', oneflow: '{oneflow}'}}\n"));
                place
            }
            ConfigSource::EngineConf | ConfigSource::OlderEngineConf => {
                let conf = SHIPPED.replace("http://localhost:2633/RPC2", oned);
                let conf = conf.replace("http://localhost:2474", oneflow);
                let older = if self == ConfigSource::OlderEngineConf { ":sandbox: true\n" } else { "" };
                place.write("engine.conf", &format!("{conf}{older}"));
                place
            }
            ConfigSource::Environment => place
                .env("PROVISION_ENGINE_SERVERLESS__ONED", oned)
                .env("PROVISION_ENGINE_SERVERLESS__ONEFLOW", oneflow),
        }
    }
}

/// Three ports in a row that are free now, as a sandbox needs them.
fn free_ports() -> u16 {
    until("three free ports in a row", || {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let others = [1, 2].map(|more| TcpListener::bind(("127.0.0.1", port.checked_add(more)?)).ok());
        others.iter().all(Option::is_some).then_some(port)
    })
}

/// As another user of this machine, where the test may become one. That user can read no file of the server.
fn curl(arguments: &[&str]) -> String {
    let mut command = Command::new("curl");
    if rustix::process::geteuid().is_root() {
        command.uid(UNKNOWN_USER).gid(UNKNOWN_USER);
    }
    let output =
        command.args(["-sS", "-i", "--max-time", "60"]).args(arguments).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn status(answer: &str) -> u16 {
    answer.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let line = answer.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
    line.unwrap_or_else(|| panic!("no {name} in {answer}")).split_once(": ").unwrap().1
}

fn cookie(answer: &str, name: &str) -> String {
    let line = answer.lines().find(|line| line.starts_with(&format!("set-cookie: {name}=")));
    let line = line.unwrap_or_else(|| panic!("no {name} in {answer}"));
    line["set-cookie: ".len()..].split(';').next().unwrap().to_owned()
}

/// A session of `ann` at the sandbox's identity provider, which asks for no proof.
fn one_click(url: &str) -> String {
    let left = curl(&[&format!("{url}/console/sign-in/provider")]);
    let chosen = curl(&["-d", "person=ann", header(&left, "location")]);
    let back = curl(&["-H", &format!("Cookie: {}", cookie(&left, "pe_flow")), header(&chosen, "location")]);
    cookie(&back, "pe_session")
}

/// Which sign-ins are open, and whether the systems are those of a sandbox.
#[track_caller]
fn check(case: &str, source: ConfigSource, server: &ServerProcess) {
    let url = &server.url;
    let is_sandbox = !source.names_nebula();
    let form = curl(&[&format!("{url}/console/sign-in")]);
    assert_eq!(form.contains("Sign in with your organisation"), is_sandbox, "{case}");
    let provider = curl(&[&format!("{url}/console/sign-in/provider")]);
    assert_eq!(status(&provider), if is_sandbox { 303 } else { 404 }, "{case}: {provider}");
    assert_eq!(status(&curl(&[&format!("{url}/operations")])), 401, "{case}");
    let runs_one = is_sandbox || source == ConfigSource::FlagAndFile;
    let said = server.going.err();
    assert_eq!(said.contains("(in this process;"), runs_one, "{case}: {said}");
    let warned = said.contains("the key `sandbox` has no effect");
    assert_eq!(warned, source == ConfigSource::OlderEngineConf, "{case}: {said}");
}

fn readiness(url: &str) -> (u16, String) {
    let (status, text) = get(&format!("{url}/readyz"));
    let detail =
        serde_json::from_str::<Value>(&text).unwrap_or_default()["detail"].as_str().map(str::to_owned);
    (status, detail.unwrap_or_default())
}

#[test]
fn only_the_command_line_or_no_configuration_at_all_starts_the_sandbox() {
    let elsewhere = DataDirectory::new();
    let sandbox = Sandbox::start(&elsewhere);
    for source in SOURCES {
        for nebula in [Nebula::There, Nebula::Absent, Nebula::Late] {
            let case = format!("{source:?}, OpenNebula {nebula:?}");
            let later = format!("http://127.0.0.1:{}", free_ports());
            let at = match nebula {
                Nebula::There => OpenNebulaOptions::beside(&sandbox.url),
                Nebula::Absent => OpenNebulaOptions::beside("http://127.0.0.1:1"),
                Nebula::Late => OpenNebulaOptions::beside(&later),
            };
            let place = source.place(&at);
            let server = place.serve(source.flags());
            check(&case, source, &server);
            if !source.names_nebula() || nebula == Nebula::There {
                until(&case, || (readiness(&server.url).0 == 200).then_some(()));
                assert_eq!(list(&server.url), 200, "{case}");
                continue;
            }
            let (status, why) = readiness(&server.url);
            assert_eq!(status, 503, "{case}");
            assert!(why.contains("OpenNebula") && why.contains(&at.oned), "{case}: {why}");
            assert_ne!(list(&server.url), 200, "{case}: runtimes that do not exist");
            if nebula == Nebula::Late {
                let listen = later.trim_start_matches("http://");
                let _late = place.begin(&["sandbox", "--listen", listen]);
                until(&case, || (readiness(&server.url).0 == 200).then_some(()));
                assert_eq!(list(&server.url), 200, "{case}");
                check(&case, source, &server);
            }
        }
    }
}

/// Asks for the runtimes of a user whom every sandbox knows.
fn list(url: &str) -> u16 {
    status(&curl(&["-u", "cognit:cognitpass", &format!("{url}/serverless-runtimes")]))
}

#[test]
fn no_file_and_no_variable_turns_the_sandbox_on() {
    for (file, variable) in [
        ("sandbox: {enabled: true}\n", None),
        ("sandbox: {url: 'http://127.0.0.1:9'}\n", None),
        ("", Some(("PROVISION_ENGINE_SANDBOX__ENABLED", "true"))),
        ("", Some(("PROVISION_ENGINE_SANDBOX__URL", "http://127.0.0.1:9"))),
    ] {
        let place = DataDirectory::new();
        place.write("provision-engine.yaml", file);
        let place = variable.into_iter().fold(place, |place, (name, value)| place.env(name, value));
        let refused = place.expect(1, &["serve", "--listen", "127.0.0.1:0"]);
        assert!(refused.err.contains("only the flag --sandbox"), "{file} {variable:?}: {refused:?}");
    }
}

#[test]
fn what_was_created_through_the_sandbox_ends_with_it() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let url = server.url.clone();
    let session = one_click(&url);
    let cookies = format!("Cookie: {session}");
    let page = curl(&["-H", &cookies, &format!("{url}/console/admin/tokens")]);
    let word = page.split("name=\"_csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form =
        ["-H", &cookies, "--data-urlencode", &format!("_csrf={word}"), "-d", "name=mine&role=admin&lives="];
    let made = curl(&[&form[..], &[&format!("{url}/console/admin/tokens")]].concat());
    let token =
        made.split("data-copy=\"").nth(1).unwrap_or_else(|| panic!("{made}")).split('"').next().unwrap();
    let bearer = format!("Authorization: Bearer {token}");
    // What such a token makes is of the same kind.
    let json = ["-H", &bearer, "-H", "Content-Type: application/json"];
    let ask = |path: &str, more: &[&str]| curl(&[&json[..], more, &[&format!("{url}{path}")]].concat());
    let heir = ask("/tokens", &["-d", r#"{"name": "heir", "role": "admin"}"#]);
    assert_eq!(status(&heir), 201, "{heir}");
    let heir: Value = serde_json::from_str(heir.lines().last().unwrap()).unwrap();
    assert_eq!(heir["name"], "sandbox~heir");
    let user = ask("/users", &["-d", r#"{"name": "bob", "role": "admin"}"#]);
    assert_eq!(status(&user), 201, "{user}");
    let taken = ask("/users/admin", &["-X", "PUT", "-d", r#"{"password": "a-password-of-a-stranger"}"#]);
    assert_eq!(status(&taken), 403, "{taken}");
    assert_eq!(status(&ask("/users", &[])), 200);
    server.kill();

    let place = place.env("PROVISION_ENGINE_SANDBOX__ENABLED", "false");
    for flags in [&["--sandbox"][..], &[]] {
        let server = place.serve(flags);
        for old in [token, heir["token"].as_str().unwrap()] {
            let bearer = format!("Authorization: Bearer {old}");
            let refused = curl(&["-H", &bearer, &format!("{}/users", server.url)]);
            assert_eq!(status(&refused), 401, "{flags:?}: {refused}");
        }
        let page = curl(&["-H", &cookies, &format!("{}/console/admin/tokens", server.url)]);
        assert_eq!(status(&page), 303, "{flags:?}: {page}");
        let names: Vec<Value> = place.json(&["users", "list"])["items"].as_array().unwrap().clone();
        assert_eq!(names.len(), 1, "the user of the first start: {names:?}");
        server.stop();
    }
}

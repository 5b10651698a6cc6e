//! Every client of the server and of the command line against peers that speak TLS alone. The peers tell who got
//! through: a client that does not like a certificate sends nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use tokio::runtime::Runtime;

use super::certificates::{Authorities, KINDS, Kind};
use super::{Peer, text};
use crate::engine_conf::get;
use crate::launch::{AMI, HOW, KEY};
use crate::runtimes::CREATE;
use crate::stage::{DataDirectory, Sandbox, until, until_or};

/// The settings that name a peer, with the path of it.
const WIRES: [(&str, &str); 10] = [
    ("DRIVERS__GREETER__URL", ""),
    ("DRIVERS__PROVISIONER__URL", "/provisioner/graphql"),
    ("SERVERLESS__ONED", "/RPC2"),
    ("SERVERLESS__ONEFLOW", ""),
    ("LAUNCH__IMAGE_BUILDER__URL", "/api/image-builder/v1"),
    ("LAUNCH__SOURCES__URL", "/api/sources/v3.1"),
    ("LAUNCH__AWS__ENDPOINT", "/aws/ec2/us-east-1"),
    ("LAUNCH__AWS__STS_ENDPOINT", "/aws/sts"),
    ("OSB__OIDC__ISSUER", "/identity-provider"),
    ("LAUNCH__RBAC__URL", "/api/rbac/v1"),
];

const IDENTITY: &str = r#"{"identity": {"type": "User", "org_id": "13", "account_number": "1",
    "internal": {"org_id": "13"}, "user": {"username": "ann"}}}"#;

#[test]
fn every_client_sends_only_to_a_peer_with_a_good_certificate() {
    let elsewhere = DataDirectory::new();
    let sandbox = Sandbox::start(&elsewhere);
    let behind = sandbox.url.trim_start_matches("http://").to_owned();
    let authorities = Authorities::new();
    let runtime = Runtime::new().unwrap();
    for kind in KINDS {
        let files = authorities.issue(kind);
        let peers =
            WIRES.map(|(setting, path)| (setting, path, Peer::start(&runtime, &files, behind.clone())));
        let mut place = DataDirectory::new()
            .env("PROVISION_ENGINE_TLS__CA_FILE", text(&authorities.trusted.file()))
            .env("PROVISION_ENGINE_LAUNCH__AWS__ENABLED", "true")
            .env("PROVISION_ENGINE_LAUNCH__TRUSTED_PROXIES", "127.0.0.1")
            .env("PROVISION_ENGINE_OSB__OIDC__CLIENT_ID", "provision-engine-console");
        for (setting, path, peer) in &peers {
            place = place.env(&format!("PROVISION_ENGINE_{setting}"), peer.url(path));
        }
        let server = place.serve(&[]);
        place.submit(&[]);
        get(&format!("{}/console/sign-in/provider", server.url));
        let token = std::fs::read_to_string(place.data("admin.token")).unwrap();
        let bearer = format!("Bearer {}", token.trim());
        ask_with(&runtime, &format!("{}/systems", server.url), ("authorization", &bearer));
        // Permissions are asked for when a caller's identity comes in a header.
        let keys = format!("{}/api/provisioning/v1/pubkeys", server.url);
        ask_with(&runtime, &keys, ("x-rh-identity", &STANDARD.encode(IDENTITY)));
        for (setting, _, peer) in &peers {
            let seen = || format!("{kind:?}, {setting}: {} of {}", peer.passed(), peer.attempts());
            until_or(|| (peer.attempts() > 0).then_some(()), seen);
            if kind == Kind::Good {
                until_or(|| (peer.passed() > 0).then_some(()), seen);
            } else {
                assert_eq!(peer.passed(), 0, "{}", seen());
            }
        }
    }
}

fn ask_with(runtime: &Runtime, url: &str, (name, value): (&str, &str)) -> String {
    runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let answer = client.request(Method::GET, url).header(name, value).send().await.unwrap();
        answer.text().await.unwrap()
    })
}

#[test]
fn the_command_line_talks_only_to_a_server_with_a_good_certificate() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let token = std::fs::read_to_string(place.data("admin.token")).unwrap();
    let authorities = Authorities::new();
    let runtime = Runtime::new().unwrap();
    let behind = server.url.trim_start_matches("http://").to_owned();
    for kind in KINDS {
        let peer = Peer::start(&runtime, &authorities.issue(kind), behind.clone());
        let place = DataDirectory::new().env("PROVISION_ENGINE_TOKEN", token.trim());
        let ask = |place: &DataDirectory, code: i32| {
            place.expect(code, &["operations", "list", "--server", &peer.url("")]);
        };
        ask(&place, 1);
        assert_eq!(peer.passed(), 0, "{kind:?} without the authority");
        let place = place.env("PROVISION_ENGINE_TLS__CA_FILE", text(&authorities.trusted.file()));
        ask(&place, i32::from(kind != Kind::Good));
        assert_eq!(peer.passed() > 0, kind == Kind::Good, "{kind:?}");
    }
    let nowhere = DataDirectory::new().env("PROVISION_ENGINE_TLS__CA_FILE", "/nowhere");
    assert!(nowhere.expect(1, &["config", "check"]).err.contains("tls.ca_file: cannot use /nowhere"));
}

/// The systems of operators, which are called while operations run.
#[test]
fn webhooks_and_external_steps_are_called_only_with_a_good_certificate() {
    let elsewhere = DataDirectory::new();
    let sandbox = Sandbox::start(&elsewhere);
    let behind = sandbox.url.trim_start_matches("http://").to_owned();
    let authorities = Authorities::new();
    let runtime = Runtime::new().unwrap();
    for kind in KINDS {
        let files = authorities.issue(kind);
        let [webhook, step] = [(); 2].map(|()| Peer::start(&runtime, &files, behind.clone()));
        let place = DataDirectory::new()
            .env("PROVISION_ENGINE_TLS__CA_FILE", text(&authorities.trusted.file()))
            .env("PROVISION_ENGINE_LAUNCH__WEBHOOK__URL", webhook.url("/nowhere"))
            .env("PROVISION_ENGINE_RUNTIME__STEPS", "steps.yaml");
        place.write("secret", &"s".repeat(32));
        let url = step.url("/nowhere");
        let steps = "- {name: motto, workflow: runtime.provision, weight: 1, secret_file: secret, url: ";
        place.write("steps.yaml", &format!("{steps}{url}}}\n"));
        place.write("mine.pub", KEY);
        let server = place.serve(&["--sandbox-url", &sandbox.url]);
        place.expect(0, &CREATE);
        place.expect(0, &[&["launch", "--image", AMI, "--wait"], &HOW[..]].concat());
        for (wire, peer) in [("webhook", &webhook), ("external step", &step)] {
            let seen = || format!("{kind:?}, {wire}: {} of {}", peer.passed(), peer.attempts());
            until_or(|| (peer.attempts() > 0).then_some(()), seen);
            if kind == Kind::Good {
                until_or(|| (peer.passed() > 0).then_some(()), seen);
            } else {
                assert_eq!(peer.passed(), 0, "{}", seen());
            }
        }
        server.stop();
    }
}

#[test]
fn kafka_asks_for_a_user_before_it_connects() {
    let base = || DataDirectory::new().env("PROVISION_ENGINE_LAUNCH__KAFKA__BROKERS", "127.0.0.1:1");
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let set = |place: DataDirectory, name: &str, value: &str| {
        place.env(&format!("PROVISION_ENGINE_LAUNCH__KAFKA__{name}"), value)
    };
    let without_user = set(base(), "SECURITY_PROTOCOL", "sasl_plaintext");
    let refused = without_user.expect(1, &serve);
    assert!(refused.err.contains("needs launch.kafka.username"), "{refused:?}");
    let place = set(set(base(), "SECURITY_PROTOCOL", "sasl_plaintext"), "USERNAME", "ann");
    let place = set(place, "PASSWORD_FILE", "password");
    place.write("password", "hunter2\n");
    let server = place.serve(&[]);
    until("the server", || (get(&format!("{}/healthz", server.url)).0 == 200).then_some(()));
    assert!(!server.going.err().contains("hunter2"));
}

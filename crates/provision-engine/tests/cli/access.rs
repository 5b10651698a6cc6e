//! Tokens and keys.

use rustix::process::Signal;

use crate::stage::{DataDirectory, Sandbox, until};

#[test]
fn a_token_may_do_what_its_role_says_and_nothing_more() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let token =
        place.expect(0, &["tokens", "create", "--role", "reader", "--name", "eyes", "--expires", "1h"]);
    let token = token.out.trim();
    assert!(token.starts_with("pe_"), "{token}");

    // Elsewhere, so that only the flags and the environment can help.
    let elsewhere =
        DataDirectory::new().env("PROVISION_ENGINE_SERVER", &server.url).env("PROVISION_ENGINE_TOKEN", token);
    elsewhere.expect(0, &["operations", "list"]);
    let id = place.submit(&["--param", "wait_ms=600000"]);
    for denied in [
        &["operations", "submit", "demo.hello"][..],
        &["operations", "submit", "demo.hello", "--count", "3"],
        &["operations", "cancel", &id],
        &["tokens", "list"],
    ] {
        let ran = elsewhere.expect(6, denied);
        assert!(ran.err.contains("code: forbidden") && ran.out.is_empty(), "{denied:?}: {ran:?}");
    }
    let unknown = DataDirectory::new().env("PROVISION_ENGINE_SERVER", &server.url);
    let ran = unknown.expect(6, &["operations", "list"]);
    assert!(ran.err.contains("code: unauthenticated") && ran.err.contains("--token"), "{ran:?}");
    unknown.expect(6, &["--token", "pe_wrong", "operations", "list"]);
    unknown.expect(0, &["--token", token, "operations", "list"]);

    let listed = place.json(&["tokens", "list"]);
    let items = listed["items"].as_array().unwrap();
    let of = |name: &str| items.iter().find(|item| item["name"] == name).map(|item| item["role"].clone());
    assert_eq!((of("eyes"), of("broker")), (Some("reader".into()), Some("broker".into())), "{listed}");
    assert!(
        place
            .expect(5, &["tokens", "create", "--role", "admin", "--name", "eyes"])
            .err
            .contains("token-exists")
    );
    place.expect(2, &["tokens", "create", "--role", "king", "--name", "x"]);
    place.expect(0, &["tokens", "delete", "eyes"]);
    elsewhere.expect(6, &["operations", "list"]);
    place.expect(1, &["tokens", "delete", "eyes"]);
    assert!(place.expect(5, &["tokens", "delete", "admin"]).err.contains("last-admin"));
}

fn key_ids(place: &DataDirectory) -> Vec<String> {
    place.expect(0, &["keys", "list", "-o", "name"]).out.lines().map(str::to_owned).collect()
}

/// As if the last rotation were long ago.
fn settle(place: &DataDirectory) {
    let text = std::fs::read_to_string(place.data("keys.json")).unwrap();
    let mut ring: serde_json::Value = serde_json::from_str(&text).unwrap();
    ring["active_since"] = "2020-01-01T00:00:00Z".into();
    std::fs::write(place.data("keys.json"), ring.to_string()).unwrap();
}

#[test]
fn a_rotated_key_reaches_a_running_server_and_old_secrets_still_open() {
    let place = DataDirectory::new();
    assert_eq!(place.json(&["keys", "list"])["items"], serde_json::json!([]));
    let server = place.serve(&["--sandbox"]);
    let [old] = &key_ids(&place)[..] else { panic!("one key is made") };
    // Its secret is sealed with the first key and opened after the change.
    let id = place.submit(&["--param", "wait_ms=3000"]);
    place.wait_for_phase(&id, "waiting");
    let rotated = place.expect(0, &["keys", "rotate"]);
    let new = key_ids(&place).remove(0);
    assert!(rotated.out.contains(&format!("{new}  seals and opens")), "{rotated:?}");
    assert!(rotated.err.contains("within about ten seconds"), "{rotated:?}");
    server.going.signal(Signal::HUP);
    let read = format!("read the key ring again active={new}");
    until("the new key", || server.going.err().contains(&read).then_some(()));
    place.wait_for_phase(&id, "succeeded");
    place.expect(0, &["operations", "submit", "demo.hello", "--wait"]);

    assert!(place.expect(1, &["keys", "forget", &new, "--yes"]).err.contains("rotate first"));
    place.expect(1, &["keys", "forget", "k9", "--yes"]);
    let refused = place.expect(1, &["keys", "forget", old, "--yes"]);
    assert!(refused.err.contains("the last rotation is too recent"), "{refused:?}");
    settle(&place);
    let refused = place.expect(1, &["keys", "forget", old, "--yes"]);
    assert!(
        refused.err.contains("it sealed 1 saved values") && refused.err.contains("--reseal"),
        "{refused:?}"
    );

    // No request is needed: the server looks by itself.
    assert!(place.expect(0, &["keys", "forget", old, "--reseal"]).out.contains("is sealed again"));
    let resealed = || server.going.err().contains("resealed values").then_some(());
    until("the values of the old key are sealed again", resealed);
    let asked = place.expect(1, &["keys", "forget", old]);
    assert!(asked.err.contains("give --yes") && key_ids(&place).len() == 2, "{asked:?}");
    place.expect(0, &["keys", "forget", old, "--yes"]);
    assert_eq!(key_ids(&place), [new]);
    place.expect(0, &["operations", "submit", "demo.hello", "--wait"]);
}

#[test]
fn a_lost_key_ring_is_not_silently_replaced() {
    let place = DataDirectory::new();
    assert_eq!(place.serve(&[]).stop().code, Some(0));
    std::fs::rename(place.data("keys.json"), place.path("keys.json")).unwrap();
    let refused = place.expect(1, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.err.contains("key ring") && refused.err.contains("keys rotate"), "{refused:?}");
    assert!(!place.data("keys.json").exists());
    std::fs::rename(place.path("keys.json"), place.data("keys.json")).unwrap();
    assert_eq!(place.serve(&[]).stop().code, Some(0));
}

#[test]
fn groups_of_an_issuer_bring_the_roles_that_the_settings_say() {
    let elsewhere = DataDirectory::new();
    let sandbox = Sandbox::start(&elsewhere);
    let issuer = format!("{}/identity", sandbox.url);
    let place = DataDirectory::new()
        .env("PROVISION_ENGINE_OSB__OIDC__ISSUER", &issuer)
        .env("PROVISION_ENGINE_OSB__OIDC__AUDIENCE", "us")
        .env("PROVISION_ENGINE_OSB__OIDC__ADMIN_GROUPS", "platform-team");
    let server = place.serve(&[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let status = |group: &str| {
        let form = format!("grant_type=client_credentials&audience=us&groups={group}");
        let request = client.post(format!("{issuer}/token")).basic_auth("jane", Some("sandbox-secret"));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        runtime.block_on(async {
            let answer = request.send().await.unwrap().text().await.unwrap();
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            let token = answer["access_token"].as_str().unwrap();
            let users = client.get(format!("{}/users", server.url)).bearer_auth(token);
            users.send().await.unwrap().status().as_u16()
        })
    };
    assert_eq!((status("platform-team"), status("admin"), status("nothing")), (200, 403, 403));
}

//! Documents that a hostile user wrote: whatever they name, nothing of another user is touched.

use std::time::Duration;

use ::opennebula::{AttributeName, NebulaTemplate, RUNTIME_DOCUMENT, Text};
use ::serverless::model::orphans::Cleaned;
use ::serverless::model::sweep::Sweep;
use ::serverless::workflows::update;
use serde_json::{Value, json};
use testing::TestEngine;

use crate::serverless_site::{ServerlessSite, credentials, members};

/// A runtime of another user, which has to survive.
struct Victim {
    document: i32,
    service: i32,
    machine: i32,
    token: String,
}

fn attribute(name: &'static str) -> AttributeName {
    AttributeName::of(name)
}

async fn victim(site: &mut ServerlessSite, test_engine: &TestEngine) -> Victim {
    site.who = credentials("other", "otherpass");
    let document =
        site.running(test_engine, json!({"NAME": "victim", "FAAS": {"FLAVOUR": "Function"}})).await;
    let runtime = site.read(document).await.unwrap();
    let machine = members(&runtime)["FAAS"]["VM_ID"].as_i64().unwrap();
    let found = site.serverless().nebula.document(&site.who, document).await.unwrap();
    site.who = credentials("cognit", "cognitpass");
    Victim {
        document,
        service: runtime.service_id().unwrap(),
        machine: i32::try_from(machine).unwrap(),
        token: found.template.get("PROVISION_ENGINE_TOKEN").unwrap().to_owned(),
    }
}

impl Victim {
    /// The body of a document that claims its service and its machine.
    fn body(&self) -> String {
        let function = json!({"FLAVOUR": "Function", "VM_ID": self.machine});
        json!({"FAAS": function, "SERVICE_ID": self.service}).to_string()
    }

    async fn is_untouched(&self, site: &mut ServerlessSite, what: &str) {
        let (machine, service) = (self.machine, self.service);
        let nebula = &site.serverless().nebula;
        let who = credentials("other", "otherpass");
        assert_eq!(nebula.service(&who, service).await.unwrap().state_name(), "RUNNING", "{what}");
        assert_eq!(nebula.machine(&who, machine).await.unwrap().state, 3, "{what}");
        let before = std::mem::replace(&mut site.who, who);
        assert_eq!(members(&site.read(self.document).await.unwrap())["FAAS"]["STATE"], "RUNNING", "{what}");
        site.who = before;
    }
}

/// A document of the hostile user.
async fn bait(site: &ServerlessSite, body: &str, attributes: &[(&'static str, &str)]) -> i32 {
    let mut template = NebulaTemplate::new();
    template.set(attribute("NAME"), "bait");
    template.set(attribute("BODY"), Text::ours(body));
    for (name, value) in attributes {
        template.set(attribute(name), Text::ours(*value));
    }
    site.serverless().nebula.allocate_document(&site.who, &template, RUNTIME_DOCUMENT).await.unwrap()
}

const TOKEN: &str = "PROVISION_ENGINE_TOKEN";
const SEAL: &str = "PROVISION_ENGINE_SEAL";
const DELETING: (&str, &str) = ("PROVISION_ENGINE_DELETING", "YES");

/// The admin's sweeper, until nothing has to be waited for.
async fn sweep(site: &ServerlessSite, test_engine: &TestEngine) -> Vec<Cleaned> {
    let admin = credentials("oneadmin", "opennebula");
    let nebula = &site.serverless().nebula;
    let sweep = Sweep { engine: &test_engine.engine, nebula, admin: &admin, older_than: Duration::ZERO };
    for _ in 0..500 {
        let cleaned: Vec<Cleaned> =
            sweep.clean().await.unwrap().into_iter().map(|(_, cleaned)| cleaned).collect();
        if !cleaned.iter().any(|one| matches!(one, Cleaned::Waits(_))) {
            return cleaned;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never ends");
}

#[tokio::test]
async fn a_document_makes_the_sweeper_remove_nothing_of_another_user() {
    let mut site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let victim = victim(&mut site, &test_engine).await;
    // The hostile user has a runtime, and so a label that the engine sealed.
    let own = site.running(&test_engine, json!({"NAME": "own", "FAAS": {"FLAVOUR": "Function"}})).await;
    let found = site.serverless().nebula.document(&site.who, own).await.unwrap();
    let [token, seal] = [TOKEN, SEAL].map(|name| found.template.get(name).unwrap().to_owned());
    let invented = "0199f0c1d2e37a4b8c5d6e7f80919293-00112233445566ff";
    let body = victim.body();
    for (what, attributes) in [
        ("an invented token", vec![(TOKEN, invented), DELETING]),
        ("the token of the victim", vec![(TOKEN, victim.token.as_str()), DELETING]),
        (
            "the token of the victim, with a seal",
            vec![(TOKEN, victim.token.as_str()), (SEAL, seal.as_str()), DELETING],
        ),
        ("a copy of the own label", vec![(TOKEN, token.as_str()), (SEAL, seal.as_str()), DELETING]),
        ("an invented seal", vec![(TOKEN, invented), (SEAL, "sealed:1:k1:AAAA"), DELETING]),
    ] {
        let id = bait(&site, &body, &attributes).await;
        let cleaned = sweep(&site, &test_engine).await;
        assert!(matches!(&cleaned[..], [Cleaned::Reported(_)]), "{what}: {cleaned:?}");
        victim.is_untouched(&mut site, what).await;
        site.serverless().nebula.delete_document(&site.who, id).await.unwrap();
    }
    // The genuine document, written anew: it goes, and takes nothing of others with it.
    let mut template = NebulaTemplate::new();
    template.set(attribute("BODY"), Text::ours(body));
    template.set(attribute(DELETING.0), DELETING.1);
    site.serverless().nebula.amend_document(&site.who, own, &template).await.unwrap();
    sweep(&site, &test_engine).await;
    victim.is_untouched(&mut site, "the own document").await;
    assert_eq!(site.kinds().await, ["document", "service", "vm"], "what is left is the victim's");
}

#[tokio::test]
async fn an_admin_who_deletes_or_changes_a_bait_touches_nothing_of_another_user() {
    let mut site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let victim = victim(&mut site, &test_engine).await;
    let id = bait(&site, &victim.body(), &[(TOKEN, victim.token.as_str())]).await;
    site.who = credentials("oneadmin", "opennebula");
    let more = json!({"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "Function", "MEMORY": 2048}}}).to_string();
    let error_response =
        update::prepare(site.serverless(), &site.who, id, more.as_bytes()).await.unwrap_err();
    assert_eq!(error_response.status, 403, "{error_response:?}");
    site.delete(&test_engine, id).await.unwrap();
    victim.is_untouched(&mut site, "deleted by an admin").await;
    let left: Vec<Value> = site.world.get("/ledger").await["effects"].as_array().unwrap().clone();
    assert_eq!(left.len(), 3, "the bait is gone: {left:?}");
}

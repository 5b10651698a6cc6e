//! The engine agrees with the SDKs: the vectors of `sdk/vectors` against its own signatures, calls and answers.

use std::collections::BTreeMap;

use engine::secret::SecretString;
use external_step::{Action, CallOperation, CallParams, CallSignal, Own, StepAnswer, StepCall, signature};
use serde_json::{Map, Value};

const SIGNATURES: &str = include_str!("../../../../sdk/vectors/signatures.json");
const CALLS: &str = include_str!("../../../../sdk/vectors/calls.json");
const ANSWERS: &str = include_str!("../../../../sdk/vectors/answers.json");

fn vectors(text: &str) -> Vec<Value> {
    let vectors: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(vectors.len() > 20, "too few to prove anything");
    vectors
}

#[test]
fn signatures_are_those_that_the_sdks_accept() {
    let mut compared = 0;
    for vector in vectors(SIGNATURES) {
        let (Some(timestamp), Some(sent)) = (vector["timestamp"].as_str(), vector["signature"].as_str())
        else {
            continue;
        };
        // The engine writes a timestamp in one way only.
        let Some(seconds) = timestamp.parse::<i64>().ok().filter(|seconds| seconds.to_string() == timestamp)
        else {
            continue;
        };
        let body = vector["body"].as_str().unwrap().as_bytes();
        let secrets = vector["secrets"].as_array().unwrap();
        let made = secrets
            .iter()
            .map(|secret| signature(&SecretString::from(secret.as_str().unwrap()), seconds, body));
        let is_listed = made.into_iter().any(|made| sent.split(',').any(|one| one.trim() == made));
        let is_late = (vector["now"].as_i64().unwrap() - seconds).abs() > 300;
        let is_far_down_the_list = sent.split(',').count() > 8;
        let is_valid = is_listed && !is_late && !is_far_down_the_list && seconds < 1_000_000_000_000;
        assert_eq!(vector["valid"], is_valid, "{}", vector["name"]);
        compared += 1;
    }
    assert!(compared > 15, "only {compared} vectors say something about the engine");
}

#[test]
fn answers_are_accepted_and_refused_as_by_the_sdks() {
    for vector in vectors(ANSWERS) {
        let body = vector["answer"].to_string();
        match StepAnswer::read(body.as_bytes()) {
            Ok(_) => assert_eq!(vector["valid"], true, "{}", vector["name"]),
            Err(why) => {
                assert_eq!(vector["valid"], false, "{}: {why}", vector["name"]);
                assert!(why.contains(vector["names"].as_str().unwrap()), "{}: {why}", vector["name"]);
                assert!(!why.contains("r00t"), "{}: {why}", vector["name"]);
            }
        }
    }
}

#[test]
fn a_call_is_written_as_the_sdks_read_it() {
    let vectors = vectors(CALLS);
    let everything = vectors.iter().find(|vector| vector["name"] == "everything").unwrap();
    let expected: Value = serde_json::from_str(everything["body"].as_str().unwrap()).unwrap();
    let text = |name: &str| expected["operation"][name].as_str().unwrap();
    let object = |value: &Value| value.as_object().unwrap().clone();
    let (mut plain, own_facts) = (object(&expected["params"]), object(&expected["own"]["facts"]));
    plain.insert("password".into(), "<secret>".into());
    let reserve: Map<String, Value> = object(&expected["facts"]["reserve"]);
    let secret = |text: &Value| SecretString::from(text.as_str().unwrap());
    let call = StepCall {
        version: 2,
        action: Action::Run,
        step: "create",
        attempt: 3,
        operation: CallOperation {
            id: text("id"),
            workflow: text("workflow"),
            workflow_version: 4,
            tenant: text("tenant"),
            resource: Some(text("resource")),
            created_at: text("created_at"),
            deadline_at: text("deadline_at"),
        },
        idempotency_key: expected["idempotency_key"].as_str().unwrap(),
        params: CallParams {
            plain: &plain,
            sealed: &|name| name == "password",
            opened: &BTreeMap::from([("password".into(), secret(&expected["params"]["password"]))]),
        },
        facts: BTreeMap::from([("reserve", &reserve)]),
        own: Own {
            facts: &own_facts,
            secrets: BTreeMap::from([("root".into(), secret(&expected["own"]["secrets"]["root"]))]),
        },
        signal: Some(CallSignal { key: "approved", payload: &expected["signal"]["payload"] }),
        signal_url: expected["signal_url"].as_str(),
        signal_token: expected["signal_token"].as_str(),
    };
    assert_eq!(serde_json::to_value(&call).unwrap(), expected);
}

//! Any method, any path, any query and any body: never trouble, and never an answer that is not described.

use serde_json::json;

use crate::osb_world::{BrokerFixture, SERVICE, SMALL, WORKFLOW_TEST, broker, wanted};

/// Numbers that look like chance and are the same every time.
struct OsbRandom(u64);

impl OsbRandom {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }
}

const ROUNDS: usize = 3000;

fn path(dice: &mut OsbRandom) -> String {
    let prefix = dice.pick(&["", "/oauth", "/oauth/cf", "/oauth/%ff", "/oauth/%00"]);
    let id = |dice: &mut OsbRandom| {
        dice.pick(&["a", "b", "c", "%20", "%ff", "%2f", "a%00", "..", "%25", "%C3%A9"])
    };
    let rest = match dice.roll(6) {
        0 => "catalog".to_owned(),
        1 | 2 => format!("service_instances/{}", id(dice)),
        3 => format!("service_instances/{}/last_operation", id(dice)),
        4 => format!("service_instances/{}/service_bindings/{}", id(dice), id(dice)),
        _ => format!("service_instances/{}/service_bindings/{}/last_operation", id(dice), id(dice)),
    };
    let queries = [
        "",
        "?accepts_incomplete=true",
        "?accepts_incomplete=maybe",
        "?%ff=%ff&&&==",
        "?service_id=s-1&plan_id=p-small&accepts_incomplete=true",
        "?service_id=s-1&plan_id=p-small",
        "?service_id=s-1&service_id=x&plan_id=p-trial&accepts_incomplete=true&operation=%00",
        "?operation=x",
    ];
    format!("{prefix}/v2/{rest}{}", dice.pick(&queries))
}

fn body(dice: &mut OsbRandom) -> Vec<u8> {
    let odd = [
        json!(null),
        json!(0),
        json!(-1),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}"),
        json!("s-1"),
        json!(SMALL),
        json!(WORKFLOW_TEST),
        json!([]),
        json!([[[]]]),
        json!({}),
        json!({"version": "1.2.3"}),
        json!(true),
        json!({"name": "n", "region": "north"}),
        json!({"active": false}),
        json!({"active": true}),
        json!({"name": "m"}),
        json!({"globalaccount_id": "\u{202e}"}),
        json!({"globalaccount_id": ""}),
        json!({"expiration_seconds": 600}),
        json!("😀".repeat(64)),
        json!({"": {"": {"": null}}}),
    ];
    let fields = [
        "service_id",
        "plan_id",
        "organization_guid",
        "space_guid",
        "context",
        "parameters",
        "maintenance_info",
        "previous_values",
        "bind_resource",
        "app_guid",
        "predecessor_binding_id",
        "unknown",
    ];
    let mut body = match dice.roll(4) {
        0 => json!({"service_id": SERVICE, "plan_id": SMALL}),
        1 => json!({"service_id": SERVICE}),
        2 => wanted(WORKFLOW_TEST),
        _ => wanted(SMALL),
    };
    for _ in 0..dice.roll(3) {
        let field = dice.pick(&fields);
        body[field] = odd[dice.roll(odd.len())].clone();
    }
    let mut bytes = body.to_string().into_bytes();
    if dice.roll(8) == 0 {
        let at = dice.roll(bytes.len());
        bytes[at] = u8::try_from(dice.roll(256)).unwrap();
    }
    if dice.roll(20) == 0 {
        bytes.truncate(dice.roll(bytes.len()));
    }
    bytes
}

#[tokio::test]
async fn nothing_that_a_platform_sends_brings_the_broker_into_failure() {
    let world: BrokerFixture = broker().await;
    let dice = &mut OsbRandom(7);
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..ROUNDS {
        let method =
            dice.pick(&["GET", "PUT", "PUT", "PATCH", "PATCH", "DELETE", "POST", "HEAD", "OPTIONS", "BREW"]);
        let (path, body) = (path(dice), body(dice));
        world.levers.hold(round % 7 == 0);
        world.levers.fail(round % 11 == 0);
        let mut ask = world.ask(method, &path).header("content-type", "application/json").body(body);
        for header in
            ["x-broker-api-request-identity", "x-broker-api-originating-identity", "x-broker-api-version"]
        {
            if dice.roll(30) == 0 {
                ask = ask
                    .header_bytes(header, Some(dice.pick(&[&b"\xff\xfe"[..], b"\t", b"", b"2.13", b"a b"])));
            }
        }
        // The call itself asserts that the status is described and is no trouble.
        seen.insert(ask.send().await.status);
    }
    let expect = [200, 202, 400, 404, 405, 409, 410, 412, 422];
    assert!(expect.iter().all(|status| seen.contains(status)), "{seen:?}");
}

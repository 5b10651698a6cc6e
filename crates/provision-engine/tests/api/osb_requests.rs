//! What a request must be before any client looks at what it asks.

use std::time::Duration;

use ::runtimes::api::osb::{MissingVersion, OsbSettings};
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::AccessStore;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use server::ServerSettings;

use crate::osb_world::{
    BrokerFixture, OsbRequest, SERVICE, SMALL, basic, binding, broker, broker_with, instance, settings,
    wanted, with, with_server,
};
use crate::shaky_store::Mood;

const ROUTES: [(&str, &str); 10] = [
    ("GET", "/v2/catalog"),
    ("PUT", "/v2/service_instances/a"),
    ("GET", "/v2/service_instances/a"),
    ("PATCH", "/v2/service_instances/a"),
    ("DELETE", "/v2/service_instances/a"),
    ("GET", "/v2/service_instances/a/last_operation"),
    ("PUT", "/v2/service_instances/a/service_bindings/b"),
    ("GET", "/v2/service_instances/a/service_bindings/b"),
    ("DELETE", "/v2/service_instances/a/service_bindings/b"),
    ("GET", "/v2/service_instances/a/service_bindings/b/last_operation"),
];

#[tokio::test]
async fn no_one_gets_in_without_credentials_wherever_they_ask() {
    let world = broker().await;
    let good = &world.password;
    let bad = [
        String::new(),
        "Basic".into(),
        "Basic !!!".into(),
        "Bearer nonsense".into(),
        format!("Bearer {good}x"),
        basic("cf", "wrong"),
        basic("someone", good),
        basic("", good),
        basic("cf", ""),
        format!("Basic {}", STANDARD.encode(good)),
        format!("Digest {good}"),
    ];
    for (method, path) in ROUTES.into_iter().chain([("GET", "/v2/nowhere"), ("POST", "/v2/catalog")]) {
        world.ask(method, path).without("authorization").send().await.is(401, None);
        // Nothing else is looked at before.
        let blunt = world.ask(method, path).without("authorization").without("x-broker-api-version");
        blunt.body("{").send().await.is(401, None);
        for value in &bad {
            let answer = world.ask(method, path).header("authorization", value).send().await;
            answer.is(401, None);
            assert!(!answer.text.contains(good.as_str()));
            assert_eq!(answer.header("www-authenticate"), r#"Basic realm="provision-engine""#);
        }
    }
    for value in [basic("cf", good), format!("Bearer {good}"), format!("bearer  {good}")] {
        assert_eq!(world.ask("GET", "/v2/catalog").header("authorization", &value).send().await.status, 200);
    }
}

#[tokio::test]
async fn a_token_of_another_role_is_good_and_still_not_enough() {
    let world = broker().await;
    for (method, path) in ROUTES {
        world
            .ask(method, path)
            .header("authorization", &basic("rita", &world.reader))
            .send()
            .await
            .is(403, None);
    }
    // And a broker sees nothing of the other APIs.
    let log = world.store.audit_log(100).await.unwrap();
    assert!(
        log.iter().any(|row| row.who == "rita" && row.action == "broker.provision" && row.result == "403")
    );
}

#[tokio::test]
async fn a_database_that_is_down_says_nothing_about_credentials() {
    let world = broker().await;
    for (mood, status) in [(Mood::Down, 503), (Mood::Full, 503), (Mood::Refusing, 500)] {
        world.store.be(mood);
        for (method, path) in ROUTES {
            let answer = world.ask(method, path).json(&json!({})).send_failing().await;
            answer.is(status, None);
            assert!(
                !answer.text.contains("10.0.0.5") && !answer.text.contains("secret_plan"),
                "{}",
                answer.text
            );
        }
        world.store.be(Mood::Well);
    }
}

#[tokio::test]
async fn every_route_wants_to_know_the_version() {
    let world = broker().await;
    for (method, path) in ROUTES.into_iter().chain([("GET", "/v2/nowhere")]) {
        for version in [None, Some("1.0"), Some("3.1"), Some("2.10"), Some("new"), Some("")] {
            let value = version.map(str::as_bytes);
            let ask = world.ask(method, path).header_bytes("x-broker-api-version", value);
            // A body that cannot be read is looked at later.
            ask.body("{").send().await.is(412, None);
        }
    }
    let lenient = OsbSettings { missing_version: MissingVersion::BadRequest, ..OsbSettings::default() };
    let world = broker_with(settings(lenient)).await;
    world.ask("GET", "/v2/catalog").without("x-broker-api-version").send().await.is(400, None);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_before_the_route_is_looked_at() {
    let world =
        broker_with(with_server(ServerSettings { body_limit_bytes: 200_000, ..ServerSettings::default() }))
            .await;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(70), "}".repeat(70));
    let bodies: [&[u8]; 9] =
        [b"", b"{", b"[]", b"1", b"null", b"\"a\"", b"{} x", b"{\"service_id\": \"\xff\"}", deep.as_bytes()];
    for path in [&instance("a"), &binding("a", "b"), "/v2/nowhere"] {
        for body in bodies {
            let ask = world.ask("PUT", path).header("content-type", "application/json").body(body.to_vec());
            ask.send().await.is(400, None);
        }
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/octet-stream"] {
        let ask = world.ask("PUT", &instance("a")).json(&wanted(SMALL)).header("content-type", kind);
        ask.send().await.is(400, None);
    }
    let huge = with(wanted(SMALL), &[("/unknown", json!("x".repeat(300_000)))]);
    world.put("a", &huge).await.is(413, None);
    let large = with(wanted(SMALL), &[("/parameters/name", json!("x".repeat(70_000)))]);
    let refused = world.put("a", &large).await;
    assert!(refused.is(400, None).text.contains("parameters"), "{}", refused.text);
    let large = with(wanted(SMALL), &[("/context/note", json!("x".repeat(70_000)))]);
    world.put("a", &large).await.is(400, None);
    world.last("a").await.is(404, None);
    let untyped = world
        .ask("PUT", &format!("{}?accepts_incomplete=true", instance("a")))
        .body(wanted(SMALL).to_string());
    assert_eq!(untyped.send().await.status, 202);
}

/// A 5xx would make the platform delete what it did not get to ask for.
#[tokio::test]
async fn a_body_that_never_ends_is_the_fault_of_the_client() {
    let settings = with_server(ServerSettings {
        request_timeout: Duration::from_millis(100),
        ..ServerSettings::default()
    });
    let world = broker_with(settings).await;
    for (method, path) in [("PUT", instance("a")), ("PATCH", instance("a")), ("PUT", binding("a", "b"))] {
        let body = stream::iter([Ok::<_, std::io::Error>("{".to_owned())]).chain(stream::pending());
        let ask = world.ask(method, &path).header("content-type", "application/json");
        let answer = ask.body(Body::from_stream(body)).send().await;
        assert_eq!(answer.is(408, None).json["description"], "the body did not arrive in time");
    }
}

#[tokio::test]
async fn routes_and_methods_that_do_not_exist_are_told_so() {
    let world = broker().await;
    for prefix in ["", "/oauth", "/oauth/cf-eu10"] {
        for path in
            ["/v2", "/v2/", "/v2/nowhere", "/v2/service_instances", "/v2/service_instances/", "/v2/catalog/x"]
        {
            world.ask("GET", &format!("{prefix}{path}")).send().await.is(404, None);
        }
        for (method, path, allowed) in [
            ("POST", "/v2/catalog", "GET"),
            ("PUT", "/v2/catalog", "HEAD"),
            ("POST", "/v2/service_instances/a", "PATCH"),
            ("DELETE", "/v2/service_instances/a/last_operation", "GET"),
            ("PATCH", "/v2/service_instances/a/service_bindings/b", "DELETE"),
        ] {
            let answer = world.ask(method, &format!("{prefix}{path}")).json(&json!({})).send().await;
            answer.is(405, None);
            assert!(answer.header("allow").contains(allowed), "{method} {path}: {:?}", answer.headers);
        }
        let head = world.ask("HEAD", &format!("{prefix}/v2/catalog")).send().await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
    }
}

#[tokio::test]
async fn ids_are_any_text_that_fits_and_anything_else_is_refused() {
    let world = broker().await;
    for id in
        ["a%20b", "%C3%A4%20%E2%82%AC", "%25", "a:b;c=d", "..%00".trim_end_matches("%00"), &"x".repeat(255)]
    {
        assert_eq!(world.put(id, &wanted(SMALL)).await.status, 202, "{id}");
        world.until(id, "succeeded").await;
        assert_eq!(world.get(id).await.status, 200, "{id}");
    }
    for id in ["%00", "a%2Fb", "%0a", "%7f", "%ff", "%c3", &"x".repeat(256), &"%C3%A4".repeat(128)] {
        world.put(id, &wanted(SMALL)).await.is(400, None);
        world.get(id).await.is(400, None);
        world.ask("GET", &format!("{}/last_operation", binding("a", id))).send().await.is(400, None);
    }
    world.ask("GET", "/v2/service_instances//last_operation").send().await.is(400, None);
}

#[tokio::test]
async fn every_field_has_its_type_and_no_error_repeats_a_value() {
    let world = broker().await;
    let mut body_less = Vec::new();
    for field in ["service_id", "plan_id", "organization_guid", "space_guid"] {
        for value in [
            Value::Null,
            json!(""),
            json!(7),
            json!({}),
            json!(["hush"]),
            json!("hush\u{0}"),
            json!("h".repeat(256)),
        ] {
            body_less.push((format!("/{field}"), value));
        }
    }
    for field in ["context", "parameters", "maintenance_info"] {
        for value in [json!("hush"), json!([]), json!(7), json!(true)] {
            body_less.push((format!("/{field}"), value));
        }
    }
    for (pointer, value) in [
        ("/maintenance_info", json!({"version": 7})),
        ("/context/globalaccount_id", json!(7)),
        ("/context/subaccount_id", json!("hush\u{0}")),
        ("/context/user_id", json!("x".repeat(300))),
        ("/service_id", json!("hush")),
        ("/plan_id", json!("hush")),
        ("/parameters/name", json!(7)),
        ("/parameters/region", json!("hush")),
        ("/parameters/unknown", json!("hush")),
        ("/parameters/machineType", json!("hush")),
        ("/parameters/autoScalerMin", json!(-1)),
        ("/parameters/autoScalerMin", json!(1e300)),
        ("/parameters/autoScalerMax", json!(18_446_744_073_709_551_615_u64)),
        ("/parameters/autoScalerMin", json!(9)),
    ] {
        body_less.push((pointer.to_owned(), value));
    }
    for (pointer, value) in body_less {
        let answer = world.put("a", &with(wanted(SMALL), &[(pointer.as_str(), value.clone())])).await;
        assert_eq!(answer.status, 400, "{pointer} {value}: {}", answer.text);
        let field = pointer.split('/').nth(1).unwrap();
        assert!(answer.text.contains(field), "{pointer}: {}", answer.text);
        assert!(!answer.text.contains("hush"), "{pointer}: {}", answer.text);
    }
    world.last("a").await.is(404, None);
    for (field, value) in
        [("service_id", json!(7)), ("plan_id", json!(7)), ("plan_id", json!("hush")), ("context", json!(1))]
    {
        let body = with(json!({"service_id": SERVICE}), &[(&format!("/{field}"), value)]);
        world.patch("a", &body).await.is(400, None);
    }
    for query in [
        "",
        "service_id=s-1",
        "plan_id=p-small",
        "service_id=&plan_id=p-small",
        "service_id=x&plan_id=p-small",
    ] {
        for path in [instance("a"), binding("a", "b")] {
            world
                .ask("DELETE", &format!("{path}?{query}&accepts_incomplete=true"))
                .send()
                .await
                .is(400, None);
        }
    }
}

#[tokio::test]
async fn the_checks_come_in_their_order() {
    let world = broker().await;
    let wait = Some("AsyncRequired");
    let send = |method: &str, path: &str, body: Value| world.ask(method, path).json(&body).send();
    let (put, patch) = (instance("never"), instance("never"));
    // Fields before waiting, waiting before versions, parameters and existence.
    send("PUT", &put, json!({})).await.is(400, None);
    let odd = with(
        wanted(SMALL),
        &[("/parameters", json!({"bad": 1})), ("/maintenance_info", json!({"version": "9.9.9"}))],
    );
    send("PUT", &put, odd.clone()).await.is(422, wait);
    send("PATCH", &patch, json!({"service_id": SERVICE})).await.is(422, wait);
    let query = format!("{put}?service_id={SERVICE}&plan_id={SMALL}");
    world.ask("DELETE", &query).send().await.is(422, wait);
    for not_true in ["false", "maybe", "TRUE", "1", ""] {
        let path = format!("{put}?accepts_incomplete={not_true}&accepts_incomplete=true");
        send("PUT", &path, wanted(SMALL)).await.is(422, wait);
    }
    let conflict = Some("MaintenanceInfoConflict");
    world.put("never", &odd).await.is(422, conflict);
    let bad = with(wanted(SMALL), &[("/parameters", json!({"bad": 1}))]);
    world.put("never", &bad).await.is(400, None);
    let body = json!({"service_id": SERVICE, "plan_id": SMALL, "maintenance_info": {"version": "9.9.9"}});
    world.patch("never", &body).await.is(422, conflict);
    let body = json!({"service_id": SERVICE, "plan_id": SMALL, "parameters": {"bad": 1}});
    world.patch("never", &body).await.is(400, None);
    world.patch("never", &json!({"service_id": SERVICE})).await.is(404, None);
    // Parameters come before existence also on an instance that is there.
    world.made("a", SMALL).await;
    world.put("a", &bad).await.is(400, None);
}

#[tokio::test]
async fn the_version_of_the_maintenance_must_be_that_of_the_plan() {
    let world = broker().await;
    let conflict = Some("MaintenanceInfoConflict");
    for (plan, info, status) in [
        (SMALL, json!({"version": "1.2.3"}), 202),
        (SMALL, json!({}), 202),
        (SMALL, json!({"version": "1.2.4"}), 422),
        ("p-fixed", json!({"version": "1.2.3"}), 422),
        ("p-fixed", json!({}), 202),
    ] {
        let id = format!("{plan}-{}", info["version"].as_str().unwrap_or("none"));
        let answer = world.put(&id, &with(wanted(plan), &[("/maintenance_info", info)])).await;
        answer.is(status, conflict.filter(|_| status == 422));
    }
}

#[tokio::test]
async fn identities_are_sent_back_and_written_down() {
    let world = broker().await;
    let identity = "x-broker-api-request-identity";
    let (method, path) = ("GET", "/v2/catalog");
    for (sent, back) in [(&b"abc-1"[..], "abc-1"), (b"a\tb", "ab"), (b"with space", "with space")] {
        let answer = world.ask(method, path).header_bytes(identity, Some(sent)).send().await;
        assert_eq!(answer.header(identity), back);
    }
    let refused = world.ask(method, path).without("authorization").header(identity, "r-1").send().await;
    assert_eq!((refused.status, refused.header(identity)), (401, "r-1"));
    let made = world.ask(method, path).send().await;
    assert_eq!(made.header(identity), made.header("x-request-id"));

    let origin = "x-broker-api-originating-identity";
    let user = format!("cloudfoundry {}", STANDARD.encode(r#"{"user_id":"683ea748"}"#));
    let put = |id: &str| -> OsbRequest {
        world.ask("PUT", &format!("{}?accepts_incomplete=true", instance(id))).json(&wanted(SMALL))
    };
    assert_eq!(put("a").header(origin, &user).send().await.status, 202);
    for odd in ["", "cloudfoundry", "cloudfoundry !!!", "cloudfoundry bm90IGpzb24=", &"x".repeat(9000)] {
        assert_eq!(put("a").header(origin, odd).send().await.status / 100, 2, "{odd}");
    }
    let log = world.store.audit_log(100).await.unwrap();
    let row = log.iter().find(|row| row.who.contains("683ea748")).unwrap();
    assert_eq!(row.who, r#"cf for cloudfoundry {"user_id":"683ea748"}"#);
    assert_eq!((row.action.as_str(), row.result.as_str()), ("broker.provision", "202"));
    assert_eq!(row.target, "/v2/service_instances/a");
}

#[tokio::test]
async fn every_change_is_written_down_also_when_it_is_refused() {
    let world = broker().await;
    world.made("a", SMALL).await;
    world.patch("a", &json!({"service_id": SERVICE})).await;
    world.bind("a", "b", "", &json!({"service_id": SERVICE, "plan_id": SMALL})).await;
    world.unbind("a", "b", "").await;
    world.delete("a", "nonsense").await.is(400, None);
    let rows = world.store.audit_log(100).await.unwrap();
    let log: Vec<(String, String)> = rows.into_iter().rev().map(|row| (row.action, row.result)).collect();
    let expect = [
        ("broker.provision", "202"),
        ("broker.update", "200"),
        ("broker.bind", "201"),
        ("broker.unbind", "200"),
        ("broker.deprovision", "400"),
    ];
    assert_eq!(log, expect.map(|(action, result)| (action.to_owned(), result.to_owned())));
}

#[tokio::test]
async fn what_users_send_is_nowhere_in_the_store_in_clear() {
    let world: BrokerFixture = broker().await;
    let body = with(
        wanted(SMALL),
        &[("/parameters/name", json!("hush-name")), ("/context/token", json!("hush-token"))],
    );
    assert_eq!(world.put("a", &body).await.status, 202);
    world.until("a", "succeeded").await;
    let change = json!({"service_id": SERVICE, "parameters": {"name": "hush-again"}});
    let operation = world.patch("a", &change).await.operation().to_owned();
    world.until("a", "succeeded").await;
    let row = world.engine.resource("runtime:a").await.unwrap().unwrap();
    assert!(!row.record.contains("hush"), "{}", row.record);
    let shown = world.engine.inspect(operation.parse().unwrap()).await.unwrap().unwrap();
    assert!(!format!("{shown:?}").contains("hush"));
    assert_eq!(world.get("a").await.json["parameters"]["name"], "hush-again");
}

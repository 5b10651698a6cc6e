//! However an identity is proved, at an API or in the console: the principal is the same, and so is every answer.

use engine::secret::SecretString;
use engine::{Organisation, Role};
use serde_json::{Value, json};
use server::Principal;

use crate::routes::{ApiUnderTest, Route, judged, routes};
use crate::ways::{SignInMethod, SignInSession};
use crate::world::{AuthFixture, endpoints};

/// Each line is one identity with all the ways to prove it.
fn identities() -> Vec<Vec<SignInMethod>> {
    let own = Role::ALL.map(|role| match role {
        Role::Broker => vec![SignInMethod::Token(role), SignInMethod::TypedToken(role)],
        _ => vec![SignInMethod::Token(role), SignInMethod::TypedToken(role), SignInMethod::Password(role)],
    });
    let all = ["provisioning:*:*"];
    let claims = [
        json!({"org_id": "alpha", "groups": ["launcher"]}),
        json!({"org_id": "alpha", "groups": ["viewer"]}),
        json!({"org_id": "alpha", "groups": ["operator"]}),
        json!({"org_id": "alpha", "groups": ["admin"]}),
        json!({"org_id": "alpha", "groups": ["launcher", "viewer"]}),
        json!({"org_id": "alpha", "groups": ["admin"], "permissions": []}),
        json!({"org_id": "alpha", "groups": ["launcher"], "permissions": ["provisioning:pubkey:read"]}),
        json!({"org_id": "alpha", "permissions": all}),
        json!({"org_id": "alpha", "permissions": ["provisioning:pubkey:read"]}),
        json!({"org_id": "alpha", "permissions": []}),
        json!({"org_id": "alpha", "groups": ["strangers"]}),
        json!({"org_id": "alpha", "groups": ["red"]}),
        json!({"org_id": "alpha", "groups": ["red", "viewer"]}),
        json!({"org_id": "alpha"}),
        json!({"org_id": "a b", "groups": ["launcher"]}),
        json!({"org_id": "", "permissions": all}),
        json!({"groups": ["launcher"]}),
        json!({"groups": ["admin"]}),
        json!({"groups": ["viewer"], "permissions": all}),
        json!({}),
    ];
    let others = claims.map(|claims| {
        let mut ways = vec![
            SignInMethod::Bearer(claims.clone()),
            SignInMethod::TypedBearer(claims.clone()),
            SignInMethod::CodeFlow(claims.clone()),
        ];
        // A proxy names an organisation and permissions, and never a role.
        let is_org = claims["org_id"].as_str().is_some_and(|org| org == "alpha");
        if is_org && claims["groups"].is_null() && claims["permissions"][0].is_string() {
            ways.push(SignInMethod::Header(claims));
        }
        ways
    });
    own.into_iter().chain(others).collect()
}

async fn answers(world: &AuthFixture, session: &SignInSession, routes: &[&Route]) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    for route in routes {
        for path in route.paths(&["987654".to_owned()]) {
            let body = json!({});
            let body = route.has_body().then_some(&body);
            let reply = session.call(world, &route.method, &path, body).await;
            answers.push(judged(reply.status, &reply.json));
        }
    }
    answers
}

#[tokio::test]
async fn every_proof_of_an_identity_gives_the_same_answer_at_every_route() {
    let world = AuthFixture::new().await;
    let routes = routes();
    let mut cases = 0;
    for ways in identities() {
        let first = ways[0].enter(&world).await.ok().unwrap();
        let all: Vec<&Route> = routes.iter().collect();
        let expected = answers(&world, &first, &all).await;
        for way in &ways[1..] {
            let entered = way.enter(&world).await;
            let Ok(session) = entered else {
                has_nothing_to_look_at(&all, &expected, way);
                continue;
            };
            // The header of a proxy counts at the launch API alone.
            let is_seen =
                |route: &Route| !matches!(way, SignInMethod::Header(_)) || route.api == ApiUnderTest::Launch;
            let seen: Vec<&Route> = routes.iter().filter(|route| is_seen(route)).collect();
            let found = answers(&world, &session, &seen).await;
            let expected = all.iter().zip(&expected).filter(|(route, _)| is_seen(route));
            for ((route, expected), found) in expected.zip(&found) {
                let what = format!("{} {}", route.method, route.template);
                assert_eq!(found, expected, "{what}: {way:?} differs from {:?}", ways[0]);
            }
            cases += found.len() as u64;
        }
    }
    assert!(cases > 3000, "{cases}");
    testing::count("authorisation", cases);
}

/// Whom the console lets in by no way, the APIs let in nowhere but at the service broker.
fn has_nothing_to_look_at(routes: &[&Route], answers: &[(u16, String)], way: &SignInMethod) {
    for (route, (status, _)) in routes.iter().zip(answers) {
        let is_open = answers_everybody(route);
        let is_refused = [401, 403].contains(status);
        assert!(is_open || is_refused || route.api == ApiUnderTest::Broker, "{way:?} {route:?}: {status}");
    }
}

fn answers_everybody(route: &Route) -> bool {
    let path = route.template.strip_prefix(::launch::api::BASE).filter(|_| route.api == ApiUnderTest::Launch);
    if let Some(path) = path {
        use ::launch::api::rights::{Needs, RIGHTS};
        return RIGHTS.iter().any(|right| {
            right.path == path
                && right.method.as_str() == route.method
                && matches!(right.needs, Needs::Nothing | Needs::Signature)
        });
    }
    let products = endpoints(None);
    let rights = products.iter().flat_map(|product| product.rights());
    server::rights::RIGHTS.iter().chain(rights).any(|right| {
        use server::rights::Needs;
        right.path == route.template && matches!(right.needs, Needs::Nothing | Needs::ReadUnlessPublic)
    })
}

#[tokio::test]
async fn every_proof_of_an_identity_makes_the_same_principal() {
    let world = AuthFixture::new().await;
    let mut cases = 0;
    for ways in identities() {
        let mut expected: Option<Principal> = match &ways[0] {
            SignInMethod::Token(role) => Some(principal_of(&world, world.token(*role)).await),
            SignInMethod::Bearer(claims) => {
                Some(principal_of(&world, &world.issuer.sign(claims, world.now(), 300)).await)
            }
            _ => None,
        };
        let expected = expected.as_mut().unwrap();
        for way in &ways {
            let Ok(SignInSession::Console(_, found)) = way.enter(&world).await else { continue };
            expected.proof = found.proof.clone();
            assert_eq!(*found, *expected, "{way:?}");
            cases += 1;
        }
        let is_own = matches!(ways[0], SignInMethod::Token(_));
        assert_eq!(is_own, expected.organisation == Organisation::Server, "{:?}", ways[0]);
    }
    assert!(cases > 35, "{cases}");
    testing::count("authorisation", cases);
}

async fn principal_of(world: &AuthFixture, token: &str) -> Principal {
    world.inside.principal_of(&SecretString::from(token)).await.unwrap()
}

#[tokio::test]
async fn the_header_of_a_proxy_opens_no_session_of_the_console() {
    let world = AuthFixture::new().await;
    let claims: Value = json!({"org_id": "alpha", "permissions": ["provisioning:*:*"]});
    let Ok(SignInSession::Headers(headers)) = SignInMethod::Header(claims).enter(&world).await else {
        panic!()
    };
    let request = crate::world::request("GET", "/console/launches", None, &headers);
    let answer = tower::ServiceExt::oneshot(world.console.clone(), request).await.unwrap();
    assert_eq!(answer.status(), 303);
}

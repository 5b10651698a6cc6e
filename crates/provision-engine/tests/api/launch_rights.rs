//! Who gets in at the launch API, and what they find.

use std::sync::atomic::Ordering;

use ::launch::api::rights::{LaunchRight, Needs, RIGHTS, Verb};
use engine::{AccessStore, Role};
use serde_json::json;

use crate::launch_world::{
    LaunchFixture, LaunchRequestBuilder, LaunchResponse, ORG, PROXY, identity, launch_world,
    launch_world_with, signed,
};
use crate::world::settings;

/// A path of the template that leads to nothing that exists.
fn path(template: &str) -> String {
    template
        .replace("{id}", "987654")
        .replace("{ID}", "987654")
        .replace("{PROVIDER}", "aws")
        .replace("{SRV}", "rbac")
        .replace("{FLAG}", "provisioning.launch")
        .replace("{name}", "centos-9")
}

/// All routes but those whose callers prove themselves by a signature, no matter which client they are.
fn routes() -> impl Iterator<Item = &'static LaunchRight> {
    RIGHTS.iter().filter(|right| right.needs != Needs::Signature)
}

fn launch_request(world: &LaunchFixture, right: &LaunchRight) -> LaunchRequestBuilder {
    let launch_request = world.launch_request(right.method.as_str(), &path(right.path));
    if right.method == "POST" { launch_request.json(&json!({})) } else { launch_request }
}

/// What the table says, worked out once more by other means.
fn is_granted(right: &LaunchRight, permissions: &[&str]) -> bool {
    let covers = |resource: &str, verb: Verb| {
        permissions.iter().any(|text| {
            let parts: Vec<&str> = text.split(':').collect();
            let verbs = match verb {
                Verb::Read => vec!["read", "*"],
                Verb::Write => vec!["write", "*"],
                Verb::Control => vec!["control", "write", "*"],
            };
            parts[0] == "provisioning" && [resource, "*"].contains(&parts[1]) && verbs.contains(&parts[2])
        })
    };
    match right.needs {
        Needs::Nothing | Needs::Signature | Needs::Identity => true,
        Needs::May(resource, verb) | Needs::OursMay(resource, verb) => covers(resource, verb),
        Needs::MayLaunch(verb) => {
            let provider = right.path.strip_prefix("/reservations/").and_then(|path| path.split('/').next());
            let provider = provider.filter(|provider| !provider.starts_with('{'));
            let may = |provider: &str| covers(&format!("reservation.{provider}"), verb);
            covers("reservation", verb) && provider.is_none_or(may)
        }
    }
}

/// The same for a user who comes without a token of ours.
fn is_granted_outside(right: &LaunchRight, permissions: &[&str]) -> bool {
    !matches!(right.needs, Needs::OursMay(..)) && is_granted(right, permissions)
}

#[track_caller]
fn judge(reply: &LaunchResponse, right: &LaunchRight, is_granted: bool, who: &str) {
    let what = format!("{} {} as {who}: {} {}", right.method, right.path, reply.status, reply.text);
    if is_granted {
        assert!(![401, 403].contains(&reply.status), "{what}");
        assert!(!reply.text.starts_with("Bad Request: "), "{what}");
    } else {
        assert_eq!((reply.status, reply.json["code"].as_str()), (403, Some("forbidden")), "{what}");
    }
}

#[tokio::test]
async fn no_one_gets_in_without_showing_who_they_are() {
    let world = launch_world().await;
    world.rbac.grant("ann", &["provisioning:*:*"]);
    let nonsense = format!("pe_{}", "A".repeat(43));
    for right in routes().filter(|right| right.needs != Needs::Nothing) {
        let what = format!("{} {}", right.method, right.path);
        let nothing = launch_request(&world, right).send().await.is(401, "unauthenticated");
        assert_eq!(nothing.header("www-authenticate"), "Bearer realm=\"provision-engine\"", "{what}");
        let forged = launch_request(&world, right).header("x-rh-identity", identity(ORG, "ann"));
        forged.send().await.is(401, "unauthenticated");
        for bad in [&nonsense, "nonsense", ""] {
            let reply = launch_request(&world, right).bearer(bad).send().await.is(401, "unauthenticated");
            assert!(reply.header("www-authenticate").contains("invalid_token"), "{what}");
        }
        let silent = launch_request(&world, right).from(PROXY).send().await;
        assert_eq!(silent.status, 400, "{what}");
        assert!(silent.text.starts_with("Bad Request: "), "{what}: {}", silent.text);
    }
    assert_eq!(world.rbac.asked.load(Ordering::SeqCst), 0, "RBAC is not asked about unknown callers");
}

#[tokio::test]
async fn some_routes_ask_no_one_who_they_are() {
    let world = launch_world().await;
    for right in routes().filter(|right| right.needs == Needs::Nothing) {
        assert_eq!(launch_request(&world, right).send().await.status, 200, "{} {}", right.method, right.path);
    }
}

#[tokio::test]
async fn every_route_lets_in_who_has_its_permission_and_no_one_else() {
    let world = launch_world().await;
    let one_each = routes().filter_map(|right| match right.needs {
        Needs::May(resource, verb) => Some(format!("provisioning:{resource}:{}", verb.as_str())),
        _ => None,
    });
    let mut grants: Vec<Vec<String>> = one_each.map(|text| vec![text]).collect();
    let more = [
        "",
        "provisioning:*:*",
        "provisioning:*:read",
        "provisioning:*:write",
        "provisioning:reservation:write provisioning:reservation.aws:write",
        "provisioning:reservation:write provisioning:reservation.gcp:write",
        "provisioning:reservation:control",
        "inventory:*:*",
        "provisioning:pubkeys:read",
    ];
    grants.extend(more.map(|texts| texts.split_ascii_whitespace().map(str::to_owned).collect()));
    for (number, granted) in grants.iter().enumerate() {
        let granted: Vec<&str> = granted.iter().map(String::as_str).collect();
        let user = format!("user-{number}");
        world.rbac.grant(&user, &granted);
        for right in routes() {
            let reply = launch_request(&world, right).as_user(ORG, &user).send().await;
            judge(&reply, right, is_granted_outside(right, &granted), &format!("{user} with {granted:?}"));
        }
    }
}

#[tokio::test]
async fn our_own_tokens_may_do_what_their_role_is_worth() {
    let world = launch_world().await;
    for (role, worth) in [
        (Role::Limited, None),
        (Role::Broker, None),
        (Role::Launcher, Some(vec!["provisioning:*:*"])),
        (Role::Reader, Some(vec!["provisioning:*:read"])),
        (Role::Operator, Some(vec!["provisioning:*:read", "provisioning:*:control"])),
        (Role::Admin, Some(vec!["provisioning:*:*"])),
    ] {
        for right in routes() {
            let reply = launch_request(&world, right).bearer(world.token(role)).send().await;
            let is_open = right.needs == Needs::Nothing;
            let may = worth.as_ref().map_or(is_open, |worth| is_granted(right, worth));
            judge(&reply, right, may, role.as_str());
        }
    }
}

#[tokio::test]
async fn a_token_of_an_issuer_brings_its_organisation_and_its_permissions() {
    let world = launch_world().await;
    let full: &[&str] = &["provisioning:*:*"];
    for (claims, worth) in [
        (
            json!({"org": "77", "permissions": ["provisioning:pubkey:read"]}),
            Some(&["provisioning:pubkey:read"][..]),
        ),
        (json!({"org": "77", "permissions": full, "roles": ["reader"]}), Some(full)),
        (json!({"org": "77", "permissions": [], "roles": ["admin"]}), None),
        (json!({"org": "77", "roles": ["launcher", "reader"]}), Some(full)),
        (json!({"org": "77", "roles": ["reader"]}), Some(&["provisioning:*:read"])),
        (json!({"org": "77", "roles": ["broker"]}), None),
        (json!({"org": "77"}), None),
        (json!({"permissions": full}), None),
        (json!({"org": "a:b", "permissions": full}), None),
        (json!({"org": "", "roles": ["launcher"]}), None),
    ] {
        for right in routes() {
            let reply = launch_request(&world, right).bearer(&signed(&claims)).send().await;
            let is_open = right.needs == Needs::Nothing;
            let may = worth.map_or(is_open, |worth| is_granted_outside(right, worth));
            judge(&reply, right, may, &claims.to_string());
        }
    }
}

#[tokio::test]
async fn without_anyone_to_ask_a_header_is_worth_what_the_settings_say() {
    for texts in [&[][..], &["provisioning:*:read"]] {
        let permission = |text: &&str| ::api::Permission::parse(text);
        let world = launch_world_with(settings(), |api_parts| {
            api_parts.rbac = None;
            api_parts.header_permissions = texts.iter().filter_map(permission).collect();
        })
        .await;
        for right in routes() {
            let reply = launch_request(&world, right).as_user(ORG, "ann").send().await;
            judge(&reply, right, is_granted_outside(right, texts), &format!("ann with {texts:?}"));
        }
    }
}

#[tokio::test]
async fn an_organisation_finds_what_is_its_own_and_nothing_else() {
    let world = launch_world().await;
    world.rbac.grant("ann", &["provisioning:*:*"]);
    let key = json!({"name": "k", "body": KEY});
    let made = world.launch_request("POST", "/pubkeys").as_user("1", "ann").json(&key).send().await.is_ok();
    let pubkey = format!("/pubkeys/{}", made.json["id"]);
    let role = json!({"name": "s", "provider": "aws", "arn": "arn:aws:iam::123456789012:role/launcher"});
    let made = world.launch_request("POST", "/sources").as_user("1", "ann").json(&role).send().await;
    assert_eq!(made.status, 201, "{}", made.text);
    let source = format!("/sources/{}", made.json["id"].as_str().unwrap());
    let paths = [&pubkey, &source, &format!("{source}/status"), &format!("{source}/upload_info")];
    for path in paths {
        world.launch_request("GET", path).as_user("1", "ann").send().await.is_ok();
        world.launch_request("GET", path).as_user("2", "ann").send().await.is(404, "not_found");
        let admin = || world.launch_request("GET", path).bearer(world.token(Role::Admin));
        admin().send().await.is(404, "not_found");
        admin().header("x-org-id", "1").send().await.is_ok();
        let launcher =
            world.launch_request("GET", path).bearer(world.token(Role::Launcher)).header("x-org-id", "1");
        launcher.send().await.is(403, "forbidden");
    }
    for (list, own) in [("/pubkeys", 1), ("/sources", 4)] {
        let count = async |org: &str| {
            let reply = world.launch_request("GET", list).as_user(org, "ann").send().await.is_ok();
            reply.json["data"].as_array().unwrap().len()
        };
        assert_eq!((count("1").await, count("2").await), (own, own - 1), "{list}");
    }
    world.engine.start(None).await.unwrap();
    for path in [&pubkey, &source] {
        world.launch_request("DELETE", path).as_user("2", "ann").send().await.is(404, "not_found");
        assert_eq!(world.launch_request("DELETE", path).as_user("1", "ann").send().await.status, 204);
        world.launch_request("DELETE", path).as_user("1", "ann").send().await.is(404, "not_found");
    }
}

/// The private half of it was never saved.
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPPEx6w7/lJ+pCpC+1KebnLCSkUBdxig0C67vVby4Vi6 ann@example.com";

#[tokio::test]
async fn every_change_leaves_a_row_and_so_does_every_error() {
    let world = launch_world().await;
    world.rbac.grant("ann", &["provisioning:*:*"]);
    world.rbac.grant("ben", &["provisioning:*:read"]);
    let key = json!({"name": "k", "body": KEY});
    let post = || world.launch_request("POST", "/pubkeys").json(&key);
    post().as_user("1", "ben").header("x-request-id", "r-1").send().await.is(403, "forbidden");
    let id = post().as_user("1", "ann").send().await.is_ok().json["id"].clone();
    post().as_user("1", "ann").send().await.is(422, "duplicate_pubkey");
    post().send().await.is(401, "unauthenticated");
    world.engine.start(None).await.unwrap();
    world.launch_request("DELETE", &format!("/pubkeys/{id}")).as_user("1", "ann").send().await;
    world.launch_request("GET", "/pubkeys").as_user("1", "ann").send().await.is_ok();
    let rows = world.store.audit_log(100).await.unwrap();
    assert_eq!(rows.last().unwrap().request, "r-1");
    let told: Vec<String> = rows
        .iter()
        .rev()
        .map(|row| format!("{} {} {} {}", row.who, row.action, row.target, row.result))
        .collect();
    let base = ::launch::api::BASE;
    assert_eq!(
        told,
        [
            format!("org:1/ben pubkey.create {base}/pubkeys 403 forbidden"),
            format!("org:1/ann pubkey.create {base}/pubkeys/{id} 200"),
            format!("org:1/ann pubkey.create {base}/pubkeys 422 duplicate_pubkey"),
            format!("org:1/ann pubkey.delete {base}/pubkeys/{id} 204"),
        ]
    );
}

#[tokio::test]
async fn a_launcher_gets_in_at_no_other_api_but_to_change_its_own_password() {
    let world = launch_world().await;
    for right in crate::world::all_rights() {
        if !matches!(right.needs, server::rights::Needs::Can(_) | server::rights::Needs::CanWithSome(_))
            || right.path == "/me/password"
        {
            continue;
        }
        let path = path(right.path).replace("{name}", "n").replace("{key}", "k");
        let request = axum::http::Request::builder().method(right.method.clone()).uri(path);
        let request = request.header("authorization", format!("Bearer {}", world.token(Role::Launcher)));
        let request = request.body(axum::body::Body::empty()).unwrap();
        let answer = tower::ServiceExt::oneshot(world.router.clone(), request).await.unwrap();
        assert_eq!(answer.status(), 403, "{} {}", right.method, right.path);
    }
}

//! Two organisations: neither ever sees or changes what belongs to the other, at any route and on any page.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::launch::api::BASE;
use engine::Role;
use engine::store::OperationQuery;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::page::{PageForm, forms, links};
use crate::routes::routes;
use crate::ways::{SignInMethod, SignInSession};
use crate::world::{AuthFixture, Reply};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPZPsG8crzYvNzP/Y4oJxlnKPqP3HLQPLhyMGbmJv9vR alphas";
/// More pages than the console has; a crawl that finds more goes round in circles.
const PAGES_MAX: usize = 300;
/// These act on the session of the user and on nothing else.
const OWN_SESSION: [&str; 3] = ["/console/sign-out", "/console/me", "/console/theme"];

/// What alpha has, by names that only alpha may read.
struct Alpha {
    claims: Value,
    /// Ids of everything, for any place where an id may stand.
    ids: Vec<String>,
    /// Texts that are in the answers about alpha's things and nowhere else.
    secrets: Vec<String>,
    /// Requests that use alpha's things.
    bodies: Vec<Value>,
}

async fn alpha(world: &AuthFixture) -> Alpha {
    world.engine.start(None).await.unwrap();
    let delay_times = json!({"running_ms": 20, "address_ms": 20, "terminate_ms": 20});
    let http = reqwest::Client::new();
    http.put(format!("{}/aws/pace", world.sandbox.url())).json(&delay_times).send().await.unwrap();
    let claims = json!({"sub": "alice", "org_id": "alpha", "groups": ["launcher"]});
    let session = SignInMethod::Bearer(claims.clone()).enter(world).await.ok().unwrap();
    let post = async |path: &str, body: &Value| -> Value {
        let made = session.call(world, "POST", &format!("{BASE}{path}"), Some(body)).await;
        assert!((200..300).contains(&made.status), "{path}: {} {}", made.status, made.text);
        made.json
    };
    let key = post("/pubkeys", &json!({"name": "key-of-alpha", "body": KEY})).await;
    let arn = "arn:aws:iam::123456789012:role/launcher-of-alpha";
    let source = post("/sources", &json!({"name": "source-of-alpha", "provider": "aws", "arn": arn})).await;
    let image = json!({"id": "ami-0abc0000000000001"});
    let parameters = |source: &Value| json!({"source_id": source, "instance_type": "t3.small", "amount": 1, "pubkey_id": key["id"]});
    let launch = json!({"provider": "aws", "image": image, "parameters": parameters(&json!("sandbox"))});
    let launch = post("/launches", &launch).await;
    let launch = ended(world, &session, launch["id"].as_str().unwrap()).await;
    let instance = launch["instances"][0]["instance_id"].as_str().unwrap().to_owned();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let operations =
        world.engine.list(&OperationQuery { limit: 100, ..OperationQuery::default() }).await.unwrap();
    let mut ids = vec![text(&key["id"]), text(&source["id"]), text(&launch["id"]), instance.clone()];
    ids.push(text(&launch["reservation_id"]));
    ids.extend(operations.iter().map(|one| one.id.to_string()));
    let image = json!({"id": "ami-0abc0000000000001"});
    let bodies = vec![
        json!({"provider": "aws", "image": image, "parameters": parameters(&source["id"])}),
        json!({"provider": "aws", "image": image, "parameters": parameters(&json!("sandbox"))}),
        parameters(&source["id"]),
        json!({"source_id": source["id"]}),
        json!({"name": "stolen", "source_id": source["id"], "pubkey_id": key["id"], "amount": 1,
               "image_id": "ami-0abc0000000000001", "instance_type": "t3.small", "region": "us-east-1"}),
    ];
    let named = ["key-of-alpha", "source-of-alpha", "launcher-of-alpha", "alphas"].map(str::to_owned);
    let address = text(&launch["instances"][0]["detail"]["public_ipv4"]);
    let secrets = named.into_iter().chain([instance, address, text(&launch["id"])]).collect();
    Alpha { claims, ids, secrets, bodies }
}

async fn ended(world: &AuthFixture, session: &SignInSession, id: &str) -> Value {
    for _ in 0..2000 {
        let seen = session.call(world, "GET", &format!("{BASE}/launches/{id}"), None).await.json;
        if seen["is_over"] == true {
            assert_eq!(seen["state"], "succeeded", "{seen}");
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{id} is not over");
}

impl Alpha {
    /// What the caller put into the request is no secret to it; everything else of alpha is.
    #[track_caller]
    fn is_hidden(&self, reply: &Reply, request: &str, by: &SignInMethod) {
        for secret in self.secrets.iter().filter(|secret| !request.contains(*secret)) {
            assert!(!reply.text.contains(secret), "{request} by {by:?}: {} {}", reply.status, reply.text);
        }
    }

    /// Everything that alpha reads about its things, and what stands in its cloud.
    async fn picture(&self, world: &AuthFixture) -> BTreeMap<String, String> {
        let session = SignInMethod::Bearer(self.claims.clone()).enter(world).await.ok().unwrap();
        let mut picture = BTreeMap::new();
        for route in routes().iter().filter(|route| route.method == "GET") {
            for path in route.paths(&self.ids) {
                let reply = session.call(world, "GET", &path, None).await;
                if path.starts_with(BASE) && reply.status == 200 {
                    picture.insert(path, without_times(&reply.text));
                }
            }
        }
        let ledger = reqwest::get(format!("{}/ledger/summary", world.sandbox.url())).await.unwrap();
        let ledger: Value = ledger.json().await.unwrap();
        for kind in ["ec2/instance", "ec2/key_pair"] {
            picture.insert(kind.to_owned(), ledger[kind]["standing"].to_string());
        }
        picture
    }
}

/// When a machine was last looked at is no change.
fn without_times(text: &str) -> String {
    let parts = text.split("\"checked_at\":\"");
    let rest = parts.enumerate().map(|(n, part)| if n == 0 { part } else { part.split_once('"').unwrap().1 });
    rest.collect()
}

#[track_caller]
fn is_unchanged(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>, by: &SignInMethod) {
    for path in before.keys().chain(after.keys()) {
        assert_eq!(after.get(path), before.get(path), "{path} was changed by {by:?}");
    }
}

/// Everybody who is not of alpha and runs no server.
fn others() -> Vec<SignInMethod> {
    let beta = json!({"sub": "bob", "org_id": "beta", "groups": ["launcher"]});
    let granted = json!({"sub": "ben", "org_id": "beta", "permissions": ["provisioning:*:*"]});
    let nowhere = json!({"sub": "nell", "groups": ["launcher"]});
    vec![
        SignInMethod::Bearer(beta.clone()),
        SignInMethod::Bearer(granted.clone()),
        SignInMethod::Bearer(nowhere.clone()),
        SignInMethod::Header(granted.clone()),
        SignInMethod::Token(Role::Launcher),
        SignInMethod::TypedBearer(beta.clone()),
        SignInMethod::TypedBearer(granted.clone()),
        SignInMethod::TypedBearer(nowhere.clone()),
        SignInMethod::CodeFlow(beta),
        SignInMethod::CodeFlow(granted),
        SignInMethod::CodeFlow(nowhere),
        SignInMethod::TypedToken(Role::Launcher),
        SignInMethod::Password(Role::Launcher),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_shows_or_changes_what_belongs_to_another_organisation() {
    let world = AuthFixture::new().await;
    let alpha = alpha(&world).await;
    let before = alpha.picture(&world).await;
    assert!(before.len() > 12, "{:?}", before.keys());
    let mut cases = 0;
    for way in others() {
        let session = way.enter(&world).await.ok().unwrap();
        for route in routes() {
            let bodies: Vec<Option<&Value>> =
                if route.has_body() { alpha.bodies.iter().map(Some).collect() } else { vec![None] };
            for path in route.paths(&alpha.ids) {
                for body in &bodies {
                    let reply = session.call(&world, &route.method, &path, *body).await;
                    let sent = body.map(ToString::to_string).unwrap_or_default();
                    alpha.is_hidden(&reply, &format!("{} {path} {sent}", route.method), &way);
                    cases += 1;
                }
            }
        }
        is_unchanged(&before, &alpha.picture(&world).await, &way);
    }
    assert!(cases > 5000, "{cases}");
    testing::count("authorisation", cases);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_shows_or_changes_what_belongs_to_another_organisation() {
    let world = AuthFixture::new().await;
    let alpha = alpha(&world).await;
    let Ok(SignInSession::Console(mut browser, _)) =
        SignInMethod::CodeFlow(alpha.claims.clone()).enter(&world).await
    else {
        panic!("alpha cannot sign in");
    };
    let (pages, forms) = crawl(&mut browser).await;
    let shows = |secret: &String| pages.values().any(|text| text.contains(secret));
    assert!(alpha.secrets.iter().filter(|secret| shows(secret)).count() >= 4, "alpha sees its own things");
    let actions = forms.iter().filter(|form| form.action.contains(&alpha.ids[2])).count();
    assert!(actions >= 1, "alpha can act on its launch: {forms:?}");
    let before = alpha.picture(&world).await;
    let mut cases = 0;
    for way in others() {
        let Ok(SignInSession::Console(mut browser, _)) = way.enter(&world).await else { continue };
        for path in pages.keys() {
            let reply = browser.get(path).await;
            alpha.is_hidden(&reply, path, &way);
            cases += 1;
        }
        for form in &forms {
            let reply = browser.post(&form.action, &form.fields).await;
            alpha.is_hidden(&reply, &format!("{} {:?}", form.action, form.fields), &way);
            cases += 1;
        }
        is_unchanged(&before, &alpha.picture(&world).await, &way);
    }
    assert!(cases > 100, "{cases}");
    testing::count("authorisation", cases);
}

/// Every page that can be reached by links, with its text, and every form on them.
async fn crawl(browser: &mut Browser) -> (BTreeMap<String, String>, BTreeSet<PageForm>) {
    let (mut pages, mut all) = (BTreeMap::new(), BTreeSet::new());
    let mut open = vec!["/console/launches".to_owned()];
    while let Some(path) = open.pop() {
        if pages.contains_key(&path) || path.starts_with("/console/assets") {
            continue;
        }
        let reply = browser.get(&path).await;
        open.extend(links(&reply.text));
        let is_action =
            |form: &PageForm| form.is_post && !OWN_SESSION.iter().any(|own| form.action.starts_with(own));
        all.extend(forms(&reply.text).into_iter().filter(is_action).map(|mut form| {
            form.fields.retain(|(name, _)| name != "_csrf");
            form
        }));
        pages.insert(path, reply.text);
        assert!(pages.len() <= PAGES_MAX, "{:?}", pages.keys());
    }
    (pages, all)
}

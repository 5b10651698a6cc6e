//! The ways to prove one identity, at the APIs and in the console.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::{PeopleStore, Role};
use serde_json::{Value, json};
use server::Principal;
use sha2::{Digest, Sha256};

use crate::browser::Browser;
use crate::world::{AuthFixture, PASSWORD, Reply, request};

#[derive(Debug, Clone)]
pub(crate) enum SignInMethod {
    /// A token of this server, sent to the APIs.
    Token(Role),
    /// The same, typed into the console.
    TypedToken(Role),
    /// A password, typed into the console.
    Password(Role),
    /// A bearer token of the issuer with these claims, sent to the APIs.
    Bearer(Value),
    /// The same, typed into the console.
    TypedBearer(Value),
    /// A sign-in at the issuer, which says these claims.
    CodeFlow(Value),
    /// The header of a proxy that says the same as these claims.
    Header(Value),
}

/// An authenticated way: how requests are made by it.
pub(crate) enum SignInSession {
    Headers(Vec<(&'static str, String)>),
    Console(Box<Browser>, Box<Principal>),
}

impl SignInMethod {
    /// Proves the identity for real. The reply is that of a console without this way to sign in.
    pub(crate) async fn enter(&self, world: &AuthFixture) -> Result<SignInSession, Reply> {
        let mut browser = world.browser();
        let entered = match self {
            SignInMethod::Token(role) => return Ok(SignInSession::Headers(vec![world.bearer(*role)])),
            SignInMethod::Bearer(claims) => {
                let token = world.issuer.sign(claims, world.now(), 300);
                return Ok(SignInSession::Headers(vec![("authorization", format!("Bearer {token}"))]));
            }
            SignInMethod::Header(claims) => {
                return Ok(SignInSession::Headers(vec![("x-rh-identity", header(world, claims))]));
            }
            SignInMethod::TypedToken(role) => browser.with_token(world.token(*role)).await,
            SignInMethod::Password(role) => browser.with_password(role.as_str(), PASSWORD).await,
            SignInMethod::TypedBearer(claims) => {
                browser.with_token(&world.issuer.sign(claims, world.now(), 300)).await
            }
            SignInMethod::CodeFlow(claims) => browser.with_code_flow(world, claims).await,
        };
        let Some(secret) = browser.session() else { return Err(entered) };
        let row = world.store.find_session(&digest(secret)).await.unwrap().unwrap();
        let principal = world.inside.resume(&row).await.unwrap().unwrap();
        Ok(SignInSession::Console(Box::new(browser), Box::new(principal)))
    }
}

/// What the server keeps of what a browser holds.
fn digest(secret: &str) -> String {
    Sha256::digest(secret).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// With the permissions of the claims at the service that knows them.
fn header(world: &AuthFixture, claims: &Value) -> String {
    let org = claims["org_id"].as_str().unwrap();
    let permissions: Vec<String> = serde_json::from_value(claims["permissions"].clone()).unwrap();
    let user = format!("user of {org} with {}", permissions.join(" "));
    world.rbac.grant(&user, &permissions);
    let identity = json!({"type": "User", "org_id": org, "user": {"username": user}});
    STANDARD.encode(json!({"identity": identity}).to_string())
}

impl SignInSession {
    /// What an API answers to this request, over the wire or from inside, as the console asks it.
    pub(crate) async fn call(
        &self,
        world: &AuthFixture,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Reply {
        match self {
            SignInSession::Headers(headers) => world.call(method, path, body, headers).await,
            SignInSession::Console(_, principal) => {
                Reply::read(world.inside.call(principal, request(method, path, body, &[])).await).await
            }
        }
    }
}

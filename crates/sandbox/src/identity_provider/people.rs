//! Who can sign in: a client of each role, and a client of none.

use axum::Json;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Where API tokens act too unless configured otherwise, so that people see what these launch.
const ORGANISATION: &str = "default";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct TestUser {
    pub(super) name: &'static str,
    pub(super) full_name: &'static str,
    pub(super) group: Option<&'static str>,
}

const fn test_user(name: &'static str, full_name: &'static str, group: Option<&'static str>) -> TestUser {
    TestUser { name, full_name, group }
}

pub(super) const PEOPLE: [TestUser; 5] = [
    test_user("ann", "Ann", Some("admin")),
    test_user("olaf", "Olaf", Some("operator")),
    test_user("vera", "Vera", Some("viewer")),
    test_user("lena", "Lena", Some("launcher")),
    test_user("noel", "Noel", None),
];

impl TestUser {
    pub(super) fn find(name: &str) -> Option<TestUser> {
        PEOPLE.into_iter().find(|test_user| test_user.name == name)
    }

    /// What a client hears that asked for these scopes.
    pub(super) fn claims(self, scopes: &[String]) -> Map<String, Value> {
        let has = |scope: &str| scopes.iter().any(|asked| asked == scope);
        let mut claims = Map::new();
        claims.insert("sub".into(), json!(self.name));
        if has("profile") {
            claims.insert("name".into(), json!(self.full_name));
            claims.insert("preferred_username".into(), json!(self.name));
        }
        if has("email") {
            claims.insert("email".into(), json!(format!("{}@sandbox.example.com", self.name)));
        }
        if has("groups") {
            claims.insert("groups".into(), json!(Vec::from_iter(self.group)));
        }
        if self.group.is_some() {
            claims.insert("org_id".into(), json!(ORGANISATION));
        }
        claims
    }
}

pub(super) async fn list() -> Json<Value> {
    Json(json!({"people": PEOPLE}))
}

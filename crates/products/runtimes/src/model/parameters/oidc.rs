//! Who may sign in to a cluster: one issuer that is laid over the default one, or a list that takes its place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// In a change: takes away what is there.
const CLEAR: &str = "-";
const ALGORITHMS: [&str; 9] =
    ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"];

/// Either form of the parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Oidc {
    /// Exactly these; none of them if it is empty.
    List { list: Vec<OidcConfig> },
    /// What is empty is taken from the default.
    Object(OidcConfig),
}

/// One issuer. What is empty was not given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OidcConfig {
    #[serde(rename = "clientID")]
    pub client_id: String,
    #[serde(rename = "issuerURL")]
    pub issuer_url: String,
    #[serde(rename = "groupsClaim")]
    pub groups_claim: Option<String>,
    #[serde(rename = "groupsPrefix")]
    pub groups_prefix: Option<String>,
    #[serde(rename = "usernameClaim")]
    pub username_claim: Option<String>,
    #[serde(rename = "usernamePrefix")]
    pub username_prefix: Option<String>,
    #[serde(rename = "signingAlgs")]
    pub signing_algs: Option<Vec<String>>,
    /// Each as `claim=value`.
    #[serde(rename = "requiredClaims")]
    pub required_claims: Option<Vec<String>>,
    /// A JSON Web Key Set in base64.
    #[serde(rename = "encodedJwksArray")]
    pub encoded_jwks_array: Option<String>,
}

impl Oidc {
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Oidc::Object(config) if config.is_empty() => Ok(()),
            Oidc::Object(config) => config.check("parameters.oidc", true),
            Oidc::List { list } => list
                .iter()
                .enumerate()
                .try_for_each(|(at, config)| config.check(&format!("parameters.oidc.list.{at}"), false)),
        }
    }

    /// The issuers of the cluster, where this one is the default.
    pub fn issuers(&self, default: &OidcConfig) -> Vec<OidcConfig> {
        match self {
            Oidc::List { list } => list.iter().map(OidcConfig::cleared).collect(),
            Oidc::Object(config) => vec![config.over(default)],
        }
    }
}

impl OidcConfig {
    pub fn is_empty(&self) -> bool {
        *self == OidcConfig::default() || self.cleared() == OidcConfig::default()
    }

    /// With the fields of another one where this has none.
    #[must_use]
    pub fn over(&self, other: &OidcConfig) -> OidcConfig {
        let new = self.cleared();
        let text = |new: String, old: &String| if new.is_empty() { old.clone() } else { new };
        // What is cleared stays empty; what is absent is taken over.
        let claims = if self.required_claims.as_deref() == Some(&[CLEAR.to_owned()]) {
            None
        } else {
            new.required_claims.or_else(|| other.required_claims.clone())
        };
        let keys = if self.encoded_jwks_array.as_deref() == Some(CLEAR) {
            None
        } else {
            new.encoded_jwks_array.or_else(|| other.encoded_jwks_array.clone())
        };
        OidcConfig {
            client_id: text(new.client_id, &other.client_id),
            issuer_url: text(new.issuer_url, &other.issuer_url),
            groups_claim: new.groups_claim.or_else(|| other.groups_claim.clone()),
            groups_prefix: new.groups_prefix.or_else(|| other.groups_prefix.clone()),
            username_claim: new.username_claim.or_else(|| other.username_claim.clone()),
            username_prefix: new.username_prefix.or_else(|| other.username_prefix.clone()),
            signing_algs: new.signing_algs.or_else(|| other.signing_algs.clone()),
            required_claims: claims,
            encoded_jwks_array: keys,
        }
    }

    /// Without what is empty, and without what only clears.
    fn cleared(&self) -> OidcConfig {
        let text = |value: &Option<String>| value.clone().filter(|text| !text.is_empty());
        let list = |value: &Option<Vec<String>>| value.clone().filter(|list| !list.is_empty());
        OidcConfig {
            client_id: self.client_id.clone(),
            issuer_url: self.issuer_url.clone(),
            groups_claim: text(&self.groups_claim),
            groups_prefix: text(&self.groups_prefix),
            username_claim: text(&self.username_claim),
            username_prefix: text(&self.username_prefix),
            signing_algs: list(&self.signing_algs),
            required_claims: list(&self.required_claims).filter(|list| list != &[CLEAR.to_owned()]),
            encoded_jwks_array: text(&self.encoded_jwks_array).filter(|text| text != CLEAR),
        }
    }

    fn check(&self, place: &str, may_clear: bool) -> Result<(), String> {
        if self.client_id.is_empty() {
            return Err(format!("{place}.clientID: must not be empty"));
        }
        check_issuer(&self.issuer_url).map_err(|rule| format!("{place}.issuerURL: {rule}"))?;
        let algorithms = self.signing_algs.as_deref().unwrap_or_default();
        if algorithms.iter().any(|name| !ALGORITHMS.contains(&name.as_str())) {
            return Err(format!("{place}.signingAlgs: must be of {}", ALGORITHMS.join(", ")));
        }
        let claims = self.required_claims.as_deref().unwrap_or_default();
        let clears = may_clear && claims.len() == 1 && claims[0] == CLEAR;
        let is_claim = |claim: &String| {
            claim.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
        };
        if !clears && !claims.iter().all(is_claim) {
            return Err(format!("{place}.requiredClaims: each must be claim=value"));
        }
        let keys = self.encoded_jwks_array.as_deref().unwrap_or_default();
        if !(may_clear && keys == CLEAR) && STANDARD.decode(keys).is_err() {
            return Err(format!("{place}.encodedJwksArray: must be base64"));
        }
        Ok(())
    }
}

fn check_issuer(url: &str) -> Result<(), &'static str> {
    let Ok(url) = reqwest::Url::parse(url) else { return Err("must be a URL") };
    match () {
        () if url.scheme() != "https" => Err("must begin with https://"),
        () if url.host_str().is_none_or(str::is_empty) => Err("must have a host"),
        () if url.fragment().is_some() => Err("must not have a fragment"),
        () if !url.username().is_empty() || url.password().is_some() => {
            Err("must not have a user or password")
        }
        () if url.query().is_some_and(|query| !query.is_empty()) => Err("must not have a query"),
        () => Ok(()),
    }
}

/// Lays the object of a change over the one that is there: what is empty or absent stays, and `-` takes away.
pub(crate) fn merged(old: &Value, new: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (old, new) else { return new.clone() };
    if before.contains_key("list") || after.contains_key("list") {
        return new.clone();
    }
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    let clears = |name: &str, value: &Value| match name {
        "requiredClaims" => *value == serde_json::json!([CLEAR]),
        "encodedJwksArray" => value == CLEAR,
        _ => false,
    };
    let mut merged: Map<String, Value> = before.clone();
    for (name, value) in after {
        if clears(name, value) {
            merged.remove(name);
        } else if !is_empty(value) || !merged.contains_key(name) {
            merged.insert(name.clone(), value.clone());
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Oidc {
        serde_json::from_value(value).unwrap()
    }

    fn one(more: &[(&str, Value)]) -> Value {
        let mut config = json!({"clientID": "c", "issuerURL": "https://issuer.example.com/a"});
        for (name, value) in more {
            config[*name] = value.clone();
        }
        config
    }

    #[test]
    fn an_issuer_is_good_or_refused_by_its_field() {
        for (field, value, expect) in [
            ("clientID", json!(""), "clientID: must not be empty"),
            ("issuerURL", json!(""), "issuerURL: must be a URL"),
            ("issuerURL", json!("issuer.example.com"), "issuerURL: must be a URL"),
            ("issuerURL", json!("http://issuer.example.com"), "issuerURL: must begin with https://"),
            ("issuerURL", json!("https://issuer.example.com/a#b"), "issuerURL: must not have a fragment"),
            ("issuerURL", json!("https://u:p@issuer.example.com"), "issuerURL: must not have a user"),
            ("issuerURL", json!("https://issuer.example.com?a=b"), "issuerURL: must not have a query"),
            ("signingAlgs", json!(["HS256"]), "signingAlgs: must be of RS256, "),
            ("requiredClaims", json!(["claim"]), "requiredClaims: each must be claim=value"),
            ("requiredClaims", json!(["a=b", "=c"]), "requiredClaims: each must be claim=value"),
            ("encodedJwksArray", json!("not base64"), "encodedJwksArray: must be base64"),
        ] {
            let bad = one(&[(field, value)]);
            let error = read(bad.clone()).check().unwrap_err();
            assert!(error.starts_with(&format!("parameters.oidc.{expect}")), "{bad}: {error}");
            let error = read(json!({"list": [one(&[]), bad]})).check().unwrap_err();
            assert!(error.starts_with(&format!("parameters.oidc.list.1.{expect}")), "{error}");
        }
        for good in [
            one(&[]),
            one(&[("signingAlgs", json!(["RS256", "ES512"])), ("requiredClaims", json!(["a=b", "c=d"]))]),
            one(&[("encodedJwksArray", json!("eyJrZXlzIjpbXX0="))]),
        ] {
            read(good.clone()).check().unwrap();
            read(json!({"list": [good]})).check().unwrap();
        }
        read(json!({"clientID": "", "issuerURL": ""})).check().unwrap();
        read(json!({})).check().unwrap();
        read(json!({"list": []})).check().unwrap();
    }

    #[test]
    fn a_dash_clears_in_an_object_and_nowhere_else() {
        let cleared = one(&[("requiredClaims", json!(["-"])), ("encodedJwksArray", json!("-"))]);
        read(cleared.clone()).check().unwrap();
        read(json!({"list": [cleared.clone()]})).check().unwrap_err();
        let default = OidcConfig {
            required_claims: Some(vec!["a=b".into()]),
            encoded_jwks_array: Some("e30=".into()),
            groups_claim: Some("groups".into()),
            ..OidcConfig::default()
        };
        let issuers = read(cleared).issuers(&default);
        assert_eq!((&issuers[0].required_claims, &issuers[0].encoded_jwks_array), (&None, &None));
        assert_eq!(issuers[0].groups_claim.as_deref(), Some("groups"));
        let kept = read(one(&[("groupsClaim", json!(""))])).issuers(&default);
        assert_eq!(kept[0].required_claims.as_deref(), Some(&["a=b".to_owned()][..]));
        assert!(read(json!({"list": []})).issuers(&default).is_empty());
    }

    #[test]
    fn what_is_empty_in_a_change_stays_and_a_dash_takes_away() {
        let old = one(&[("groupsClaim", json!("g")), ("requiredClaims", json!(["a=b"]))]);
        let new = one(&[("groupsClaim", json!("")), ("clientID", json!("d"))]);
        assert_eq!(merged(&old, &new)["groupsClaim"], "g");
        assert_eq!(merged(&old, &new)["clientID"], "d");
        let cleared = merged(&old, &one(&[("requiredClaims", json!(["-"]))]));
        assert!(cleared.get("requiredClaims").is_none(), "{cleared}");
        let list = json!({"list": [one(&[])]});
        assert_eq!(merged(&old, &list), list);
        assert_eq!(merged(&list, &old), old);
    }
}

//! What a token says about its bearer, and whether that is good here and now.

use std::time::Duration;

use api::Permission;
use engine::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::OidcSettings;
use crate::principal::PrincipalSubject;

/// Clocks differ.
const LEEWAY: Duration = Duration::from_secs(60);
const SUBJECT_CHARS_MAX: usize = 128;

#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    iss: String,
    pub(super) sub: String,
    aud: Texts,
    /// Seconds since 1970.
    exp: i64,
    #[serde(default)]
    nbf: Option<i64>,
    #[serde(default)]
    scope: Texts,
    /// Some issuers call the scope so.
    #[serde(default)]
    scp: Texts,
    #[serde(default)]
    groups: Texts,
    /// What a user may do at the launch API, word for word.
    #[serde(default)]
    permissions: Option<Texts>,
    /// Everything else; the settings name one of them.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// One text or a list of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Default for Texts {
    fn default() -> Self {
        Texts::Many(Vec::new())
    }
}

impl Texts {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let all = match self {
            Texts::One(text) => std::slice::from_ref(text),
            Texts::Many(texts) => texts,
        };
        all.iter().map(String::as_str)
    }
}

impl Claims {
    pub(super) fn check(&self, settings: &OidcSettings, now: Timestamp) -> Result<(), &'static str> {
        if self.iss != settings.issuer {
            return Err("this token comes from another issuer");
        }
        if !self.aud.iter().any(|audience| audience == settings.audience) {
            return Err("this token is meant for another audience");
        }
        if self.expires_at() <= now {
            return Err("this token has expired; get a new one");
        }
        if self.nbf.is_some_and(|nbf| seconds(nbf).minus(LEEWAY) > now) {
            return Err("this token is not valid yet");
        }
        let is_name = (1..=SUBJECT_CHARS_MAX).contains(&self.sub.chars().count());
        if !is_name || self.sub.chars().any(char::is_control) {
            return Err("the subject of this token cannot be used as a name");
        }
        Ok(())
    }

    /// What must hold besides for a token that says who has just signed in at the issuer.
    pub(super) fn check_sign_in(
        &self,
        client_id: &str,
        nonce: &str,
        now: Timestamp,
    ) -> Result<(), &'static str> {
        let text = |claim: &str| self.others.get(claim).and_then(Value::as_str);
        let party = text("azp");
        if party.is_none() && self.aud.iter().nth(1).is_some() {
            return Err("this token is meant for several audiences and does not say which one asked for it");
        }
        if party.is_some_and(|party| party != client_id) {
            return Err("this token was issued to another client");
        }
        match self.others.get("iat").and_then(Value::as_i64) {
            None => return Err("this token does not say when it was issued"),
            Some(iat) if seconds(iat).minus(LEEWAY) > now => {
                return Err("this token was issued in the future; compare the clocks");
            }
            Some(_) => {}
        }
        if nonce.is_empty() || text("nonce") != Some(nonce) {
            return Err("the nonce of this token is not that of this sign-in");
        }
        Ok(())
    }

    /// The moment from which the token is refused.
    pub(super) fn expires_at(&self) -> Timestamp {
        seconds(self.exp).plus(LEEWAY)
    }

    /// Whom the token is about, with everything that it grants.
    pub(super) fn subject(&self, settings: &OidcSettings) -> PrincipalSubject {
        let permissions = self.permissions.as_ref().map(|texts| {
            let texts = texts.iter().flat_map(str::split_ascii_whitespace);
            texts.filter_map(Permission::parse).collect()
        });
        let is_in = |wanted: &String| self.groups.iter().any(|group| group == wanted);
        PrincipalSubject {
            name: format!("{}{}", settings.name_prefix, self.sub),
            roles: self.groups.iter().filter_map(|group| settings.roles.get(group).copied()).collect(),
            organisation: self.others.get(&settings.org_claim).and_then(Value::as_str).map(str::to_owned),
            account: None,
            grants: settings
                .grants
                .iter()
                .filter(|(group, _)| is_in(group))
                .map(|(_, grant)| grant.clone())
                .collect(),
            platform: None,
            permissions,
        }
    }

    pub(super) fn has_scope(&self, scope: &str) -> bool {
        let mut scopes = self.scope.iter().chain(self.scp.iter()).flat_map(str::split_ascii_whitespace);
        scopes.any(|given| given == scope)
    }
}

fn seconds(since_1970: i64) -> Timestamp {
    Timestamp(since_1970.saturating_mul(1_000_000))
}

#[cfg(test)]
mod tests {
    use engine::Role;
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_000_000;

    fn checked(change: &Value) -> Result<(), &'static str> {
        let mut claims = json!({"iss": "https://i", "aud": "us", "sub": "s", "exp": NOW + 10});
        claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let claims: Claims = serde_json::from_value(claims).map_err(|_| "unreadable")?;
        claims.check(&OidcSettings::new("https://i", "us"), seconds(NOW))
    }

    #[test]
    fn claims_are_good_for_this_issuer_this_audience_and_this_time() {
        for (change, part) in [
            (json!({}), ""),
            (json!({"aud": ["them", "us"]}), ""),
            (json!({"exp": NOW - 59}), ""),
            (json!({"exp": i64::MAX}), ""),
            (json!({"nbf": NOW + 60}), ""),
            (json!({"exp": NOW - 60}), "expired"),
            (json!({"exp": i64::MIN}), "expired"),
            (json!({"exp": "soon"}), "unreadable"),
            (json!({"exp": null}), "unreadable"),
            (json!({"nbf": NOW + 61}), "not valid yet"),
            (json!({"iss": "https://i/"}), "another issuer"),
            (json!({"aud": "u"}), "another audience"),
            (json!({"aud": []}), "another audience"),
            (json!({"aud": {"us": 1}}), "unreadable"),
            (json!({"sub": ""}), "subject"),
            (json!({"sub": "a\nb"}), "subject"),
            (json!({"sub": "a".repeat(129)}), "subject"),
        ] {
            match checked(&change) {
                Ok(()) => assert_eq!(part, "", "{change} was let in"),
                Err(why) => assert!(!part.is_empty() && why.contains(part), "{change}: {why}"),
            }
        }
    }

    #[test]
    fn a_sign_in_is_good_for_the_client_that_began_it() {
        for (change, part) in [
            (json!({}), ""),
            (json!({"azp": "us"}), ""),
            (json!({"aud": ["us"]}), ""),
            (json!({"aud": ["them", "us"], "azp": "us"}), ""),
            (json!({"iat": NOW + 60}), ""),
            (json!({"aud": ["them", "us"]}), "several audiences"),
            (json!({"aud": ["them", "us"], "azp": "them"}), "another client"),
            (json!({"azp": "them"}), "another client"),
            (json!({"iat": NOW + 61}), "in the future"),
            (json!({"iat": null}), "when it was issued"),
            (json!({"iat": "now"}), "when it was issued"),
            (json!({"nonce": null}), "nonce"),
            (json!({"nonce": ""}), "nonce"),
            (json!({"nonce": "n2"}), "nonce"),
            (json!({"nonce": ["n1"]}), "nonce"),
        ] {
            let mut claims = json!({"iss": "", "aud": "us", "sub": "", "exp": 0, "iat": NOW, "nonce": "n1"});
            claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let claims: Claims = serde_json::from_value(claims).unwrap();
            match claims.check_sign_in("us", "n1", seconds(NOW)) {
                Ok(()) => assert_eq!(part, "", "{change} was let in"),
                Err(why) => assert!(!part.is_empty() && why.contains(part), "{change}: {why}"),
            }
        }
        let bare = json!({"iss": "", "aud": "us", "sub": "", "exp": 0, "iat": NOW, "nonce": ""});
        let bare: Claims = serde_json::from_value(bare).unwrap();
        assert!(bare.check_sign_in("us", "", seconds(NOW)).is_err(), "no nonce is the nonce of no sign-in");
    }

    #[test]
    fn a_subject_has_an_organisation_all_its_roles_and_what_the_token_grants() {
        let settings = OidcSettings::new("https://i", "us");
        let read = |change: Value| -> PrincipalSubject {
            let mut claims = json!({"iss": "https://i", "aud": "us", "sub": "s", "exp": NOW});
            claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            serde_json::from_value::<Claims>(claims).unwrap().subject(&settings)
        };
        let plain = read(json!({}));
        assert_eq!((plain.organisation, plain.permissions, plain.roles), (None, None, vec![]));
        let one = read(json!({"org_id": "13", "groups": ["viewer", "launcher", "other"]}));
        assert_eq!((one.name.as_str(), one.organisation.as_deref()), ("oidc:s", Some("13")));
        assert_eq!(one.roles, [Role::Reader, Role::Launcher]);
        assert_eq!(read(json!({"org_id": {"id": "13"}})).organisation, None);
        let listed = read(json!({"permissions": ["a:b:c", "d:e:f", "no permission"]})).permissions.unwrap();
        let spaced = read(json!({"permissions": "a:b:c d:e:f"})).permissions.unwrap();
        assert_eq!(listed.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a:b:c", "d:e:f"]);
        assert_eq!(listed, spaced);
        let grant: engine::Grant = "submit:red.*".parse().unwrap();
        let settings = OidcSettings::new("https://i", "us").with_grants(vec![("red".into(), grant.clone())]);
        for (groups, expected) in
            [(json!(["red", "blue"]), vec![grant]), (json!(["blue"]), vec![]), (json!([]), vec![])]
        {
            let claims = json!({"iss": "https://i", "aud": "us", "sub": "s", "exp": NOW, "groups": groups});
            let claims: Claims = serde_json::from_value(claims).unwrap();
            assert_eq!(claims.subject(&settings).grants, expected);
        }
        assert_eq!(
            read(json!({"permissions": []})).permissions,
            Some(vec![]),
            "nothing is granted, whatever the roles"
        );
    }

    #[test]
    fn a_scope_is_read_from_both_claims() {
        for (change, expected) in [
            (json!({}), false),
            (json!({"scope": "broker:writer read"}), false),
            (json!({"scope": "openid broker:write"}), true),
            (json!({"scp": ["openid", "broker:write"]}), true),
        ] {
            let mut claims = json!({"iss": "", "aud": "", "sub": "", "exp": 0});
            claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let claims: Claims = serde_json::from_value(claims).unwrap();
            assert_eq!(claims.has_scope("broker:write"), expected, "{change}");
        }
    }
}

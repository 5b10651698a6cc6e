//! The identity header: what is read from it, what is not, and that ours can be read by others.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::secret::ExposeSecret;
use identity::{CallerIdentity, IdentityError, Organisation, ServiceIdentity, parse};
use serde_json::{Value, json};

fn encoded(document: &Value) -> String {
    STANDARD.encode(document.to_string())
}

#[test]
fn a_full_header_is_read() {
    let read = parse(&encoded(&json!({
        "identity": {
            "type": "User", "org_id": "000013", "account_number": "13", "internal": {"org_id": "other"},
            "user": {"username": "ada", "is_org_admin": true, "email": "a@example"}, "auth_type": "jwt",
        },
        "entitlements": {"rhel": {"is_entitled": true}},
    })));
    let read = read.unwrap();
    assert_eq!(
        (read.kind.as_str(), read.org.as_deref(), read.account.as_deref()),
        ("User", Some("000013"), Some("13"))
    );
    assert_eq!((read.user.as_deref(), read.is_org_admin), (Some("ada"), true));
    assert_eq!(read.organisation(), Ok(Organisation { org: "000013".into(), account: Some("13".into()) }));
}

#[test]
fn the_organisation_may_stand_in_either_place() {
    for identity in [
        json!({"type": "User", "org_id": "o", "account_number": ""}),
        json!({"type": "User", "internal": {"org_id": "o"}}),
        json!({"type": "ServiceAccount", "org_id": "", "internal": {"org_id": "o"}}),
        json!({"type": "X509", "org_id": "o"}),
    ] {
        let read = parse(&encoded(&json!({ "identity": identity }))).unwrap();
        assert_eq!((read.org.as_deref(), read.account), (Some("o"), None), "{identity}");
    }
    let account = json!({"type": "ServiceAccount", "org_id": "o", "service_account": {"username": "robot"}});
    assert_eq!(parse(&encoded(&json!({"identity": account}))).unwrap().user.as_deref(), Some("robot"));
}

#[test]
fn every_header_that_cannot_be_used_has_one_of_five_reasons() {
    let user = |org: Value| encoded(&json!({"identity": {"type": "User", "org_id": org}}));
    let cases = [
        (String::new(), IdentityError::Missing),
        ("  ".into(), IdentityError::Missing),
        ("%%%".into(), IdentityError::NotBase64),
        ("e30".into(), IdentityError::NotBase64),
        (user(json!("x".repeat(13_000))), IdentityError::NotBase64),
        (STANDARD.encode("{"), IdentityError::NotJson),
        (STANDARD.encode([0xff, 0xfe]), IdentityError::NotJson),
        (encoded(&json!([])), IdentityError::NotJson),
        (encoded(&json!({})), IdentityError::NotJson),
        (STANDARD.encode(format!("{}{}", "[".repeat(5000), "]".repeat(5000))), IdentityError::NotJson),
        (user(json!(13)), IdentityError::NotJson),
        (user(Value::Null), IdentityError::NoOrg),
        (user(json!("")), IdentityError::NoOrg),
        (user(json!("a b")), IdentityError::NoOrg),
        (user(json!("a\nb")), IdentityError::NoOrg),
        (user(json!("x".repeat(65))), IdentityError::NoOrg),
        (encoded(&json!({"identity": {"type": "X509", "account_number": "13"}})), IdentityError::NoOrg),
        (encoded(&json!({"identity": {}})), IdentityError::NoOrg),
        (encoded(&json!({"identity": {"org_id": "o"}})), IdentityError::NoType),
        (encoded(&json!({"identity": {"org_id": "o", "type": ""}})), IdentityError::NoType),
    ];
    for (value, expect) in cases {
        assert_eq!(parse(&value), Err(expect), "{value:.60}");
    }
}

#[test]
fn some_kinds_come_without_an_organisation_and_own_nothing() {
    for kind in ["Associate", "X509"] {
        let read = parse(&encoded(&json!({"identity": {"type": kind}}))).unwrap();
        assert_eq!((read.kind.as_str(), read.org.clone()), (kind, None));
        assert_eq!(read.organisation(), Err(IdentityError::NoOrg));
    }
}

#[test]
fn what_is_not_fit_for_a_log_is_left_out() {
    let identity =
        json!({"type": "User", "org_id": "o", "account_number": "1\n3", "user": {"username": "a\u{1b}b"}});
    let read = parse(&encoded(&json!({ "identity": identity }))).unwrap();
    assert_eq!((read.account, read.user), (None, None));
}

#[test]
fn the_header_that_we_send_says_for_whom() {
    let who = Organisation { org: "000013".into(), account: Some("13".into()) };
    let value = CallerIdentity::from(&who);
    let read = parse(value.expose_secret()).unwrap();
    assert_eq!(read.organisation(), Ok(who));
    assert!(!format!("{value:?}").contains(value.expose_secret()));
    let alone = Organisation { org: "o".into(), account: None };
    assert_eq!(parse(CallerIdentity::from(&alone).expose_secret()).unwrap().organisation(), Ok(alone));
}

#[test]
fn an_identity_that_is_handed_on_is_not_changed_and_not_shown() {
    let document = json!({
        "identity": {"type": "User", "org_id": "000013", "user": {"username": "ada", "email": "ada@example"}},
        "entitlements": {"rhel": {"is_entitled": true}},
        "something_new": [1, 2],
    });
    let value = encoded(&document);
    let (identity, read) = CallerIdentity::forwarded(&value).unwrap();
    assert_eq!((identity.expose_secret(), read.user.as_deref()), (value.as_str(), Some("ada")));
    assert!(!format!("{identity:?}").contains(&value[..16]));
    for bad in ["", "no base64", &"A".repeat(16 * 1024 + 4)] {
        assert!(CallerIdentity::forwarded(bad).is_err(), "{}", bad.len());
    }
}

#[test]
fn a_service_identity_has_what_the_operator_said() {
    let decoded = |identity: CallerIdentity| -> Value {
        serde_json::from_slice(&STANDARD.decode(identity.expose_secret()).unwrap()).unwrap()
    };
    let bare = decoded(ServiceIdentity::default().identity("ours"));
    assert_eq!((&bare["identity"]["org_id"], bare.get("entitlements")), (&json!("ours"), None));
    let full = ServiceIdentity {
        org_id: Some("000013".into()),
        account_number: Some("13".into()),
        entitlements: vec!["rhel".into()],
    };
    let full = decoded(full.identity("ours"));
    assert_eq!(full["identity"]["org_id"], "000013");
    assert_eq!(full["identity"]["internal"]["org_id"], "000013");
    assert_eq!(full["identity"]["account_number"], "13");
    assert_eq!(full["entitlements"]["rhel"]["is_entitled"], true);
}

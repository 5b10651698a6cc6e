use engine::{AdminChange, AuditRow, Role, TokenRow, parse_grants};

use crate::fixture::*;
use crate::store_fixture::FullStore;

fn token(name: &str, role: Role, second: i64) -> TokenRow {
    TokenRow {
        grants: if role == Role::Reader {
            parse_grants("submit:acme.* read:acme.db").unwrap()
        } else {
            Vec::new()
        },
        name: name.into(),
        role,
        digest: format!("digest of {name}"),
        platform: Some("cf".into()).filter(|_| role == Role::Operator),
        created_at: at(second),
        expires_at: Some(at(second + 10)).filter(|_| role != Role::Admin),
    }
}

pub(crate) async fn a_token_is_found_by_its_digest_until_it_is_removed(store: &dyn FullStore) {
    let tokens =
        [token("zoe", Role::Reader, 1), token("ben", Role::Operator, 2), token("ann", Role::Admin, 3)];
    assert!(store.tokens().await.unwrap().is_empty());
    for token in &tokens {
        assert!(store.add_token(token).await.unwrap());
    }
    let other = TokenRow { digest: "another".into(), ..token("zoe", Role::Admin, 9) };
    assert!(!store.add_token(&other).await.unwrap(), "the name is taken");
    assert_eq!(store.tokens().await.unwrap(), tokens);
    assert_eq!(store.find_token("digest of ann").await.unwrap().as_ref(), Some(&tokens[2]));
    assert_eq!(store.find_token("another").await.unwrap(), None);
    assert_eq!(store.remove_token("ben", at(4)).await, Ok(AdminChange::Done));
    assert_eq!(store.remove_token("ben", at(4)).await, Ok(AdminChange::Missing));
    assert_eq!(store.find_token("digest of ben").await.unwrap(), None);
    assert_eq!(store.tokens().await.unwrap(), [tokens[0].clone(), tokens[2].clone()]);
}

pub(crate) async fn the_last_admin_token_stays(store: &dyn FullStore) {
    let old = TokenRow { expires_at: Some(at(5)), ..token("old", Role::Admin, 1) };
    for token in [token("ann", Role::Admin, 1), token("ben", Role::Admin, 2), old] {
        assert!(store.add_token(&token).await.unwrap());
    }
    assert_eq!(store.remove_token("ann", at(4)).await, Ok(AdminChange::Done));
    assert_eq!(store.remove_token("ben", at(5)).await, Ok(AdminChange::LastAdmin), "the other has expired");
    assert_eq!(store.remove_token("old", at(5)).await, Ok(AdminChange::Done));
    assert_eq!(store.remove_token("ben", at(5)).await, Ok(AdminChange::LastAdmin));
    assert_eq!(store.tokens().await.unwrap().len(), 1);
}

pub(crate) async fn the_audit_log_is_newest_first(store: &dyn FullStore) {
    let row = |n: i64| AuditRow {
        at: at(n),
        who: format!("caller {n}"),
        action: "cancel".into(),
        target: "an operation".into(),
        result: "accepted".into(),
        request: format!("request {n}"),
    };
    for n in 1..=5 {
        store.audit(&row(n)).await.unwrap();
    }
    assert_eq!(store.audit_log(3).await.unwrap(), [row(5), row(4), row(3)]);
    assert_eq!(store.audit_log(100).await.unwrap().len(), 5);
    let mut pages = Vec::new();
    let mut below = None;
    loop {
        let page = store.audit_page(below, 2).await.unwrap();
        let Some((last, _)) = page.last() else { break };
        below = Some(*last);
        pages.push(page.into_iter().map(|(_, row)| row).collect::<Vec<_>>());
    }
    assert_eq!(pages, [vec![row(5), row(4)], vec![row(3), row(2)], vec![row(1)]]);
}

pub(crate) async fn a_shared_value_changes_only_for_who_knows_it(store: &dyn FullStore) {
    assert_eq!(store.shared("ring").await.unwrap(), None);
    assert!(!store.share("ring", Some("one"), "two").await.unwrap(), "there is nothing to change");
    assert!(store.share("ring", None, "one").await.unwrap());
    assert!(!store.share("ring", None, "other").await.unwrap(), "a client was faster");
    assert!(!store.share("ring", Some("other"), "two").await.unwrap());
    assert!(store.share("ring", Some("one"), "two").await.unwrap());
    assert_eq!(store.shared("ring").await.unwrap().as_deref(), Some("two"));
    assert_eq!(store.shared("another").await.unwrap(), None);
}

pub(crate) async fn old_lines_of_the_audit_log_are_forgotten(store: &dyn FullStore) {
    let row = |n: i64| AuditRow {
        at: at(n),
        who: "caller".into(),
        action: "cancel".into(),
        target: "an operation".into(),
        result: "accepted".into(),
        request: format!("request {n}"),
    };
    for n in 1..=5 {
        store.audit(&row(n)).await.unwrap();
    }
    store.prune(at(4)).await.unwrap();
    assert_eq!(store.audit_log(10).await.unwrap(), [row(5), row(4)]);
}

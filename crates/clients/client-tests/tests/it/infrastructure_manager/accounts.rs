//! Cloud accounts: which one a tenant gets, and that no two tenants get the same.

use std::sync::Arc;

use ::infrastructure_manager::{
    AccountQuery, Claim, CredentialsBinding, CredentialsBindings, HttpCredentialsBindings, choose_binding,
};
use client_tests::{TIMEOUT, TestSandbox};
use tokio::task::JoinSet;

use super::{access, provision, resources};

async fn bindings(fixture: &TestSandbox) -> HttpCredentialsBindings {
    HttpCredentialsBindings::new(&access(fixture, "admin").await, "garden-sandbox", TIMEOUT).unwrap()
}

fn query(shared: bool, shoots_max: Option<u32>) -> AccountQuery {
    AccountQuery { hyperscaler_type: "aws".into(), eu_access: false, shared, shoots_max }
}

async fn chosen(bindings: &HttpCredentialsBindings, query: &AccountQuery, tenant: &str) -> Option<String> {
    choose_binding(bindings, query, tenant).await.unwrap().map(|binding| binding.name)
}

#[tokio::test]
async fn twenty_who_claim_one_account_at_once_give_it_to_one() {
    let fixture = TestSandbox::new().await;
    let bindings = Arc::new(bindings(&fixture).await);
    let free = bindings.get("aws-1").await.unwrap().unwrap();
    let mut claims = JoinSet::new();
    for number in 0..20 {
        let (bindings, free) = (Arc::clone(&bindings), free.clone());
        claims.spawn(async move { bindings.claim(&free, &format!("tenant-{number}")).await.unwrap() });
    }
    let claims = claims.join_all().await;
    let won: Vec<&CredentialsBinding> = claims
        .iter()
        .filter_map(|claim| if let Claim::Won(won) = claim { Some(won) } else { None })
        .collect();
    assert_eq!(won.len(), 1);
    let found = bindings.get("aws-1").await.unwrap().unwrap();
    assert_eq!(found.tenant(), won[0].tenant());
    // The same claim again, as after an answer that was lost, is still won; another one is lost.
    let tenant = found.tenant().unwrap().to_owned();
    assert!(matches!(bindings.claim(&free, &tenant).await.unwrap(), Claim::Won(_)));
    assert_eq!(bindings.claim(&found, "other").await.unwrap(), Claim::Lost);
}

#[tokio::test]
async fn twenty_tenants_share_three_accounts_one_each() {
    let fixture = TestSandbox::new().await;
    let bindings = Arc::new(bindings(&fixture).await);
    let mut tenants = JoinSet::new();
    for number in 0..20 {
        let bindings = Arc::clone(&bindings);
        tenants.spawn(async move { chosen(&bindings, &query(false, None), &format!("t-{number}")).await });
    }
    let mut names: Vec<String> = tenants.join_all().await.into_iter().flatten().collect();
    names.sort();
    assert_eq!(names, ["aws-1", "aws-2", "aws-3"]);
}

#[tokio::test]
async fn a_tenant_keeps_its_account_until_it_is_full_and_dirty_ones_are_left_out() {
    let fixture = TestSandbox::new().await;
    let bindings = bindings(&fixture).await;
    assert_eq!(chosen(&bindings, &query(true, None), "a").await.as_deref(), Some("aws-shared"));
    for _ in 0..2 {
        assert_eq!(chosen(&bindings, &query(false, Some(1)), "a").await.as_deref(), Some("aws-1"));
    }
    let resources = resources(&fixture, "admin").await;
    provision(&resources, super::NAME).await;
    assert_eq!(bindings.usage().await.unwrap(), [("aws-1".to_owned(), 1)].into());
    assert_eq!(chosen(&bindings, &query(false, None), "a").await.as_deref(), Some("aws-1"));
    assert_eq!(chosen(&bindings, &query(false, Some(1)), "a").await.as_deref(), Some("aws-2"));

    let full = bindings.get("aws-1").await.unwrap().unwrap();
    assert!(!full.keeps_its_owner());
    let Claim::Won(dirty) = bindings.mark_dirty(&full).await.unwrap() else { panic!("no one else writes") };
    assert!(dirty.keeps_its_owner());
    assert_eq!(chosen(&bindings, &query(false, None), "a").await.as_deref(), Some("aws-2"));
    assert_eq!(chosen(&bindings, &query(false, None), "b").await.as_deref(), Some("aws-3"));
    assert_eq!(chosen(&bindings, &query(false, None), "c").await, None);
    let eu = AccountQuery { eu_access: true, ..query(false, None) };
    assert_eq!(chosen(&bindings, &eu, "c").await, None);
}

//! Whose a subscription is, and what its delegation allows.

use azure::{Azure, Credential, Options};
use cloud::{Access, Category, CloudAccount, InstanceRequest, Provider};
use serde_json::json;

use super::fixture::{AzureFixture, OTHER, SUBSCRIPTION, account, image, request};

/// Our credentials reach the subscriptions of all customers, so reaching one proves nothing.
#[tokio::test]
async fn a_subscription_of_another_organisation_is_refused_by_every_call_that_makes_something() {
    let fixture = AzureFixture::new().await;
    let delegation = json!({"subscription": OTHER, "orgs": ["victim"]});
    fixture.shared.put("/azure/delegations", &delegation).await;
    for org in ["default", "victim2", "vic", "", "victim extra"] {
        let account = account(org, OTHER);
        let place = CloudAccount { account: &account, ..fixture.place() };
        let request =
            InstanceRequest { image: Some(image().replace(SUBSCRIPTION, OTHER)), ..request("tag", 1) };
        let errors = [
            fixture.azure.identity(&place).await.unwrap_err(),
            fixture.azure.dry_run(&place, &request).await.unwrap_err(),
            fixture.azure.prepare(&place, &request).await.unwrap_err(),
            fixture.azure.create(&place, &request, "key").await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(
                (error.category, error.code.as_str()),
                (Category::Permission, "NotDelegated"),
                "{org}"
            );
            assert!(error.message.contains("offering template"), "{error}");
        }
    }
    assert_eq!(fixture.made("group").await, 0);
    let owner = account("victim", OTHER);
    let place = CloudAccount { account: &owner, ..fixture.place() };
    assert_eq!(fixture.azure.identity(&place).await.unwrap().account_id, OTHER);
}

/// A delegation that is taken back counts for minutes at most, and that only for the organisation that had it.
#[tokio::test]
async fn a_proof_for_one_organisation_is_none_for_another() {
    let fixture = AzureFixture::new().await;
    fixture.azure.identity(&fixture.place()).await.unwrap();
    let other = account("other", SUBSCRIPTION);
    let place = CloudAccount { account: &other, ..fixture.place() };
    for refused in [
        fixture.azure.prepare(&place, &request("tag", 1)).await.map(drop),
        fixture.azure.image(&place, &image()).await.map(drop),
    ] {
        assert_eq!(refused.unwrap_err().code, "NotDelegated");
    }
}

#[tokio::test]
async fn what_is_named_in_another_subscription_is_refused_before_any_call() {
    let fixture = AzureFixture::new().await;
    let other = |text: &str| text.replace(SUBSCRIPTION, OTHER);
    let subnet = format!(
        "/subscriptions/{OTHER}/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/n/subnets/s"
    );
    let group = format!(
        "/subscriptions/{OTHER}/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/n"
    );
    let requests = [
        InstanceRequest { subnet: Some(subnet), ..request("a", 1) },
        InstanceRequest { security_groups: vec![group], ..request("b", 1) },
    ];
    for request in requests {
        let error = fixture.azure.prepare(&fixture.place(), &request).await.unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (Category::Permission, "ForeignSubscription"));
    }
    let foreign = InstanceRequest { image: Some(other(&image())), ..request("c", 1) };
    fixture.prepared(&foreign).await.unwrap();
    let error = fixture.created(&foreign).await.unwrap_err();
    assert_eq!(error.code, "ForeignSubscription");
    assert_eq!(fixture.made("public_ip").await, 0);
    let vm = other(&image()).replace("images/rhel", "virtualMachines/vm");
    for error in [
        fixture.azure.describe(&fixture.place(), std::slice::from_ref(&vm)).await.unwrap_err(),
        fixture.azure.delete(&fixture.place(), &[vm]).await.unwrap_err(),
        fixture.azure.image(&fixture.place(), &other(&image())).await.unwrap_err(),
    ] {
        assert_eq!(error.code, "ForeignSubscription");
    }
}

#[tokio::test]
async fn a_delegation_that_allows_too_little_is_told_by_the_dry_run() {
    let fixture = AzureFixture::new().await;
    let actions = json!({"orgs": ["default"], "actions": ["*/read", "Microsoft.Network/*"]});
    fixture.shared.put("/azure/delegations", &actions).await;
    let error = fixture.azure.dry_run(&fixture.place(), &request("tag", 1)).await.unwrap_err();
    assert!(error.is(Category::Permission), "{error}");
    assert!(error.message.contains("Microsoft.Compute/virtualMachines/write"), "{error}");
    assert!(!error.message.contains("Microsoft.Network/networkInterfaces/write"), "{error}");
    let error = fixture.prepared(&request("tag", 1)).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "AuthorizationFailed"));
}

#[tokio::test]
async fn a_disabled_subscription_and_a_policy_are_told() {
    let fixture = AzureFixture::new().await;
    fixture.shared.put("/azure/rules", &json!({"policy_denies": ["public_ip"]})).await;
    fixture.prepared(&request("tag", 1)).await.unwrap();
    let error = fixture.created(&request("tag", 1)).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "RequestDisallowedByPolicy"));
    let disabled = json!({"orgs": ["default"], "state": "Disabled"});
    fixture.shared.put("/azure/delegations", &disabled).await;
    let error = fixture.azure.identity(&fixture.place()).await.unwrap_err();
    assert_eq!(error.code, "SubscriptionNotEnabled");
    fixture.shared.put("/azure/delegations", &json!({"orgs": []})).await;
    let error = fixture.azure.identity(&fixture.place()).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "SubscriptionNotFound"));
    let role = cloud::Account { access: Access::Name("not-a-uuid".to_owned()), ..fixture.account.clone() };
    let place = CloudAccount { account: &role, ..fixture.place() };
    assert!(fixture.azure.identity(&place).await.unwrap_err().is(Category::Invalid));
}

#[tokio::test]
async fn credentials_that_are_wrong_say_what_to_set() {
    let fixture = AzureFixture::new().await;
    let options = Options::beside(&fixture.shared.sandbox.url());
    let secret = |text: &str| Some(Credential::Secret(text.into()));
    let cases = [
        (Options { credential: None, ..options.clone() }, "NoCredentials"),
        (Options { credential: secret("hunter2"), ..options.clone() }, "AADSTS7000215"),
        (Options { client_id: "other".to_owned(), ..options.clone() }, "AADSTS700016"),
        (Options { tenant: "other".to_owned(), ..options.clone() }, "AADSTS90002"),
    ];
    for (options, code) in cases {
        let error = Azure::new(&options).unwrap().identity(&fixture.place()).await.unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (Category::Permission, code));
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let file = std::env::temp_dir().join(format!("azure-assertion-{}", std::process::id()));
    std::fs::write(&file, "sandbox-assertion\n").unwrap();
    let federated = Options { credential: Some(Credential::TokenFile(file.clone())), ..options };
    Azure::new(&federated).unwrap().identity(&fixture.place()).await.unwrap();
    std::fs::remove_file(file).unwrap();
}

/// One token for the process, and one more when the Resource Manager refuses it.
#[tokio::test]
async fn a_token_that_is_revoked_is_fetched_once_more() {
    let fixture = AzureFixture::new().await;
    fixture.azure.identity(&fixture.place()).await.unwrap();
    fixture.fault("revoke", json!({})).await;
    fixture.azure.identity(&fixture.place()).await.unwrap();
    fixture.fault("revoke", json!({"times": 2})).await;
    let error = fixture.azure.identity(&fixture.place()).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "InvalidAuthenticationToken"));
    fixture.azure.identity(&fixture.place()).await.unwrap();
}

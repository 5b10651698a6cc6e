//! What sources let us do.

use ::launch::model::cloud::{Access, Page, ProviderKind};
use ::launch::model::source_access;
use ::launch::model::sources::{self, NewSource, Source};

use super::office::{ACCOUNT, Office, anna, bert};

async fn source(office: &Office, role: &str) -> Source {
    let arn = format!("arn:aws:iam::{ACCOUNT}:role/{role}");
    let access = Access::Role { arn, external_id: None };
    let new = NewSource { name: role.into(), provider: ProviderKind::Aws, access };
    sources::create(&office.launches, &office.engine, &anna(), &new).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_lets_us_in_says_who_it_is() {
    let office = Office::open().await;
    let identity = source_access::status(&office.launches, &anna(), "sandbox").await.unwrap();
    assert_eq!(identity.account_id, ACCOUNT);
    let denied = source(&office, "denied").await;
    let api_error = source_access::status(&office.launches, &anna(), &denied.id).await.unwrap_err();
    assert_eq!(
        (api_error.status.as_u16(), api_error.field.as_deref()),
        (403, Some("source_id")),
        "{api_error:?}"
    );
    assert_eq!(source_access::status(&office.launches, &bert(), &denied.id).await.unwrap_err().status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_account_of_a_role_is_known_without_asking_and_that_of_keys_is_asked() {
    let office = Office::open().await;
    let denied = source(&office, "denied").await;
    let info = source_access::upload_info(&office.launches, &anna(), &denied.id, None).await.unwrap();
    assert_eq!((info.provider, info.target.account_id.as_str()), (ProviderKind::Aws, ACCOUNT));
    let keys = Access::Keys { id: "AKIA210987654321".into(), secret: "sandbox-secret-is-too-short".into() };
    let new = NewSource { name: "keys".into(), provider: ProviderKind::Aws, access: keys };
    let wrong = sources::create(&office.launches, &office.engine, &anna(), &new).await.unwrap();
    assert_eq!(
        source_access::upload_info(&office.launches, &anna(), &wrong.id, None).await.unwrap_err().status,
        403
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn templates_are_listed_for_a_region() {
    let office = Office::open().await;
    let page = Page { limit: 0, token: None };
    let api_error =
        source_access::templates(&office.launches, &anna(), "sandbox", None, &page).await.unwrap_err();
    assert_eq!((api_error.status.as_u16(), api_error.field.as_deref()), (400, Some("region")));
    let listed = source_access::templates(&office.launches, &anna(), "sandbox", Some("us-east-1"), &page)
        .await
        .unwrap();
    assert!(listed.items.len() <= 1, "{listed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permissions_are_found_out_by_trying() {
    let office = Office::open().await;
    let found = source_access::permissions(&office.launches, &anna(), "sandbox", None).await.unwrap();
    assert!(
        found.is_valid() && found.unproven.iter().any(|one| one == "ec2:TerminateInstances"),
        "{found:?}"
    );
    let weak = source(&office, "no-launch").await;
    let found =
        source_access::permissions(&office.launches, &anna(), &weak.id, Some("eu-west-1")).await.unwrap();
    assert_eq!(found.missing, ["ec2:RunInstances"]);
    let denied = source(&office, "denied").await;
    let found = source_access::permissions(&office.launches, &anna(), &denied.id, None).await.unwrap();
    assert_eq!(found.missing, ["sts:AssumeRole"]);
    assert_eq!((office.standing("instance").await, office.standing("key_pair").await), (0, 0));
}

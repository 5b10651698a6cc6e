//! Launches that go well.

use std::net::Ipv4Addr;

use cloud::{Architecture, CloudImage, InstanceState, Page, Provider};
use serde_json::json;

use super::fixture::{AzureFixture, image, in_named_group, request};

#[tokio::test]
async fn a_launch_from_the_identity_to_the_end() {
    let fixture = AzureFixture::new().await;
    let (azure, place) = (&fixture.azure, fixture.place());
    let identity = azure.identity(&place).await.unwrap();
    assert_eq!(identity.account_id, super::fixture::SUBSCRIPTION);
    let regions = azure.regions(&place).await.unwrap();
    assert!(regions.contains(&"westeurope".to_owned()) && !regions.contains(&"global".to_owned()));
    let found = azure.image(&place, &image()).await.unwrap();
    let expect = CloudImage {
        id: image(),
        architecture: Some(Architecture::X86_64),
        is_available: true,
        region: Some("eastus".to_owned()),
        generation: Some("V1".to_owned()),
    };
    assert_eq!(found, Some(expect));
    assert_eq!(azure.image(&place, &image().replace("rhel", "none")).await.unwrap(), None);
    assert!(azure.templates(&place, &Page { limit: 10, token: None }).await.unwrap().items.is_empty());

    let request = request("tag", 3);
    azure.dry_run(&place, &request).await.unwrap();
    assert_eq!(fixture.made("group").await, 0, "a dry run makes nothing");
    let instances = fixture.launched(&request).await;
    assert_eq!(instances.len(), 3);
    let ids: Vec<String> = instances.iter().map(|instance| instance.id.clone()).collect();
    let described = azure.describe(&place, &ids).await.unwrap();
    for instance in &described {
        assert_eq!(instance.state, InstanceState::Running);
        assert!(instance.private_ipv4.is_some(), "{instance:?}");
        let address: Ipv4Addr = instance.public_ipv4.as_deref().unwrap().parse().unwrap();
        let url = format!("http://{address}:8000/");
        let answer: serde_json::Value =
            fixture.shared.client.get(url).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["guest"]["instance"], instance.id.clone());
    }
    assert_eq!(azure.find(&place, &request).await.unwrap().len(), 3);
    for (kind, count) in
        [("vm", 3), ("nic", 3), ("public_ip", 3), ("disk", 3), ("nsg", 1), ("network", 1), ("group", 1)]
    {
        assert_eq!((fixture.made(kind).await, fixture.standing(kind).await), (count, count), "{kind}");
    }
    fixture.undone(&request).await;
    fixture.assert_nothing_stands().await;
    assert!(azure.describe(&place, &ids).await.unwrap().is_empty());
    azure.delete(&place, &ids).await.unwrap();
}

#[tokio::test]
async fn instance_types_leave_out_what_the_subscription_cannot_have() {
    let fixture = AzureFixture::new().await;
    let types = fixture.azure.instance_types(&fixture.place()).await.unwrap();
    let small = types.iter().find(|one| one.name == "Standard_B1s").unwrap();
    assert_eq!((small.vcpus, small.cores, small.memory_mib), (1, 1, 1024));
    assert_eq!(small.generations, ["V1", "V2"]);
    let arm = types.iter().find(|one| one.name == "Standard_D2ps_v5").unwrap();
    assert_eq!(arm.architecture, Architecture::Arm64);
    assert!(!types.iter().any(|one| one.name == "Standard_M128s" || one.name == "Standard_LRS"), "{types:?}");
}

/// Everything of one launch is found again in another process: nothing is remembered in the client.
#[tokio::test]
async fn a_second_call_makes_nothing_twice() {
    let fixture = AzureFixture::new().await;
    let request = request("tag", 2);
    let first = fixture.launched(&request).await;
    let puts = fixture.calls("PUT vm").await;
    let second = fixture.launched(&request).await;
    assert_eq!(first, second);
    assert_eq!((fixture.made("vm").await, fixture.calls("PUT vm").await), (2, puts));
}

#[tokio::test]
async fn no_more_than_twenty_are_on_their_way_at_once() {
    let fixture = AzureFixture::new().await;
    fixture.shared.put("/azure/delay_times", &json!({"running_ms": 3_600_000})).await;
    let request = request("tag", 24);
    fixture.prepared(&request).await.unwrap();
    for _ in 0..3 {
        let created = fixture.azure.create(&fixture.place(), &request, "key").await.unwrap();
        assert!(created.again.is_some());
    }
    assert_eq!(fixture.made("vm").await, 20);
    fixture.pass(3_600_000).await;
    fixture.azure.create(&fixture.place(), &request, "key").await.unwrap();
    assert_eq!(fixture.made("vm").await, 24);
}

/// The group is the customer's: it stays, and so does what the customer has in it.
#[tokio::test]
async fn a_named_group_is_neither_made_nor_deleted() {
    let fixture = AzureFixture::new().await;
    let request = in_named_group("tag", 2);
    let instances = fixture.launched(&request).await;
    assert!(instances[0].id.contains("/resourceGroups/images/"), "{instances:?}");
    assert_eq!(fixture.made("group").await, 0);
    fixture.undone(&request).await;
    fixture.assert_nothing_stands().await;
    assert!(fixture.azure.image(&fixture.place(), &image()).await.unwrap().is_some());
    let missing = cloud::InstanceRequest { resource_group: Some("none".to_owned()), ..request };
    let error = fixture.prepared(&missing).await.unwrap_err();
    assert_eq!(error.code, "ResourceGroupNotFound");
}

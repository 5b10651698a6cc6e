//! What was launched, as lists of instances and of images show it.

use ::launch::model::cloud::InstanceState;
use ::launch::model::form::LaunchForm;
use ::launch::model::images;
use ::launch::model::inventory::{self, InventoryPage, PageQuery};
use ::launch::model::profile::ProfileName;
use engine::Phase;
use reqwest::Method;
use serde_json::{Value, json};

use super::office::{Office, anna, bert, build_and_wait};

async fn page(office: &Office, after: Option<i64>, limit: usize) -> InventoryPage {
    let wanted = PageQuery { provider: None, newest_first: false, after, limit };
    inventory::page(&office.launches, &office.engine, &anna(), wanted).await.unwrap()
}

async fn launched(office: &Office, amount: i64) -> i64 {
    let mut form = office.form(&anna()).await;
    form.parameters.as_mut().unwrap().amount = Some(amount);
    let accepted = office.launch(&anna(), &form, None).await.unwrap();
    let ended = office.ended(accepted.operation).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    accepted.number
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_inventory_shows_instances_as_they_are_and_launches_under_way() {
    let office = Office::open().await;
    let number = launched(&office, 2).await;
    office.call(Method::POST, "/image-builder/faults/hold", &json!({})).await;
    let coming = LaunchForm { profile: Some(ProfileName::Inventory.profile()), ..build_and_wait() };
    let coming = office.launch(&anna(), &coming, None).await.unwrap();
    office.launch(&anna(), &build_and_wait(), None).await.unwrap();

    let shown = page(&office, None, 10).await;
    let numbers: Vec<i64> = shown.items.iter().map(|item| item.number).collect();
    assert_eq!((numbers, shown.next), (vec![number, number, coming.number], None));
    assert_eq!(shown.items[2].instance, None);
    let seen = shown.items[0].instance.as_ref().unwrap();
    assert!(seen.live && seen.instance.state == InstanceState::Running, "{seen:?}");
    assert_eq!(shown.items[0].source_id.as_deref(), Some("sandbox"));
    let wanted = PageQuery { provider: None, newest_first: true, after: None, limit: 10 };
    let theirs = inventory::page(&office.launches, &office.engine, &bert(), wanted).await.unwrap();
    assert_eq!(theirs, InventoryPage::default());

    // Another client deletes one.
    let account = office.launches.accounts.get(&anna(), "sandbox").await.unwrap().unwrap();
    let place =
        ::launch::model::cloud::CloudAccount { account: &account, region: "us-east-1", session: "test" };
    let aws = &office.launches.providers[&::launch::model::cloud::ProviderKind::Aws];
    let gone = seen.instance.id.clone();
    aws.delete(&place, std::slice::from_ref(&gone)).await.unwrap();
    let shown = page(&office, None, 10).await;
    let states: Vec<bool> = shown.items[..2]
        .iter()
        .map(|item| item.instance.as_ref().unwrap().instance.state.is_gone())
        .collect();
    assert_eq!(states.iter().filter(|is_gone| **is_gone).count(), 1, "{shown:?}");

    // What cannot be asked is shown as it was.
    let fault = json!({"system": "ec2", "kind": "error", "status": 503, "times": 0});
    office.call(Method::POST, "/faults", &fault).await;
    let shown = page(&office, None, 10).await;
    let seen = shown.items[0].instance.as_ref().unwrap();
    assert!(!seen.live && seen.instance.state == InstanceState::Running, "{seen:?}");
    office.call(Method::DELETE, "/faults", &Value::Null).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_the_inventory_follow_each_other() {
    let office = Office::open().await;
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.push(launched(&office, 1).await);
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let shown = page(&office, after, 2).await;
        assert!(shown.items.len() <= 2);
        found.extend(shown.items.iter().map(|item| item.number));
        after = shown.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_are_shown_with_their_state_and_what_was_launched_from_them() {
    let office = Office::open().await;
    let mut form = office.form(&anna()).await;
    form.image = build_and_wait().image;
    let accepted = office.launch(&anna(), &form, None).await.unwrap();
    let ended = office.ended(accepted.operation).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let shown = images::page(&office.launches, &office.engine, &anna(), None, 10, 0).await.unwrap();
    assert_eq!((shown.images.len(), shown.total), (1, 1));
    let image = &shown.images[0];
    assert_eq!(image.listed.image_name.as_deref(), Some("web"));
    assert_eq!(image.compose.as_ref().unwrap().status.as_str(), "success");
    let numbers: Vec<i64> = image.launches.iter().map(|launch| launch.row.number).collect();
    assert_eq!(numbers, [accepted.number]);
    let theirs = images::page(&office.launches, &office.engine, &bert(), None, 10, 0).await.unwrap();
    assert!(theirs.images.is_empty());
}

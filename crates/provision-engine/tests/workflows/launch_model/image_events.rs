//! Word that an image may be ready, true or not.

use ::launch::model::Launches;
use ::launch::model::builder_identity::ServiceIdentities;
use ::launch::model::form::LaunchForm;
use ::launch::model::identity::{self, ServiceIdentity};
use ::launch::model::image_events::{self, EventResult, ImageEventError};
use ::launch::model::params::RequestedImage;
use ::launch::workflows::notice::Notices;
use serde_json::{Value, json};
use uuid::Uuid;

use engine::secret::ExposeSecret;

use super::office::{Office, anna, bert};

fn event(compose: Uuid, org: &str, status: &str) -> Value {
    json!({
        "event_id": "e-1", "compose_id": compose, "org_id": org, "status": status,
        "upload": {"type": "aws", "options": {"ami": "ami-forged"}}, "error": null,
        "occurred_at": "2026-01-02T03:04:05Z",
    })
}

async fn hear(office: &Office, event: &Value) -> EventResult {
    image_events::from_event(&office.engine, event.to_string().as_bytes(), None).await.unwrap()
}

/// A desk with a launch that waits for this image.
async fn waiting(compose: Uuid) -> (Office, Uuid) {
    let office = Office::closed();
    let mut form = office.form(&anna()).await;
    form.image = RequestedImage::Compose { id: compose };
    let launch = office.launch(&anna(), &form, None).await.unwrap().launch;
    (office, launch)
}

#[tokio::test]
async fn an_event_is_heard_by_the_launches_that_wait_for_the_image() {
    let compose = Uuid::from_u128(7);
    let (office, launch) = waiting(compose).await;
    for status in ["success", "failure", "success"] {
        assert_eq!(hear(&office, &event(compose, "000013", status)).await, EventResult::Told(1));
    }
    assert_eq!(image_events::image_ready(&office.engine, launch).await.unwrap(), EventResult::Told(1));
    assert_eq!(
        image_events::compose_ready(&office.engine, compose, None).await.unwrap(),
        EventResult::Told(1)
    );
}

#[tokio::test]
async fn foreign_forged_and_early_events_are_ignored_and_say_why() {
    let compose = Uuid::from_u128(7);
    let (office, _) = waiting(compose).await;
    for (event, part) in [
        (event(compose, "000014", "success"), "another organisation"),
        (event(Uuid::from_u128(8), "000013", "success"), "no launch waits"),
        (event(compose, "000013", "building"), "still running"),
    ] {
        let EventResult::Ignored(why) = hear(&office, &event).await else { panic!("{event}") };
        assert!(why.contains(part), "{why}");
    }
    let unknown = image_events::image_ready(&office.engine, Uuid::from_u128(9)).await.unwrap();
    assert_eq!(unknown, EventResult::Ignored("there is no such launch"));
}

#[tokio::test]
async fn an_organisation_may_have_another_name_at_the_image_builder() {
    let compose = Uuid::from_u128(7);
    let office = Office::open_with(|_, launches| {
        let identity = ServiceIdentity { org_id: Some("77".into()), ..ServiceIdentity::default() };
        let identities = ServiceIdentities::new([("000013".to_owned(), identity)].into());
        (
            Launches { identities, builder: Office::closed().launches.builder.clone(), ..launches },
            Notices::none(),
        )
    })
    .await;
    let form = LaunchForm { image: RequestedImage::Compose { id: compose }, ..office.form(&anna()).await };
    office.launch(&anna(), &form, None).await.unwrap();
    assert_eq!(hear(&office, &event(compose, "77", "success")).await, EventResult::Told(1));
    assert!(matches!(hear(&office, &event(compose, "000013", "success")).await, EventResult::Ignored(_)));
}

#[tokio::test]
async fn the_sender_of_an_event_must_be_of_the_same_organisation() {
    let compose = Uuid::from_u128(7);
    let (office, _) = waiting(compose).await;
    let payload = event(compose, "000013", "success").to_string();
    let send = |header: String| {
        let (engine, payload) = (office.engine.clone(), payload.clone());
        async move { image_events::from_event(&engine, payload.as_bytes(), Some(&header)).await }
    };
    let header = |org: &::launch::model::params::LaunchOwner| {
        identity::header(&org.organisation()).expose_secret().to_owned()
    };
    assert_eq!(send(header(&anna())).await.unwrap(), EventResult::Told(1));
    assert!(matches!(send(header(&bert())).await.unwrap(), EventResult::Ignored(_)));
    assert_eq!(
        send("not base64!".into()).await.unwrap(),
        EventResult::Told(1),
        "it says nothing about the sender"
    );
}

#[tokio::test]
async fn the_message_printed_in_the_guide_is_heard() {
    let guide = include_str!("../../../../../docs/guide/launch.md");
    let example = guide.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let compose = serde_json::from_str::<Value>(example).unwrap()["compose_id"].as_str().unwrap().to_owned();
    let (office, launch) = waiting(Uuid::try_parse(&compose).unwrap()).await;
    let hear = async |payload: &str| image_events::from_event(&office.engine, payload.as_bytes(), None).await;
    assert_eq!(hear(example).await.unwrap(), EventResult::Told(1));
    assert_eq!(hear(&json!({"compose_id": compose}).to_string()).await.unwrap(), EventResult::Told(1));
    assert_eq!(hear(&json!({"launch_id": launch}).to_string()).await.unwrap(), EventResult::Told(1));
}

#[tokio::test]
async fn what_cannot_be_read_is_for_the_dead_letters() {
    let office = Office::closed();
    for payload in ["", "[]", "{}  ", "{\"compose_id\": 7}"] {
        let received = image_events::from_event(&office.engine, payload.as_bytes(), None).await;
        let Err(ImageEventError::Malformed(why)) = received else { panic!("{payload}: {received:?}") };
        assert!(payload.len() < 3 || why.contains("compose_id"), "{payload}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_that_is_over_hears_nothing() {
    let office = Office::open().await;
    let builder = office.launches.builder.clone().unwrap();
    let compose =
        builder.submit(&(&anna().organisation()).into(), &super::office::build_request()).await.unwrap();
    let mut form = office.form(&anna()).await;
    form.image = RequestedImage::Compose { id: compose };
    let accepted = office.launch(&anna(), &form, None).await.unwrap();
    office.ended(accepted.operation).await;
    assert!(matches!(hear(&office, &event(compose, "000013", "success")).await, EventResult::Ignored(_)));
    assert!(matches!(
        image_events::image_ready(&office.engine, accepted.launch).await.unwrap(),
        EventResult::Ignored(_)
    ));
}

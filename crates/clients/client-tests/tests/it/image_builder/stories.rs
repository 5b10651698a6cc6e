//! What a launch does with Image Builder, from the first call to the last.

use cloud::Architecture;
use identity::{CallerIdentity, Organisation};
use image_builder::{BuildStatus, BuilderError, UploadStatus};
use serde_json::json;

use super::{ImageBuilderFixture, request, who};

#[tokio::test]
async fn a_build_is_made_watched_and_hidden() {
    let fixture = ImageBuilderFixture::new().await;
    fixture.builder.ready(&who()).await.unwrap();
    let id = fixture.builder.submit(&who(), &request("launch 1")).await.unwrap();
    let compose = fixture.builder.status(&who(), id).await.unwrap();
    assert_eq!((compose.status, compose.progress, &compose.error), (BuildStatus::Success, None, &None));
    assert_eq!(compose.architecture, Some(Architecture::Arm64));
    assert_eq!(compose.image_type.as_deref(), Some("aws"));
    assert_eq!(compose.request["image_description"], "launch 1");
    let upload = compose.upload.unwrap();
    assert_eq!((upload.status, upload.kind.as_str()), (UploadStatus::Success, "aws"));
    assert_eq!(upload.region.as_deref(), Some("us-east-1"));
    assert!(upload.ami.unwrap().starts_with("ami-"));
    fixture.builder.hide(&who(), id).await.unwrap();
    fixture.builder.hide(&who(), id).await.unwrap();
    assert_eq!(fixture.builder.status(&who(), id).await, Err(BuilderError::Unknown));
}

#[tokio::test]
async fn a_build_shows_how_far_it_is() {
    let fixture = ImageBuilderFixture::new().await;
    fixture.post("/image-builder/pace", &json!({"building_ms": 7_000_000, "uploading_ms": 1_000_000})).await;
    let id = fixture.builder.submit(&who(), &request("launch 1")).await.unwrap();
    fixture.post("/clock", &json!({"advance_ms": 3_500_000})).await;
    let compose = fixture.builder.status(&who(), id).await.unwrap();
    assert_eq!((compose.status, compose.progress), (BuildStatus::Building, Some((4, 7))));
    let upload = compose.upload.unwrap();
    assert_eq!((upload.status, upload.ami, upload.region), (UploadStatus::Pending, None, None));
    fixture.post("/clock", &json!({"advance_ms": 3_500_000})).await;
    let compose = fixture.builder.status(&who(), id).await.unwrap();
    assert_eq!((compose.status, compose.progress), (BuildStatus::Uploading, None));
    assert!(!compose.status.is_over());
}

#[tokio::test]
async fn others_do_not_see_it() {
    let fixture = ImageBuilderFixture::new().await;
    let id = fixture.builder.submit(&who(), &request("launch 1")).await.unwrap();
    let other = CallerIdentity::from(&Organisation { org: "org-2".into(), account: None });
    assert_eq!(fixture.builder.status(&other, id).await, Err(BuilderError::Unknown));
    fixture.builder.hide(&other, id).await.unwrap();
    assert!(fixture.builder.status(&who(), id).await.is_ok());
}

#[tokio::test]
async fn a_failed_build_says_what_went_wrong_at_the_bottom() {
    let fixture = ImageBuilderFixture::new().await;
    fixture.post("/image-builder/faults/fail", &json!({"at": "building"})).await;
    fixture.post("/image-builder/faults/fail", &json!({"at": "registering"})).await;
    let expected = [
        "making the manifest failed: depsolving failed: no package matches no-such-package",
        "one of the targets failed: the image could not be uploaded: access denied",
    ];
    for words in expected {
        let id = fixture.builder.submit(&who(), &request("launch 1")).await.unwrap();
        let compose = fixture.builder.status(&who(), id).await.unwrap();
        assert_eq!((compose.status, compose.error.as_deref()), (BuildStatus::Failure, Some(words)));
    }
}

#[tokio::test]
async fn a_build_may_keep_its_upload_to_itself() {
    let fixture = ImageBuilderFixture::new().await;
    fixture.post("/image-builder/faults/no_upload", &json!({})).await;
    let id = fixture.builder.submit(&who(), &request("launch 1")).await.unwrap();
    let compose = fixture.builder.status(&who(), id).await.unwrap();
    assert_eq!((compose.status, compose.upload), (BuildStatus::Success, None));
}

#[tokio::test]
async fn requests_stay_out_of_debug() {
    let fixture = ImageBuilderFixture::new().await;
    let mut request = request("launch 1");
    request["customizations"] = json!({"subscription": {"activation-key": "hunter2"}});
    let id = fixture.builder.submit(&who(), &request).await.unwrap();
    let compose = fixture.builder.status(&who(), id).await.unwrap();
    assert_eq!(compose.request["customizations"]["subscription"]["activation-key"], "hunter2");
    let (listed, _) = fixture.builder.page(&who(), 1, 0).await.unwrap();
    assert_eq!(listed[0].request["customizations"]["subscription"]["activation-key"], "hunter2");
    for text in [format!("{compose:?}"), format!("{listed:?}")] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

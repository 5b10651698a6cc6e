//! Projects, images and networks of other organisations.

use client_tests::TestSandbox;
use cloud::{Category, CloudError, InstanceRequest, Page, Provider};
use google::{Google, KeySource, Options, ServiceAccountKey};
use serde_json::{Value, json};

use super::fixture::{SandboxedGoogle, account, account_of, place, request};

#[tokio::test]
async fn the_project_of_another_organisation_cannot_be_used() {
    let fixture = SandboxedGoogle::new().await;
    fixture.world.put("/gcp/projects/theirs", &json!({"labels": {"provision-engine-org": "theirs"}})).await;
    fixture.world.put("/gcp/projects/unlabelled", &json!({})).await;
    for (org, project) in
        [("default", "theirs"), ("default", "unlabelled"), ("default", "unknown"), ("x", "theirs")]
    {
        let account = account_of(org, project);
        let refused = [
            fixture.google.identity(&place(&account)).await.map(drop),
            fixture.google.templates(&place(&account), &Page { limit: 10, token: None }).await.map(drop),
            fixture.google.dry_run(&place(&account), &request("tag-1", 1)).await,
            fixture.google.create(&place(&account), &request("tag-1", 1), "key").await.map(drop),
        ];
        for error in refused.map(Result::unwrap_err) {
            assert_eq!(
                (error.category, error.code.as_str()),
                (Category::Permission, "ProjectNotProved"),
                "{error}"
            );
            assert!(error.message.contains(&format!("provision-engine-org={org}")), "{error}");
        }
    }
    assert_eq!(fixture.calls("instances.bulkInsert").await, 0);
    fixture.google.identity(&place(&account_of("theirs", "theirs"))).await.unwrap();
}

/// The same service account may use all of them, so who names them decides.
#[tokio::test]
async fn images_and_subnetworks_of_other_organisations_cannot_be_used() {
    let fixture = SandboxedGoogle::new().await;
    let theirs = json!({"labels": {"provision-engine-org": "theirs"}, "subnetworks": ["lan"]});
    fixture.world.put("/gcp/projects/theirs", &theirs).await;
    fixture.world.post("/gcp/images", &json!({"project": "theirs", "name": "golden"})).await;
    let image = "projects/theirs/global/images/golden";
    let with_image = InstanceRequest { image: Some(image.to_owned()), ..request("tag-1", 1) };
    let subnet = Some("projects/theirs/regions/us-central1/subnetworks/lan".to_owned());
    let with_subnet = InstanceRequest { subnet, ..request("tag-1", 1) };
    let account = account();
    let place = place(&account);
    let mut errors: Vec<CloudError> = vec![fixture.google.image(&place, image).await.unwrap_err()];
    for request in [&with_image, &with_subnet] {
        errors.push(fixture.google.dry_run(&place, request).await.unwrap_err());
        errors.push(fixture.created(&account, request, "key").await.unwrap_err());
    }
    for error in errors {
        assert_eq!(error.code, "ProjectNotProved", "{error}");
    }
    fixture.assert_standing(0).await;
    let public = "projects/rhel-cloud/global/images/family/rhel-9".to_owned();
    fixture
        .created(&account, &InstanceRequest { image: Some(public), ..request("tag-2", 1) }, "key")
        .await
        .unwrap();
}

#[tokio::test]
async fn each_organisation_can_have_a_service_account_of_its_own() {
    let world = TestSandbox::new().await;
    let template = "pe-{org}@sandbox.iam.gserviceaccount.com";
    let options = Options { impersonate: Some(template.to_owned()), ..Options::beside(&world.sandbox.url()) };
    let google = Google::new(&options).unwrap();
    let trusted = json!({"trusted": ["pe-org-7@sandbox.iam.gserviceaccount.com"]});
    world.put("/gcp/projects/web", &trusted).await;
    let account = account_of("org-7", "web");
    let identity = google.identity(&place(&account)).await.unwrap();
    assert_eq!(identity.name, "pe-org-7@sandbox.iam.gserviceaccount.com");
    for org in ["org-8", "Org-7", "org.7"] {
        let error = google.identity(&place(&account_of(org, "web"))).await.unwrap_err();
        assert!(error.is(Category::Permission), "{org}: {error}");
    }
    let newest = world.get("/gcp/calls").await["newest"].clone();
    let callers: Vec<&Value> = newest.as_array().unwrap().iter().map(|call| &call["caller"]).collect();
    assert!(callers.iter().all(|caller| caller.as_str().unwrap().starts_with("pe-org-")), "{callers:?}");
    for wrong in ["pe@sandbox.iam.gserviceaccount.com", "{org}-{org}@x"] {
        let options = Options { impersonate: Some(wrong.to_owned()), ..options.clone() };
        assert!(Google::new(&options).unwrap_err().to_string().contains("{org}"), "{wrong}");
    }
}

#[tokio::test]
async fn a_key_that_the_cloud_does_not_know_is_a_lack_of_permission() {
    let world = TestSandbox::new().await;
    let beside = Options::beside(&world.sandbox.url());
    let mut key = ServiceAccountKey::parse(&world.get("/gcp/key").await.to_string()).unwrap();
    key.key_id = "deleted".to_owned();
    let google = Google::new(&Options { credentials: Some(KeySource::Key(key)), ..beside.clone() }).unwrap();
    let error = google.identity(&place(&account())).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "invalid_grant"));
    let google = Google::new(&Options { credentials: None, ..beside.clone() }).unwrap();
    let error = google.identity(&place(&account())).await.unwrap_err();
    assert!(error.is(Category::Permission) && error.message.contains("launch.gcp"), "{error}");
    let far = Options { compute: "http://compute.example/compute/v1".to_owned(), ..beside };
    assert!(Google::new(&far).unwrap_err().to_string().contains("https"));
}

//! What is let in, and what is turned away and why.

use std::sync::Arc;
use std::time::Duration;

use ::launch::api::types::NewParameters;
use ::launch::model::accept;
use ::launch::model::builder_identity::ServiceIdentities;
use ::launch::model::cloud::ProviderKind;
use ::launch::model::event_rate::EventRateLimit;
use ::launch::model::form::LaunchForm;
use ::launch::model::identity::{CallerIdentity, ServiceIdentity};
use ::launch::model::numbers;
use ::launch::model::params::{LaunchOwner, RequestedImage};
use ::launch::model::profile::ProfileName;
use ::launch::model::record::LaunchRecord;
use ::launch::model::status::LaunchPhase;
use ::launch::model::{LaunchSettings, Launches};
use ::launch::workflows::notice::Notices;
use engine::Resource;
use engine::secret::ExposeSecret;
use serde_json::{Value, json};
use uuid::Uuid;

use super::office::{Office, anna, bert, build_and_wait, build_request, code, fields, key_line};

#[tokio::test]
async fn a_launch_is_accepted_with_its_record_and_found_by_its_number() {
    let office = Office::closed();
    let form = office.form(&anna()).await;
    let accepted = office.launch(&anna(), &form, None).await.unwrap();
    assert!(!accepted.repeated);
    let row =
        numbers::row::<LaunchRecord>(&office.engine, "org:000013", accepted.number).await.unwrap().unwrap();
    assert_eq!(
        (row.name.as_str(), row.operation),
        (&*LaunchRecord::resource(accepted.launch), Some(accepted.operation))
    );
    let record: LaunchRecord = numbers::read(&row).unwrap();
    assert_eq!((record.stage, record.launch), (LaunchPhase::Accepted, accepted.launch));
    let parameters = record.parameters.unwrap();
    assert_eq!((parameters.region.as_str(), parameters.amount), ("us-east-1", 1));
    assert_eq!(parameters.key.unwrap().line, key_line(1));
    let foreign = numbers::row::<LaunchRecord>(&office.engine, "org:000014", accepted.number).await.unwrap();
    assert_eq!(foreign, None);
}

type RequestChange = fn(&mut LaunchForm, &mut NewParameters);

/// One change to a form that is in order, and the field that is to blame.
#[tokio::test]
async fn every_error_names_its_field() {
    let office = Office::closed();
    let good = office.form(&anna()).await;
    let changes: [(RequestChange, &str); 22] = [
        (|_, p| p.source_id = String::new(), "source_id"),
        (|_, p| p.source_id = "../1".into(), "source_id"),
        (|_, p| p.region = Some("mars-north-1".into()), "region"),
        (|_, p| p.instance_type = Some("t3.enormous".into()), "instance_type"),
        (|_, p| p.instance_type = None, "instance_type"),
        (|_, p| p.amount = Some(0), "amount"),
        (|_, p| p.amount = Some(-1), "amount"),
        (|_, p| p.amount = Some(46), "amount"),
        (|_, p| p.amount = Some(i64::MAX), "amount"),
        (|_, p| p.name = Some("a\nb".into()), "name"),
        (|_, p| p.name = Some("x".repeat(129)), "name"),
        (|_, p| p.pubkey_id = None, "pubkey_id"),
        (|_, p| p.launch_template_id = Some("my template".into()), "launch_template_id"),
        (|_, p| p.subnet = Some("vpc-1".into()), "subnet"),
        (|_, p| p.security_groups = vec!["default".into()], "security_groups"),
        (|_, p| p.security_groups = vec!["sg-1".into(); 6], "security_groups"),
        (|_, p| p.user_data = Some("x".repeat(16 * 1024 + 1)), "user_data"),
        (|f, _| f.image = RequestedImage::Cloud { id: "my image".into() }, "image_id"),
        (|f, _| f.image = RequestedImage::None, "image_id"),
        (|f, _| f.image = RequestedImage::Build { request: json!([]) }, "build"),
        (
            |f, _| f.profile.get_or_insert(ProfileName::Wizard.profile()).image_deadline_s = 0,
            "profile.image_deadline_s",
        ),
        (
            |f, _| f.profile.get_or_insert(ProfileName::Wizard.profile()).parameters_ttl_s = u32::MAX,
            "profile.parameters_ttl_s",
        ),
    ];
    for (index, (change, field)) in changes.into_iter().enumerate() {
        let mut form = good.clone();
        let mut parameters = form.parameters.take().unwrap();
        change(&mut form, &mut parameters);
        form.parameters = Some(parameters);
        let api_error = office.launch(&anna(), &form, None).await.unwrap_err();
        assert_eq!(
            (api_error.status.as_u16(), fields(&api_error)),
            (400, vec![field]),
            "{index}: {api_error:?}"
        );
        assert_eq!(api_error.field.as_deref(), Some(field));
    }
    let deferred = LaunchForm { parameters: None, ..good.clone() };
    let api_error = office.launch(&anna(), &deferred, None).await.unwrap_err();
    assert_eq!(fields(&api_error), ["parameters"]);
    office.launch(&anna(), &good, None).await.unwrap();
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once() {
    let office = Office::closed();
    let mut form = office.form(&anna()).await;
    let parameters = form.parameters.as_mut().unwrap();
    (parameters.amount, parameters.region) = (Some(99), Some("mars".into()));
    parameters.pubkey_id = Some(4711);
    form.image = RequestedImage::Build { request: json!({"image_requests": []}) };
    let api_error = office.launch(&anna(), &form, None).await.unwrap_err();
    let expected = ["pubkey_id", "amount", "region", "build.distribution", "build.image_requests"];
    assert_eq!((api_error.status.as_u16(), fields(&api_error)), (400, expected.to_vec()), "{api_error:?}");
}

#[tokio::test]
async fn what_does_not_exist_or_is_anothers_is_not_found() {
    let office = Office::closed();
    let form = office.form(&anna()).await;
    let api_error = office.launch(&bert(), &form, None).await.unwrap_err();
    assert_eq!((api_error.status.as_u16(), fields(&api_error)), (404, vec!["pubkey_id"]), "{api_error:?}");
    let mut lost = form.clone();
    lost.parameters.as_mut().unwrap().source_id = "4711".into();
    let api_error = office.launch(&anna(), &lost, None).await.unwrap_err();
    assert_eq!(
        (api_error.status.as_u16(), code(&api_error).as_str(), fields(&api_error)),
        (404, "not_found", vec!["source_id"])
    );
}

#[tokio::test]
async fn an_image_that_does_not_fit_is_turned_away_before_it_is_built() {
    let office = Office::closed();
    let good = office.form(&anna()).await;
    let build = |path: &str, value: Value| {
        let mut request = build_request();
        *request.pointer_mut(path).unwrap() = value;
        LaunchForm { image: RequestedImage::Build { request }, ..good.clone() }
    };
    let options = "/image_requests/0/upload_request/options";
    for (form, fields_to_blame) in [
        (build("/image_requests/0/architecture", json!("aarch64")), vec!["instance_type"]),
        (build("/image_requests/0/image_type", json!("vhd")), vec!["build.image_requests[0].image_type"]),
        (build(options, json!({"share_with_accounts": ["999999999999"]})), vec!["source_id"]),
        (build(options, json!({"share_with_sources": ["8"]})), vec!["source_id"]),
        (build(options, json!({"share_with_sources": ["sandbox"]})), vec![]),
        (build("/image_name", json!("web 2")), vec![]),
    ] {
        let answer = office.launch(&anna(), &form, None).await;
        let told = answer.as_ref().err().map(fields).unwrap_or_default();
        assert_eq!(told, fields_to_blame, "{answer:?}");
    }
    let mut elsewhere = build("/image_name", json!("web"));
    elsewhere.parameters.as_mut().unwrap().region = Some("eu-west-1".into());
    let api_error = office.launch(&anna(), &elsewhere, None).await.unwrap_err();
    assert_eq!((fields(&api_error), api_error.hint.as_deref()), (vec!["region"], Some("choose us-east-1")));
}

#[tokio::test]
async fn a_key_that_the_cloud_does_not_accept_is_turned_away() {
    let office = Office::closed();
    let ecdsa = include_str!("../keys/ecdsa_256.pub");
    let key = ::launch::model::public_keys::create(&office.engine, &anna(), "elliptic", ecdsa).await.unwrap();
    let form = super::office::launch_only(key.number);
    let api_error = office.launch(&anna(), &form, None).await.unwrap_err();
    assert_eq!(fields(&api_error), ["pubkey_id"], "{api_error:?}");
    assert!(api_error.detail.contains("ssh-ed25519"), "{api_error:?}");
}

#[tokio::test]
async fn a_template_alone_is_enough_and_noop_needs_nothing() {
    let mut office = Office::closed();
    let mut launches = (*office.launches).clone();
    launches.providers.remove(&ProviderKind::Gcp);
    office.launches = Arc::new(launches);
    let parameters = NewParameters {
        source_id: "sandbox".into(),
        launch_template_id: Some("lt-0123456789abcdef0".into()),
        ..NewParameters::default()
    };
    let template = LaunchForm {
        provider: ProviderKind::Aws,
        image: RequestedImage::None,
        parameters: Some(parameters),
        profile: None,
    };
    office.launch(&anna(), &template, None).await.unwrap();
    let noop = LaunchForm { provider: ProviderKind::Noop, parameters: None, ..template.clone() };
    office.launch(&anna(), &noop, None).await.unwrap();
    let elsewhere = LaunchForm { provider: ProviderKind::Gcp, ..template };
    let api_error = office.launch(&anna(), &elsewhere, None).await.unwrap_err();
    assert_eq!(
        (code(&api_error).as_str(), api_error.field.as_deref()),
        ("provider_not_configured", Some("provider"))
    );
}

#[tokio::test]
async fn the_same_key_means_the_same_launch_and_nothing_else() {
    let office = Office::closed();
    let mut form = office.form(&anna()).await;
    form.parameters.as_mut().unwrap().user_data = Some("#!/bin/sh".into());
    let first = office.launch(&anna(), &form, Some("k-1")).await.unwrap();
    let again = office.launch(&anna(), &form, Some("k-1")).await.unwrap();
    assert_eq!((again.launch, again.number, again.operation), (first.launch, first.number, first.operation));
    assert!(again.repeated);
    // What it named may be gone by now.
    let number = form.parameters.as_ref().unwrap().pubkey_id.unwrap();
    ::launch::model::public_keys::delete(&office.engine, &anna(), number).await.unwrap();
    assert!(office.launch(&anna(), &form, Some("k-1")).await.unwrap().repeated);
    for change in [
        (|f| f.parameters.as_mut().unwrap().amount = Some(2)) as fn(&mut LaunchForm),
        |f| f.parameters.as_mut().unwrap().user_data = Some("#!/bin/bash".into()),
        |f| f.image = RequestedImage::Cloud { id: "ami-0abc0000000000002".into() },
        |f| f.profile = Some(ProfileName::Events.profile()),
    ] {
        let mut other = form.clone();
        change(&mut other);
        let api_error = office.launch(&anna(), &other, Some("k-1")).await.unwrap_err();
        assert_eq!((api_error.status.as_u16(), code(&api_error).as_str()), (409, "idempotency_key_reused"));
    }
    let theirs = office.form(&bert()).await;
    let other = office.launch(&bert(), &theirs, Some("k-1")).await.unwrap();
    assert_ne!(other.launch, first.launch);
}

#[tokio::test]
async fn a_build_that_is_asked_for_twice_is_one_and_another_build_is_not() {
    let office = Office::closed();
    let first = office.launch(&anna(), &build_and_wait(), Some("k")).await.unwrap();
    assert_eq!(
        office.launch(&anna(), &build_and_wait(), Some("k")).await.unwrap().operation,
        first.operation
    );
    let mut request = build_request();
    request["customizations"]["users"][0]["password"] = json!("hunter3");
    let other = LaunchForm { image: RequestedImage::Build { request }, ..build_and_wait() };
    assert_eq!(office.launch(&anna(), &other, Some("k")).await.unwrap_err().status, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_requests_with_one_key_at_once_are_one_launch() {
    let office = std::sync::Arc::new(Office::closed());
    let form = office.form(&anna()).await;
    let asking: Vec<_> = (0..16)
        .map(|_| {
            let (office, form) = (std::sync::Arc::clone(&office), form.clone());
            tokio::spawn(async move { office.launch(&anna(), &form, Some("k")).await.unwrap() })
        })
        .collect();
    let mut first = 0;
    let mut operations = std::collections::HashSet::new();
    for asked in asking {
        let accepted = asked.await.unwrap();
        first += u32::from(!accepted.repeated);
        operations.insert(accepted.operation);
    }
    assert_eq!((first, operations.len()), (1, 1));
}

#[tokio::test]
async fn launches_may_not_come_too_fast_nor_be_too_many() {
    let fast = Office::closed_with(LaunchSettings::default(), EventRateLimit::default());
    let form = fast.form(&anna()).await;
    let mut refused = None;
    for _ in 0..12 {
        refused = refused.or(fast.launch(&anna(), &form, None).await.err());
    }
    let refused = refused.unwrap();
    assert_eq!((refused.status.as_u16(), code(&refused).as_str()), (429, "too_fast"));
    assert!(refused.retry_after.is_some_and(|after| after <= Duration::from_secs(1)), "{refused:?}");

    let settings = LaunchSettings { active_max: 2, ..LaunchSettings::default() };
    let full = Office::closed_with(settings, EventRateLimit::new(1000));
    let form = full.form(&anna()).await;
    full.launch(&anna(), &form, Some("1")).await.unwrap();
    full.launch(&anna(), &form, None).await.unwrap();
    let refused = full.launch(&anna(), &form, None).await.unwrap_err();
    assert_eq!((refused.status.as_u16(), code(&refused).as_str()), (429, "too_many_launches"));
    assert!(refused.retry_after.is_some());
    assert!(full.launch(&anna(), &form, Some("1")).await.unwrap().repeated);
    let theirs = full.form(&bert()).await;
    full.launch(&bert(), &theirs, None).await.unwrap();
}

#[tokio::test]
async fn nothing_secret_is_saved_in_clear() {
    let office = Office::closed();
    let mut form = office.form(&anna()).await;
    form.image = build_and_wait().image;
    form.parameters.as_mut().unwrap().user_data = Some("token=hunter2".into());
    let accepted = office.launch(&anna(), &form, None).await.unwrap();
    let inspection = office.engine.inspect(accepted.operation).await.unwrap().unwrap();
    let row = office.engine.resource(&LaunchRecord::resource(accepted.launch)).await.unwrap().unwrap();
    assert_eq!(row.kind, LaunchRecord::KIND);
    assert!(inspection.shown.params.contains("sealed:1:"));
    assert!(!format!("{}{}", inspection.shown.params, row.record).contains("hunter2"));
}

#[tokio::test]
async fn the_identity_of_the_caller_is_saved_and_cannot_be_read() {
    let office = Office::closed();
    let mut form = office.form(&anna()).await;
    form.image = build_and_wait().image;
    let identity = CallerIdentity::from(&anna().organisation());
    let accepted = accept::launch(&office.launches, &office.engine, &anna(), Some(&identity), &form, None)
        .await
        .unwrap();
    let inspection = office.engine.inspect(accepted.operation).await.unwrap().unwrap();
    let saved: Value = serde_json::from_str(&inspection.shown.params).unwrap();
    assert!(saved["identity"].as_str().unwrap().starts_with("sealed:1:"), "{saved}");
    let row = office.engine.resource(&LaunchRecord::resource(accepted.launch)).await.unwrap().unwrap();
    assert!(!format!("{saved}{}", row.record).contains(identity.expose_secret()));
}

#[tokio::test]
async fn an_organisation_without_an_identity_at_the_image_builder_is_told_which_setting_is_missing() {
    let office = Office::open_with(|_, launches| {
        let identities = ServiceIdentities::of_sandbox("000014");
        (Launches { identities, ..launches }, Notices::none())
    })
    .await;
    for image in [build_and_wait().image, RequestedImage::Compose { id: Uuid::from_u128(7) }] {
        let form = LaunchForm { image, ..office.form(&anna()).await };
        let api_error = office.launch(&anna(), &form, None).await.unwrap_err();
        assert_eq!(
            (api_error.status.as_u16(), code(&api_error).as_str()),
            (403, "no_service_identity"),
            "{api_error:?}"
        );
        assert!(api_error.detail.contains("launch.service_identities"), "{api_error:?}");
    }
    // An image of the cloud needs none.
    office.launch(&anna(), &office.form(&anna()).await, None).await.unwrap();
    let form = LaunchForm { image: build_and_wait().image, ..office.form(&bert()).await };
    office.launch(&bert(), &form, None).await.unwrap();
}

#[tokio::test]
async fn only_what_the_caller_may_build_is_accepted() {
    let office = Office::open_with(|_, launches| {
        let plain = ServiceIdentities::new([("000014".to_owned(), ServiceIdentity::default())].into());
        (
            Launches { identities: plain.or(ServiceIdentities::of_sandbox("000013")), ..launches },
            Notices::none(),
        )
    })
    .await;
    let asks = async |who: &LaunchOwner, path: &str, value: &str| {
        let mut request = build_request();
        *request.pointer_mut(path).unwrap() = json!(value);
        let form = LaunchForm { image: RequestedImage::Build { request }, ..office.form(who).await };
        office.launch(who, &form, None).await
    };
    for (who, name) in [
        (&bert(), "rhel-9"),
        (&bert(), "rhel-9.6"),
        (&anna(), "rhel-96"),
        (&anna(), "fedora-43"),
        (&anna(), "rhel-9-nightly"),
        (&anna(), ".."),
    ] {
        let api_error = asks(who, "/distribution", name).await.unwrap_err();
        assert_eq!(
            (api_error.status.as_u16(), fields(&api_error)),
            (400, vec!["build.distribution"]),
            "{api_error:?}"
        );
        let hint = api_error.hint.as_deref().unwrap();
        assert!(hint.contains("centos-9") && hint.contains("rhel-9.6") == (who.org == "000013"), "{hint}");
    }
    for (who, name) in [(&anna(), "rhel-9.6"), (&anna(), "rhel-8.10"), (&bert(), "centos-9")] {
        asks(who, "/distribution", name).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_someone_had_built_is_looked_at_first() {
    let office = Office::open().await;
    let mut form = office.form(&anna()).await;
    form.image = RequestedImage::Compose { id: Uuid::from_u128(7) };
    let api_error = office.launch(&anna(), &form, None).await.unwrap_err();
    assert_eq!((api_error.status.as_u16(), fields(&api_error)), (404, vec!["image_id"]), "{api_error:?}");

    let builder = office.launches.builder.clone().unwrap();
    let mut request = build_request();
    request["image_requests"][0]["architecture"] = json!("aarch64");
    let id = builder.submit(&(&anna().organisation()).into(), &request).await.unwrap();
    form.image = RequestedImage::Compose { id };
    let api_error = office.launch(&anna(), &form, None).await.unwrap_err();
    assert_eq!(fields(&api_error), ["instance_type"], "{api_error:?}");
    form.parameters.as_mut().unwrap().instance_type = Some("t4g.small".into());
    office.launch(&anna(), &form, None).await.unwrap();

    // It belongs to another client.
    let mut theirs = office.form(&bert()).await;
    theirs.image = RequestedImage::Compose { id };
    assert_eq!(office.launch(&bert(), &theirs, None).await.unwrap_err().status, 404);
}

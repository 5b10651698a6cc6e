//! Parameters that come later.

use std::sync::Arc;

use ::launch::api::types::NewParameters;
use ::launch::model::api_error::LaunchApiError;
use ::launch::model::params::{LaunchOwner, Parameters};
use ::launch::model::record::LaunchRecord;
use ::launch::model::submit_parameters;
use engine::{Phase, PhaseVerb};
use uuid::Uuid;

use super::office::{Office, anna, bert, build_and_wait, code, fields, parameters};

async fn submit_parameters(
    office: &Office,
    who: &LaunchOwner,
    launch: Uuid,
    form: &NewParameters,
) -> Result<(), LaunchApiError> {
    submit_parameters::parameters(&office.launches, &office.engine, who, launch, form).await
}

#[tokio::test]
async fn the_first_parameters_count_and_the_same_again_are_welcome() {
    let office = Office::closed();
    let key = office.new_key(&anna(), 1).await;
    let launch = office.launch(&anna(), &build_and_wait(), None).await.unwrap().launch;
    let first = NewParameters { user_data: Some("token=hunter2".into()), ..parameters(key.number) };
    submit_parameters(&office, &anna(), launch, &first).await.unwrap();
    submit_parameters(&office, &anna(), launch, &first).await.unwrap();
    for other in [
        NewParameters { amount: Some(2), ..first.clone() },
        NewParameters { user_data: Some("token=hunter3".into()), ..first.clone() },
        NewParameters { user_data: None, ..first.clone() },
    ] {
        let api_error = submit_parameters(&office, &anna(), launch, &other).await.unwrap_err();
        assert_eq!((api_error.status.as_u16(), code(&api_error).as_str()), (409, "parameters_given"));
    }
    let row = office.engine.resource(&LaunchRecord::parameters_of(launch)).await.unwrap().unwrap();
    assert!(!row.record.contains("hunter2"), "{}", row.record);
    let kept: Parameters = serde_json::from_str(&row.record).unwrap();
    assert_eq!(kept.amount, 1);
    // It is in no list, and goes by itself long after the launch.
    assert!(row.gone_at.is_some_and(|at| at > office.engine.now()));
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_refused_and_the_launch_waits_on() {
    let office = Office::closed();
    let key = office.new_key(&anna(), 1).await;
    let launch = office.launch(&anna(), &build_and_wait(), None).await.unwrap().launch;
    let good = parameters(key.number);
    for (form, field) in [
        (NewParameters { instance_type: Some("t4g.small".into()), ..good.clone() }, "instance_type"),
        (NewParameters { region: Some("eu-west-1".into()), ..good.clone() }, "region"),
        (NewParameters { amount: Some(0), ..good.clone() }, "amount"),
        (NewParameters { user_data: Some("x".repeat(20_000)), ..good.clone() }, "user_data"),
    ] {
        let api_error = submit_parameters(&office, &anna(), launch, &form).await.unwrap_err();
        assert_eq!((api_error.status.as_u16(), fields(&api_error)), (422, vec![field]), "{api_error:?}");
    }
    let lost = NewParameters { pubkey_id: Some(4711), ..good.clone() };
    assert_eq!(submit_parameters(&office, &anna(), launch, &lost).await.unwrap_err().status, 404);
    submit_parameters(&office, &anna(), launch, &good).await.unwrap();
}

#[tokio::test]
async fn parameters_are_for_ones_own_launches_that_wait_for_some() {
    let office = Office::closed();
    let form = office.form(&anna()).await;
    let key = form.parameters.as_ref().unwrap().pubkey_id.unwrap();
    let waiting = office.launch(&anna(), &build_and_wait(), None).await.unwrap().launch;
    let theirs = office.new_key(&bert(), 1).await.number;
    let api_error = submit_parameters(&office, &bert(), waiting, &parameters(theirs)).await.unwrap_err();
    assert_eq!((api_error.status.as_u16(), api_error.detail.as_str()), (404, "there is no such launch"));
    assert_eq!(office.engine.resource(&LaunchRecord::parameters_of(waiting)).await.unwrap(), None);
    assert_eq!(
        submit_parameters(&office, &anna(), Uuid::from_u128(7), &parameters(key)).await.unwrap_err().status,
        404
    );
    let complete = office.launch(&anna(), &form, None).await.unwrap().launch;
    let api_error = submit_parameters(&office, &anna(), complete, &parameters(key)).await.unwrap_err();
    assert_eq!((api_error.status.as_u16(), code(&api_error).as_str()), (409, "conflict"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_come_at_once_one_counts() {
    let office = Arc::new(Office::closed());
    let key = office.new_key(&anna(), 1).await.number;
    let launch = office.launch(&anna(), &build_and_wait(), None).await.unwrap().launch;
    let giving: Vec<_> = (1..=16)
        .map(|amount| {
            let office = Arc::clone(&office);
            let form = NewParameters { amount: Some(amount), ..parameters(key) };
            tokio::spawn(
                async move { submit_parameters(&office, &anna(), launch, &form).await.map(|()| amount) },
            )
        })
        .collect();
    let mut taken = Vec::new();
    for given in giving {
        match given.await.unwrap() {
            Ok(amount) => taken.push(amount),
            Err(api_error) => assert_eq!(code(&api_error), "parameters_given"),
        }
    }
    let row = office.engine.resource(&LaunchRecord::parameters_of(launch)).await.unwrap().unwrap();
    let kept: Parameters = serde_json::from_str(&row.record).unwrap();
    assert_eq!(taken, [i64::from(kept.amount)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn given_parameters_lead_to_instances_and_a_launch_that_is_over_takes_none() {
    let office = Office::open().await;
    let key = office.new_key(&anna(), 1).await.number;
    let accepted = office.launch(&anna(), &build_and_wait(), None).await.unwrap();
    submit_parameters(&office, &anna(), accepted.launch, &parameters(key)).await.unwrap();
    let ended = office.ended(accepted.operation).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(office.standing("instance").await, 1);

    let accepted = office.launch(&anna(), &build_and_wait(), None).await.unwrap();
    office.engine.ask(accepted.operation, PhaseVerb::Cancel, "anna", "").await.unwrap();
    office.ended(accepted.operation).await;
    let api_error = submit_parameters(&office, &anna(), accepted.launch, &parameters(key)).await.unwrap_err();
    assert_eq!((api_error.status.as_u16(), code(&api_error).as_str()), (409, "launch_over"));
}

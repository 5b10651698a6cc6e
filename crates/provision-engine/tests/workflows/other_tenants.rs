//! Every name of a shared thing that a user can send, tried with the name of another tenant. What the external system
//! has counted decides, and not what the engine answered; the owner succeeds with the same name.

use std::sync::Arc;
use std::time::Duration;

use ::launch::model::Launches;
use ::launch::model::cloud::{Access, ProviderKind};
use ::launch::model::form::LaunchForm;
use ::launch::model::params::{LaunchOwner, RequestedImage};
use ::launch::model::sources::{self, NewSource, SourceDirectory};
use ::launch::model::{public_keys, source_access};
use ::launch::workflows::notice::Notices;
use ::runtimes::model::InstanceRecord;
use ::runtimes::model::accounts::Accounts;
use ::runtimes::workflows::{deprovision, provision};
use ::sources::SourcesApi;
use engine::{Phase, WallClock};
use reqwest::Method;
use serde_json::{Value, json};
use testing::TestEngine;

use crate::launch_model::office::{Office, anna, bert, build_request, key_line, launch_only};
use crate::runtime_test::{instance, write};
use crate::world::WorkflowFixture;

/// Anna's account, and the role in it that demands the external id of her organisation.
const HERS: &str = "210987654321";
const ROLE: &str = "arn:aws:iam::210987654321:role/launcher";

/// With a Sources API or with sources of the engine's own.
async fn office(is_outside: bool) -> Office {
    let office = Office::open_with(|sandbox, launches| {
        let url = format!("{}/api/sources/v3.1", sandbox.url());
        let directory = SourceDirectory::outside(SourcesApi::new(&url, Duration::from_secs(5)).unwrap());
        let accounts = if is_outside { directory } else { launches.accounts.clone() };
        (Launches { accounts, ..launches }, Notices::none())
    })
    .await;
    let demanded = json!({ROLE: format!("provision-engine:{}", anna().org)});
    office.call(Method::PUT, "/aws/external_ids", &demanded).await;
    office
}

/// How many calls AWS has taken in the name of Anna's account since it was asked last.
async fn entered(office: &Office) -> usize {
    let calls = office.get("/aws/calls").await;
    office.call(Method::DELETE, "/aws/calls", &Value::Null).await;
    calls["newest"].as_array().unwrap().iter().filter(|call| call["account"] == HERS).count()
}

async fn add(office: &Office, id: &str, org: &str, external_id: Option<&str>) {
    let mut source = json!({"id": id, "name": id, "provider": "aws", "org": org, "account": ROLE});
    if let Some(external_id) = external_id {
        source["external_id"] = external_id.into();
    }
    office.call(Method::POST, "/sources/known", &source).await;
}

/// What an organisation could write to be taken for Anna's.
fn forged() -> [String; 4] {
    let org = anna().org;
    [
        format!("provision-engine:{org}"),
        format!("Provision-Engine:{org}"),
        "provision-engine:".to_owned(),
        format!("provision-engine:{org}0"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_organisation_has_the_role_of_another_taken_from_a_sources_api() {
    let office = office(true).await;
    add(&office, "71", &anna().org, None).await;
    source_access::status(&office.launches, &anna(), "71").await.unwrap();
    assert!(entered(&office).await > 0, "the owner gets in");
    for external_id in forged().iter().map(|id| Some(id.as_str())).chain([None, Some(""), Some("guessed")]) {
        add(&office, "72", &bert().org, external_id).await;
        let refused = source_access::status(&office.launches, &bert(), "72").await.unwrap_err();
        assert_eq!(refused.status.as_u16(), 403, "{external_id:?} {refused:?}");
        assert_eq!(entered(&office).await, 0, "{external_id:?}");
    }
    // A source of another organisation is none at all.
    assert_eq!(source_access::status(&office.launches, &bert(), "71").await.unwrap_err().status, 404);
    assert_eq!(entered(&office).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_organisation_has_the_role_of_another_taken_from_a_source_kept_here() {
    let office = office(false).await;
    let (launches, engine) = (&office.launches, &office.engine);
    let source = |external_id: Option<&str>| NewSource {
        name: "hers".into(),
        provider: ProviderKind::Aws,
        access: Access::Role { arn: ROLE.into(), external_id: external_id.map(Into::into) },
    };
    let hers = sources::create(launches, engine, &anna(), &source(None)).await.unwrap();
    source_access::status(launches, &anna(), &hers.id).await.unwrap();
    assert!(entered(&office).await > 0, "the owner gets in");
    for external_id in forged().iter().map(|id| Some(id.as_str())).chain([None, Some("guessed")]) {
        if let Ok(made) = sources::create(launches, engine, &bert(), &source(external_id)).await {
            assert_eq!(source_access::status(launches, &bert(), &made.id).await.unwrap_err().status, 403);
        }
        assert_eq!(entered(&office).await, 0, "{external_id:?}");
    }
    assert_eq!(source_access::status(launches, &bert(), &hers.id).await.unwrap_err().status, 404);
    assert_eq!(entered(&office).await, 0);
}

/// A launch, whether it is refused at once or later. It makes no instance.
async fn makes_nothing(office: &Office, who: &LaunchOwner, form: &LaunchForm, what: &str) {
    if let Ok(accepted) = office.launch(who, form, None).await {
        let ended = office.ended(accepted.operation).await;
        assert_ne!(ended.shown.summary.phase, Phase::Succeeded, "{what}");
    }
    assert_eq!((entered(office).await, office.standing("instance").await), (0, 0), "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_uses_no_source_key_or_image_of_another_organisation() {
    let office = office(false).await;
    let access = Access::Role { arn: ROLE.into(), external_id: None };
    let new = NewSource { name: "hers".into(), provider: ProviderKind::Aws, access };
    let hers = sources::create(&office.launches, &office.engine, &anna(), &new).await.unwrap();
    let key = office.new_key(&anna(), 1).await;
    let own = office.new_key(&bert(), 2).await;
    let builder = office.launches.builder.clone().unwrap();
    let compose = builder.submit(&(&anna().organisation()).into(), &build_request()).await.unwrap();
    let ami = json!({"ami": "ami-0abc0000000000099", "region": "us-east-1", "architecture": "x86_64",
        "accounts": [HERS]});
    office.call(Method::POST, "/aws/images", &ami).await;

    let mut with_her_source = launch_only(own.number);
    with_her_source.parameters.as_mut().unwrap().source_id.clone_from(&hers.id);
    let with_her_build =
        LaunchForm { image: RequestedImage::Compose { id: compose }, ..launch_only(own.number) };
    let image = RequestedImage::Cloud { id: "ami-0abc0000000000099".into() };
    let with_her_image = LaunchForm { image, ..launch_only(own.number) };
    for (what, form) in [
        ("source", with_her_source),
        ("public key", launch_only(key.number)),
        ("build", with_her_build),
        ("image", with_her_image),
    ] {
        makes_nothing(&office, &bert(), &form, what).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_pair_that_another_organisation_needs_is_not_deleted() {
    let office = office(false).await;
    let form = office.form(&anna()).await;
    let hers = form.parameters.as_ref().unwrap().pubkey_id.unwrap();
    let accepted = office.launch(&anna(), &form, None).await.unwrap();
    office.ended(accepted.operation).await;
    assert_eq!(office.standing("key_pair").await, 1);
    // The number of a key is no secret.
    let refused = public_keys::delete(&office.engine, &bert(), hers).await.unwrap_err();
    assert_eq!(refused.status.as_u16(), 404);
    let same = public_keys::create(&office.engine, &bert(), "key 1", &key_line(1)).await.unwrap();
    let deletion = public_keys::delete(&office.engine, &bert(), same.number).await.unwrap();
    office.ended(deletion).await;
    assert_eq!(office.standing("key_pair").await, 1, "bert has deleted the key pair that anna uploaded");
}

const ACCOUNTS: &str = "\
- {name: of-alpha, provider: azure, tenant: alpha}
- {name: claimed, provider: azure}
- {name: for-all, provider: azure, shared: true}
- {name: for-all-gcp, provider: gcp, shared: true}
";

#[tokio::test]
async fn a_cluster_runs_in_no_cloud_account_of_another_tenant() {
    let world = WorkflowFixture::start().await;
    let mut drivers = world.drivers(None);
    let store: Arc<dyn engine::store::Store> = Arc::new(engine::store::MemoryStore::new());
    drivers.accounts = Accounts::new(Accounts::parse(ACCOUNTS).unwrap(), Arc::clone(&store));
    let builder = TestEngine::plan(store, Arc::new(WallClock)).workflow(provision::plan(&drivers));
    let test_engine = TestEngine::open(builder.workflow(deprovision::plan(&drivers)), None).await;
    for (tenant, target, account) in [
        // Alpha has one of its own, gamma claims the free one.
        ("alpha", None, Some("of-alpha")),
        ("alpha", Some("of-alpha"), Some("of-alpha")),
        ("gamma", None, Some("claimed")),
        ("gamma", Some("claimed"), Some("claimed")),
        ("beta", Some("for-all"), Some("for-all")),
        // Names of others, of other providers, and of nothing.
        ("beta", Some("of-alpha"), None),
        ("beta", Some("claimed"), None),
        ("alpha", Some("claimed"), None),
        ("beta", Some("for-all-gcp"), None),
        ("beta", Some("never-heard-of"), None),
    ] {
        let id = format!("i-{tenant}-{}", target.unwrap_or("any"));
        let mut parameters = json!({"name": "n", "region": "westeurope"});
        if let Some(target) = target {
            parameters["targetSecret"] = target.into();
        }
        let record = InstanceRecord {
            account: tenant.into(),
            ..instance(&test_engine.engine, &id, parameters, json!({}))
        };
        let resource = InstanceRecord::resource(&id);
        write(&test_engine.engine, &resource, &record).await;
        let operation =
            test_engine.submit("runtime.provision", Some(&resource), json!({"instance_id": id})).await;
        let ended = test_engine.finished(operation).await;
        let phase = if account.is_some() { Phase::Succeeded } else { Phase::Failed };
        assert_eq!(ended.shown.summary.phase, phase, "{id}: {:?}", ended.memory.last_error);
        assert_eq!(used(&world, &id).await.as_deref(), account, "{id}");
    }
}

/// The account that the Provisioner was told for the cluster of an instance.
async fn used(world: &WorkflowFixture, instance: &str) -> Option<String> {
    let all = world.get("/provisioner/runtimes").await;
    let text = |value: &Value| value.to_string();
    let runtime = all["runtimes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| text(one).contains(&format!("\"{instance}\"")))?;
    let sent = text(runtime);
    let (_, rest) = sent.split_once("\"targetSecret\":\"").unwrap_or_else(|| panic!("{sent}"));
    rest.split_once('"').map(|(account, _)| account.to_owned())
}

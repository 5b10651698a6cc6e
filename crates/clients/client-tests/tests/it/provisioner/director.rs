//! What the director knows, and what it is told.

use director::Director;
use provisioner::Provisioner;

use super::fixture::{CALLER, ProvisionerFixture, runtime};

#[tokio::test]
async fn runtimes_are_found_by_label_and_shown_with_all_labels() {
    let ProvisionerFixture { sandbox: _sandbox, provisioner, director, .. } =
        &ProvisionerFixture::new().await;
    for instance_id in ["i-1", "i-2", "i-\"3\" \\"] {
        provisioner.provision_runtime(CALLER, &runtime(instance_id)).await.unwrap();
        let found = director.runtimes_by_label("ga-1", "broker_instance_id", instance_id).await.unwrap();
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.name.as_str(), found.condition.as_deref()), ("n", Some("CONNECTED")));
        assert_eq!(found.labels["broker_instance_id"], instance_id);
        assert_eq!(found.labels["runtime_consoleUrl"], "https://console.c-1234567.sandbox.local");
        assert_eq!(director.runtime("ga-1", &found.id).await.unwrap().as_ref(), Some(found));
        assert_eq!(director.runtime("ga-2", &found.id).await.unwrap(), None);
    }
    for (tenant, key, value) in [
        ("ga-2", "broker_instance_id", "i-1"),
        ("ga-1", "broker_instance_id", "i-9"),
        ("ga-1", "global_subaccount_id", "i-1"),
    ] {
        assert_eq!(director.runtimes_by_label(tenant, key, value).await.unwrap(), []);
    }
    assert_eq!(director.runtimes_by_label("ga-1", "global_subaccount_id", "sa-1").await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_label_is_set_any_number_of_times() {
    let ProvisionerFixture { sandbox: _sandbox, provisioner, director, .. } =
        &ProvisionerFixture::new().await;
    let started = provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap();
    let id = started.runtime_id.unwrap();
    for value in ["a", "a", "b \"c\""] {
        director.set_label("ga-1", &id, "colour", value).await.unwrap();
        assert_eq!(director.runtime("ga-1", &id).await.unwrap().unwrap().labels["colour"], value);
    }
    let error = director.set_label("ga-1", "no-such", "colour", "a").await.unwrap_err();
    assert_eq!(error.to_string(), "director refused: the runtime \"no-such\" was not found");
    assert!(director.runtime("", &id).await.unwrap_err().is_final());
}

#[tokio::test]
async fn all_pages_are_read() {
    let ProvisionerFixture { sandbox: _sandbox, provisioner, director, .. } =
        &ProvisionerFixture::new().await;
    for _ in 0..205 {
        provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap();
    }
    let found = director.runtimes_by_label("ga-1", "broker_instance_id", "i-1").await.unwrap();
    let ids: std::collections::BTreeSet<_> = found.iter().map(|runtime| &runtime.id).collect();
    assert_eq!((found.len(), ids.len()), (205, 205));
}

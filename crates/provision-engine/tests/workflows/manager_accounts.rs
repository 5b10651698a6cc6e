//! Cloud accounts that are resources of a Gardener project.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ::http_client::DriverError;
use ::infrastructure_manager::{BindingUsage, Claim, CredentialsBinding, CredentialsBindings};
use ::runtimes::backend::BackendKind;
use ::runtimes::model::InstanceRecord;
use ::runtimes::model::account_rules::AccountRules;
use ::runtimes::model::bound_accounts::BoundAccounts;
use ::runtimes::model::records::Records;
use ::runtimes::workflows::{deprovision, provision};
use async_trait::async_trait;
use engine::store::{MemoryStore, Store};
use engine::{Phase, WallClock};
use serde_json::json;
use testing::TestEngine;

use crate::runtime_matrix::only_the_instance;
use crate::runtime_test::{Before, RuntimeTest, instance, read, write};
use crate::world::Drivers;

/// Two accounts, one of them shared, and a count of the clusters in each.
#[derive(Default)]
struct Garden {
    bindings: Mutex<BTreeMap<String, CredentialsBinding>>,
    usage: Mutex<BindingUsage>,
}

impl Garden {
    fn with(names: &[&str]) -> Garden {
        let garden = Garden::default();
        for &name in names {
            let labels = [("hyperscalerType".to_owned(), "azure".to_owned())].into();
            let (name, provider) = (name.to_owned(), "azure".to_owned());
            let (uid, resource_version) = (name.clone(), "1".to_owned());
            let binding = CredentialsBinding { name: name.clone(), uid, resource_version, labels, provider };
            garden.bindings.lock().unwrap().insert(name, binding);
        }
        garden
    }

    fn label(&self, name: &str, label: &str) -> Option<String> {
        self.bindings.lock().unwrap()[name].labels.get(label).cloned()
    }

    /// Labels the version that was read and no other.
    fn write(&self, read: &CredentialsBinding, label: &str, value: &str) -> Claim {
        let mut bindings = self.bindings.lock().unwrap();
        let there = bindings.get_mut(&read.name).unwrap();
        if there.resource_version != read.resource_version {
            return Claim::Lost;
        }
        there.labels.insert(label.to_owned(), value.to_owned());
        there.resource_version = format!("{}1", there.resource_version);
        Claim::Won(there.clone())
    }
}

#[async_trait]
impl CredentialsBindings for Garden {
    async fn list(&self, selector: &str) -> Result<Vec<CredentialsBinding>, DriverError> {
        let all: Vec<CredentialsBinding> = self.bindings.lock().unwrap().values().cloned().collect();
        let fits = |binding: &CredentialsBinding, part: &str| {
            let label = |name: &str| binding.labels.get(name).map(String::as_str);
            if let Some(absent) = part.strip_prefix('!') {
                return label(absent).is_none();
            }
            if let Some((name, value)) = part.split_once("!=") {
                return label(name) != Some(value);
            }
            let (name, value) = part.split_once('=').unwrap();
            label(name) == Some(value)
        };
        Ok(all.into_iter().filter(|binding| selector.split(',').all(|part| fits(binding, part))).collect())
    }

    async fn get(&self, name: &str) -> Result<Option<CredentialsBinding>, DriverError> {
        Ok(self.bindings.lock().unwrap().get(name).cloned())
    }

    async fn claim(&self, binding: &CredentialsBinding, tenant: &str) -> Result<Claim, DriverError> {
        Ok(self.write(binding, "tenantName", tenant))
    }

    async fn mark_dirty(&self, binding: &CredentialsBinding) -> Result<Claim, DriverError> {
        Ok(self.write(binding, "dirty", "true"))
    }

    async fn usage(&self) -> Result<BindingUsage, DriverError> {
        Ok(self.usage.lock().unwrap().clone())
    }
}

#[tokio::test]
async fn an_account_is_claimed_for_a_tenant_and_dirty_when_its_last_cluster_is_gone() {
    let backend = BackendKind::InfrastructureManager;
    let plan = |drivers: &Drivers| provision::plan(drivers);
    let mut test = RuntimeTest::on(backend, plan, Before::Asked, only_the_instance).await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let garden = Arc::new(Garden::with(&["one", "two"]));
    test.drivers.bound_accounts = Some(BoundAccounts {
        bindings: Arc::clone(&garden) as Arc<_>,
        rules: Arc::new(AccountRules::built_in(&test.drivers.runtimes.catalog)),
        clusters_max: None,
        records: Records::new(Arc::clone(&store)),
    });
    let builder = TestEngine::plan(store, Arc::new(WallClock));
    let builder = builder.workflow(provision::plan(&test.drivers)).workflow(deprovision::plan(&test.drivers));
    let test_engine = TestEngine::open(builder, None).await;
    let run = async |workflow: &'static str, id: &str| {
        let params = json!({"instance_id": id});
        let id = test_engine.submit(workflow, Some(&InstanceRecord::resource(id)), params).await;
        test_engine.finished(id).await
    };
    for (id, account, expect) in [("i-1", "ga-1", "one"), ("i-2", "ga-2", "two"), ("i-3", "ga-1", "one")] {
        let parameters = json!({"name": "n", "region": "westeurope"});
        let mut record = instance(&test_engine.engine, id, parameters, json!({}));
        record.account = account.to_owned();
        write(&test_engine.engine, &InstanceRecord::resource(id), &record).await;
        let ended = run("runtime.provision", id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        let record: InstanceRecord = read(&test_engine.engine, &InstanceRecord::resource(id)).await;
        assert_eq!(record.cloud_account.as_deref(), Some(expect));
        assert_eq!(garden.label(expect, "tenantName").as_deref(), Some(account));
    }
    run("runtime.deprovision", "i-1").await;
    assert_eq!(garden.label("one", "dirty"), None, "another cluster of the tenant is in it");
    run("runtime.deprovision", "i-3").await;
    assert_eq!(garden.label("one", "dirty").as_deref(), Some("true"));
    assert_eq!(garden.label("two", "dirty"), None);
}

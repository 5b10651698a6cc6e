//! Every protocol that writes two records one after the other, in every order of the calls of two or three callers.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ::launch::api::types::NewParameters;
use ::launch::model::params::Parameters;
use ::launch::model::record::{LaunchRecord, Notice, NoticeEvent};
use ::launch::model::{outbox, public_keys, submit_parameters};
use ::launch::workflows::notice::{self, Notices};
use ::runtimes::model::InstanceRecord;
use ::runtimes::model::accounts::{AccountUser, Accounts};
use ::runtimes::model::catalog::Provider;
use engine::due::Backoff;
use engine::store::{Expect, OperationQuery, Receipt, ResourceQuery, ResourceWrite, Store, Write};
use engine::{Clock, Engine, Phase, Resource};
use serde_json::{Value, json};
use testing::{TestEngine, count};

use crate::launch_model::office::{Office, anna, build_and_wait, key_line, launch_only, parameters};
use crate::runtime_test::instance;
use crate::stepped_store::{Interleaving, SetClock, answer, in_every_order};

fn engine_on(store: Arc<dyn Store>, clock: &Arc<SetClock>) -> Engine {
    TestEngine::plan(store, Arc::clone(clock) as Arc<dyn Clock>).build()
}

fn office_on(store: Arc<dyn Store>, clock: &Arc<SetClock>) -> Office {
    // The clients of the clouds are made once: nothing is called here.
    static FIRST: LazyLock<Office> = LazyLock::new(Office::closed);
    FIRST.moved_to(store, Arc::clone(clock) as Arc<dyn Clock>)
}

/// The steps of one cluster that touch its account: the claim, and the record that names the account.
struct InterleavedCluster {
    id: &'static str,
    tenant: &'static str,
    accounts: Accounts,
    store: Arc<dyn Store>,
    clock: Arc<SetClock>,
}

const ONLY: &str = "- {name: only, provider: azure}";

impl InterleavedCluster {
    fn new(
        id: &'static str,
        tenant: &'static str,
        store: Arc<dyn Store>,
        clock: &Arc<SetClock>,
    ) -> InterleavedCluster {
        let accounts = Accounts::new(Accounts::parse(ONLY).unwrap(), Arc::clone(&store));
        InterleavedCluster { id, tenant, accounts, store, clock: Arc::clone(clock) }
    }

    /// As the step that provisions saves it: only its own operation writes the record.
    async fn names(&self, cloud_account: Option<String>) {
        let engine = engine_on(Arc::clone(&self.store), &self.clock);
        let name = InstanceRecord::resource(self.id);
        let row = self.store.resource(&name).await.unwrap();
        let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
        let record = instance(&engine, self.id, json!({}), json!({}));
        let record = InstanceRecord { account: self.tenant.into(), cloud_account, ..record };
        let record_update = Some(record.record_update().unwrap());
        let write =
            ResourceWrite { name, tenant: "test".into(), expect, record_update, at: self.clock.now() };
        let receipt = self.store.commit(Write::Resource(Box::new(write))).await.unwrap();
        assert_eq!(receipt, Receipt::Saved);
    }

    async fn provision(&self) -> Option<String> {
        let resource = InstanceRecord::resource(self.id);
        let user = AccountUser { tenant: self.tenant, resource: &resource, provider: Provider::Azure };
        let account = self.accounts.claim(user, self.clock.now()).await.unwrap();
        if account.is_some() {
            self.names(account.clone()).await;
        }
        account
    }

    async fn deprovision(&self) {
        self.names(None).await;
        self.accounts
            .release(self.tenant, &InstanceRecord::resource(self.id), self.clock.now())
            .await
            .unwrap();
    }
}

/// The tenants whose clusters run in the account.
async fn tenants(store: &Arc<dyn Store>) -> BTreeSet<String> {
    let query = ResourceQuery {
        kind: InstanceRecord::KIND.into(),
        labels: vec![("cloud_account".into(), vec!["only".into()])],
        limit: 10,
        ..ResourceQuery::default()
    };
    let rows = store.resources(&query).await.unwrap().rows;
    rows.iter().map(|row| serde_json::from_str::<InstanceRecord>(&row.record).unwrap().account).collect()
}

#[tokio::test]
async fn a_dedicated_account_never_has_two_tenants_and_is_free_in_the_end() {
    let schedules = in_every_order(
        3,
        async |stage: &mut Interleaving| {
            let clock = Arc::clone(&stage.clock);
            InterleavedCluster::new("q", "T", Arc::clone(&stage.truth), &clock).provision().await.unwrap();
            let [leaves, comes, other] = [("q", "T"), ("p", "T"), ("u", "U")].map(|(id, tenant)| {
                let clock = Arc::clone(&clock);
                move |store: Arc<dyn Store>| InterleavedCluster::new(id, tenant, store, &clock)
            });
            stage.enter(|store| async move { leaves(store).deprovision().await });
            stage.enter(|store| async move { comes(store).provision().await });
            stage.enter(|store| async move { other(store).provision().await });
        },
        async |stage: &Interleaving, ()| {
            assert!(tenants(&stage.truth).await.len() <= 1, "{:?}", tenants(&stage.truth).await);
            for (id, tenant) in [("q", "T"), ("p", "T"), ("u", "U")] {
                let cluster = InterleavedCluster::new(id, tenant, Arc::clone(&stage.truth), &stage.clock);
                cluster.deprovision().await;
            }
            let next = InterleavedCluster::new("v", "V", Arc::clone(&stage.truth), &stage.clock);
            assert_eq!(next.provision().await.as_deref(), Some("only"), "the account is free again");
        },
    )
    .await;
    count("interleavings", u64::try_from(schedules).unwrap());
    assert!(schedules > 100, "{schedules}");
}

#[tokio::test]
async fn a_name_has_one_key_however_late_a_process_comes_back() {
    let schedules = in_every_order(
        3,
        async |stage: &mut Interleaving| {
            stage.time_passes(Duration::from_secs(31));
            [1, 2].map(|number| {
                let clock = Arc::clone(&stage.clock);
                stage.enter(move |store| async move {
                    let engine = engine_on(store, &clock);
                    public_keys::create(&engine, &anna(), "laptop", &key_line(number)).await
                })
            })
        },
        async |stage: &Interleaving, made| {
            let engine = engine_on(Arc::clone(&stage.truth), &stage.clock);
            let listed = public_keys::list(&engine, &anna(), 10, 0, false).await.unwrap();
            let made: Vec<_> = made.iter().filter_map(|made| answer(made).ok()).collect();
            assert_eq!(listed.keys, made, "what was answered is what there is");
            assert!(made.len() <= 1, "{made:?}");
            // The name belongs to that key, now and later.
            stage.clock.turn(Duration::from_secs(31));
            let third = public_keys::create(&engine, &anna(), "laptop", &key_line(3)).await;
            assert_eq!(third.is_ok(), made.is_empty(), "{third:?}");
        },
    )
    .await;
    count("interleavings", u64::try_from(schedules).unwrap());
    assert!(schedules > 100, "{schedules}");
}

#[tokio::test]
async fn a_key_that_is_deleted_while_its_name_is_wanted_leaves_no_name_twice() {
    let schedules = in_every_order(
        3,
        async |stage: &mut Interleaving| {
            let office = office_on(Arc::clone(&stage.truth), &stage.clock);
            let number =
                public_keys::create(&office.engine, &anna(), "laptop", &key_line(1)).await.unwrap().number;
            let clock = Arc::clone(&stage.clock);
            let deleted = stage.enter(move |store| async move {
                public_keys::delete(&office_on(store, &clock).engine, &anna(), number).await.map(drop)
            });
            let clock = Arc::clone(&stage.clock);
            let made = stage.enter(move |store| async move {
                public_keys::create(&engine_on(store, &clock), &anna(), "laptop", &key_line(2))
                    .await
                    .map(drop)
            });
            (deleted, made)
        },
        async |stage: &Interleaving, (deleted, made)| {
            answer(&deleted).unwrap();
            let engine = engine_on(Arc::clone(&stage.truth), &stage.clock);
            let listed = public_keys::list(&engine, &anna(), 10, 0, false).await.unwrap();
            assert_eq!(listed.keys.len(), usize::from(answer(&made).is_ok()), "{listed:?}");
        },
    )
    .await;
    count("interleavings", u64::try_from(schedules).unwrap());
    assert!(schedules > 20, "{schedules}");
}

#[tokio::test]
async fn the_same_launch_that_comes_twice_at_once_is_one_launch() {
    let schedules = in_every_order(
        2,
        async |stage: &mut Interleaving| {
            let office = office_on(Arc::clone(&stage.truth), &stage.clock);
            let key = office.new_key(&anna(), 1).await.number;
            [(); 2].map(|()| {
                let clock = Arc::clone(&stage.clock);
                stage.enter(move |store| async move {
                    office_on(store, &clock).launch(&anna(), &launch_only(key), Some("k-1")).await.unwrap()
                })
            })
        },
        async |stage: &Interleaving, made| {
            let [one, two] = made.map(|made| answer(&made));
            assert_eq!((one.launch, one.number, one.operation), (two.launch, two.number, two.operation));
            assert!(one.repeated != two.repeated);
            let query =
                OperationQuery { workflow: Some("launch".into()), limit: 10, ..OperationQuery::default() };
            let all = stage.truth.list(&query).await.unwrap();
            assert!(all.len() <= 1, "{all:?}");
        },
    )
    .await;
    count("interleavings", u64::try_from(schedules).unwrap());
    assert!(schedules > 20, "{schedules}");
}

#[tokio::test]
async fn of_two_parameters_for_one_launch_the_first_ones_count() {
    let schedules = in_every_order(
        2,
        async |stage: &mut Interleaving| {
            let office = office_on(Arc::clone(&stage.truth), &stage.clock);
            let key = office.new_key(&anna(), 1).await.number;
            let launch = office.launch(&anna(), &build_and_wait(), None).await.unwrap().launch;
            let given = [1, 2].map(|amount| {
                let clock = Arc::clone(&stage.clock);
                stage.enter(move |store| async move {
                    let office = office_on(store, &clock);
                    let form = NewParameters { amount: Some(amount), ..parameters(key) };
                    submit_parameters::parameters(&office.launches, &office.engine, &anna(), launch, &form)
                        .await
                })
            });
            (launch, given)
        },
        async |stage: &Interleaving, (launch, given)| {
            let row = stage.truth.resource(&LaunchRecord::parameters_of(launch)).await.unwrap().unwrap();
            let kept: Parameters = serde_json::from_str(&row.record).unwrap();
            let given = given.map(|given| answer(&given).is_ok());
            assert_eq!(given, [kept.amount == 1, kept.amount == 2]);
        },
    )
    .await;
    count("interleavings", u64::try_from(schedules).unwrap());
    assert!(schedules > 20, "{schedules}");
}

fn printer(store: Arc<dyn Store>, clock: &Arc<SetClock>) -> Engine {
    // Never started: nothing is sent there.
    static NOTICES: LazyLock<Notices> = LazyLock::new(|| Notices::beside("http://127.0.0.1:9").unwrap());
    TestEngine::plan(store, Arc::clone(clock) as Arc<dyn Clock>).workflow(notice::plan(&NOTICES)).build()
}

/// Changes a record as everybody does: only what no other client has written since.
async fn rewrite(engine: &Engine, name: &str, change: fn(&mut LaunchRecord)) {
    for _ in 0..5 {
        let row = engine.resource(name).await.unwrap().unwrap();
        let mut record: LaunchRecord = serde_json::from_str(&row.record).unwrap();
        change(&mut record);
        let (expect, record_update) = (Expect::Version(row.version), Some(record.record_update().unwrap()));
        if engine.write_resource(name, &row.tenant, expect, record_update).await.unwrap() {
            return;
        }
    }
    panic!("the record is changed all the time");
}

#[tokio::test]
async fn nodes_that_empty_one_outbox_at_once_lose_no_notice_and_send_it_once() {
    let schedules = in_every_order(
        3,
        async |stage: &mut Interleaving| {
            let office = office_on(Arc::clone(&stage.truth), &stage.clock);
            let key = office.new_key(&anna(), 1).await.number;
            let launch = office.launch(&anna(), &launch_only(key), None).await.unwrap().launch;
            let name = LaunchRecord::resource(launch);
            let ends = |record: &mut LaunchRecord| {
                let (id, at) = (uuid::Uuid::from_u128(7), engine::Timestamp(0));
                record.notices = vec![Notice { id, event: NoticeEvent::LaunchFailed, at }];
            };
            rewrite(&office.engine, &name, ends).await;
            // Another process writes the record meanwhile.
            let (clock, its) = (Arc::clone(&stage.clock), name.clone());
            stage.enter(move |store| async move {
                let lost = |record: &mut LaunchRecord| record.finished_at = Some(engine::Timestamp(7));
                rewrite(&engine_on(store, &clock), &its, lost).await;
            });
            for _ in 0..2 {
                let clock = Arc::clone(&stage.clock);
                stage.enter(move |store| async move {
                    outbox::sweep(&printer(store, &clock), &mut Backoff::default()).await.unwrap()
                });
            }
            name
        },
        async |stage: &Interleaving, name| {
            outbox::sweep(&printer(Arc::clone(&stage.truth), &stage.clock), &mut Backoff::default())
                .await
                .unwrap();
            let row = stage.truth.resource(&name).await.unwrap().unwrap();
            let record: Value = serde_json::from_str(&row.record).unwrap();
            assert_eq!(record.get("notices"), None, "{record}");
            assert!(record.get("finished_at").is_some(), "{record}");
            let query = OperationQuery {
                workflow: Some("notice.deliver".into()),
                limit: 10,
                ..OperationQuery::default()
            };
            let told = stage.truth.list(&query).await.unwrap();
            assert_eq!(told.len(), 1, "{told:?}");
            assert_eq!(told[0].phase, Phase::Pending);
        },
    )
    .await;
    count("interleavings", u64::try_from(schedules).unwrap());
    assert!(schedules > 20, "{schedules}");
}

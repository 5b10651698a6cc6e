//! Declared workflows on each store: replicas that declare at the same time agree in the end, and versions are given once.

use std::collections::BTreeSet;
use std::sync::Arc;

use declared::{Declarations, DeclareError, Reach, Source, StepClient};
use engine::WallClock;
use engine::store::Store;
use futures_util::future::join_all;
use testing::TestEngine;

use crate::store_fixture::{StoreFixture, memory, postgres, sqlite};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const NAME: &str = "acme.database";

fn text(number: usize) -> String {
    format!(
        "{{workflow: {NAME}, title: Number {number}, steps: [{{name: make, weight: 1, title: Making it, \
         url: 'http://127.0.0.1:9/'}}]}}"
    )
}

struct Replica {
    test_engine: TestEngine,
    declarations: Arc<Declarations>,
}

impl Replica {
    async fn open(fixture: &StoreFixture) -> Replica {
        let store: Arc<dyn Store> = Arc::clone(&fixture.store) as Arc<dyn Store>;
        let test_engine = TestEngine::open(TestEngine::plan(store, Arc::new(WallClock)), None).await;
        let client = StepClient::new(Reach::default()).unwrap();
        let declarations = Declarations::new(test_engine.engine.clone(), client);
        Replica { test_engine, declarations }
    }

    async fn declare(&self, number: usize) -> u32 {
        let declaration = self.declarations.check(&text(number)).unwrap();
        let by = format!("writer {number}");
        let saved = self.declarations.declare(&declaration, Some(SECRET.into()), &by, &Source::Api).await;
        saved.unwrap().version
    }

    /// What new operations begin with, and the numbers and digests of all versions that are kept.
    async fn known(&self) -> (Option<u32>, Vec<(u32, String)>) {
        self.declarations.read_changes().await.unwrap();
        let head = self.declarations.get(NAME).unwrap().head;
        let versions = head.versions.iter().map(|line| (line.version, line.digest.clone())).collect();
        assert_eq!(self.test_engine.engine.workflow(NAME).and_then(|info| info.version), head.offered);
        (head.offered, versions)
    }
}

async fn replicas_agree_on_versions(fixture: StoreFixture) {
    let (a, b) = (Replica::open(&fixture).await, Replica::open(&fixture).await);
    assert_eq!(a.declare(0).await, 1);
    assert_eq!(b.declare(0).await, 1, "the same content through another replica");
    let both = (1..=5).flat_map(|number| [(&a, number), (&b, number + 5)]);
    let given = join_all(both.map(|(replica, number)| replica.declare(number))).await;
    let numbers: BTreeSet<u32> = given.iter().copied().collect();
    assert_eq!(numbers, (2..=11).collect(), "each content is one version: {given:?}");
    let (offered, versions) = a.known().await;
    assert_eq!((offered, &versions), (Some(11), &b.known().await.1));
    assert_eq!(
        versions.iter().map(|(version, _)| *version).collect::<Vec<_>>(),
        (1..=11).collect::<Vec<_>>()
    );
    for (version, digest) in &versions {
        let record = b.declarations.version(NAME, *version).await.unwrap().unwrap();
        assert_eq!(record.digest, *digest, "the content of version {version}");
        assert_eq!(b.declarations.check(&record.text).unwrap().digest, *digest);
    }

    b.declarations.withdraw(NAME, "ann", &Source::Api).await.unwrap();
    assert_eq!(a.declarations.read_changes().await, Ok(()));
    assert!(a.test_engine.engine.workflow(NAME).is_none(), "it has ended for the other replica as well");
    let again = a.declarations.withdraw(NAME, "ann", &Source::Api).await;
    assert!(matches!(again, Err(DeclareError::Missing(_))), "{again:?}");
    assert_eq!(b.declare(0).await, 12, "numbers go on after an end");
    assert_eq!(a.known().await.0, Some(12));

    // One that starts later knows the same.
    let late = Replica::open(&fixture).await;
    assert_eq!(late.known().await, a.known().await);
    for replica in [a, b, late] {
        replica.test_engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_agree_on_versions_in_memory() {
    replicas_agree_on_versions(memory().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_agree_on_versions_on_sqlite() {
    replicas_agree_on_versions(sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_agree_on_versions_on_postgres() {
    replicas_agree_on_versions(postgres().await).await;
}

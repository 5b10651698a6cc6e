//! Overrides that operators keep in files and in labelled objects.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ::runtimes::model::override_source::{OverrideFiles, OverrideObjects, OverrideSource};
use async_trait::async_trait;
use engine::overrides::Value as Override;
use engine::secret::ExposeSecret;
use engine::{Clock, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::WorkflowFixture;

const CANARY: &str = "c4n4ry-51d0";

/// `component.key=value`, in the order in which they apply; a secret has an exclamation mark.
async fn shown(source: &dyn OverrideSource, plan: &str, version: &str) -> Vec<String> {
    let sets = source.overrides(plan, version).await.unwrap();
    assert!(!format!("{sets:?}").contains(CANARY));
    let mut lines = Vec::new();
    for set in &sets {
        for (key, value) in &set.entries {
            let text = match value {
                Override::Public(text) => text.clone(),
                Override::Plain(text) => panic!("what operators write may be shown: {key} {text}"),
                Override::Secret(secret) => format!("!{}", secret.expose_secret()),
            };
            lines.push(format!("{}.{key}={text}", set.component.as_deref().unwrap_or("*")));
        }
    }
    lines
}

/// Writes the file so that its change is seen, however coarse the clock of the file system is.
fn put(dir: &Path, name: &str, text: &str) {
    static TICKS: AtomicI64 = AtomicI64::new(1);
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    let tick = u64::try_from(TICKS.fetch_add(1, Ordering::SeqCst)).unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + tick);
    fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
}

const FILES: [(&str, &str); 4] = [
    (
        "b.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  labels: {runtime-override: \"true\", component: core}\n\
         type: Opaque\ndata:\n  b: aHVudGVyMg==\nstringData:\n  a: x\n---\n\
         kind: ConfigMap\nmetadata: {name: m, labels: {provisioning-runtime-override: \"true\"}}\ndata: {z: \"1\", y: \"2\"}\n",
    ),
    ("a.yml", "name: short\nlabels: {component: core}\ndata: {b: from a}\n"),
    (
        "c.yaml",
        "---\nname: only azure\nlabels: {overrides-plan-azure: true, overrides-version-pr-7: true}\ndata: {y: \"3\"}\n---\n",
    ),
    ("d.yaml", "{name: own secret, secret: true, data: {s: t}}"),
];

#[tokio::test]
async fn the_order_is_by_kind_and_name_whatever_the_order_on_the_disk() {
    let everywhere = ["core.a=!x", "core.b=!hunter2", "*.s=!t", "core.b=from a", "*.y=2", "*.z=1"];
    let mut azure = everywhere.to_vec();
    azure.push("*.y=3");
    // All orders in which the files can come to the disk.
    for first in 0..4 {
        for second in 0..3 {
            for third in 0..2 {
                let dir = TempDir::new().unwrap();
                let mut left = FILES.to_vec();
                for pick in [first, second, third, 0] {
                    let (name, text) = left.remove(pick);
                    put(dir.path(), name, text);
                }
                put(dir.path(), "README.md", "not a list of overrides");
                put(dir.path(), ".b.yaml.swp.yaml", "[");
                let files = OverrideFiles::open(dir.path()).unwrap();
                assert_eq!(shown(&files, "gcp", "1.24.8").await, everywhere);
                assert_eq!(shown(&files, "azure", "PR-7").await, azure);
            }
        }
    }
}

#[tokio::test]
async fn a_change_is_seen_and_a_wrong_file_applies_as_it_was() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "a.yaml", "{name: a, data: {k: \"1\"}}");
    put(dir.path(), "b.yaml", "{name: b, data: {l: \"1\"}}");
    let files = OverrideFiles::open(dir.path()).unwrap();
    put(dir.path(), "a.yaml", "{name: a, data: {k: \"2\"}}");
    assert_eq!(shown(&files, "p", "v").await, ["*.k=2", "*.l=1"], "the same length, another time");
    put(dir.path(), "a.yaml", "{name: a, data: {k: \"33\"");
    fs::remove_file(dir.path().join("b.yaml")).unwrap();
    assert_eq!(shown(&files, "p", "v").await, ["*.k=2"]);
    fs::remove_file(dir.path().join("a.yaml")).unwrap();
    symlink("nowhere", dir.path().join("a.yaml")).unwrap();
    assert_eq!(shown(&files, "p", "v").await, ["*.k=2"]);
    fs::remove_file(dir.path().join("a.yaml")).unwrap();
    put(dir.path(), "a.yaml", "{name: a, data: {k: \"4\"}}");
    assert_eq!(shown(&files, "p", "v").await, ["*.k=4"]);
    fs::remove_file(dir.path().join("a.yaml")).unwrap();
    assert!(shown(&files, "p", "v").await.is_empty());
    let gone = dir.path().to_owned();
    drop(dir);
    let error = files.overrides("p", "v").await.unwrap_err();
    assert!(!error.is_final() && !gone.exists(), "{error}");
}

/// Writes to a buffer that the test can read.
#[derive(Clone, Default)]
struct LogCapture(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for LogCapture {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_wrong_file_is_warned_about_once_per_change_with_its_line_and_no_value() {
    let log = LogCapture::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
    // The file is read on a thread of its own, so the subscriber is for the whole runtime of this test.
    let subscriber = Arc::new(subscriber);
    let on_thread = Arc::clone(&subscriber);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(move || {
            std::mem::forget(tracing::subscriber::set_default(Arc::clone(&on_thread)));
        })
        .build()
        .unwrap();
    runtime.block_on(async {
        let dir = TempDir::new().unwrap();
        put(dir.path(), "a.yaml", "{name: a, data: {k: \"1\"}}");
        let files = OverrideFiles::open(dir.path()).unwrap();
        let wrong = format!("name: a\nsecret: true\ndata:\n  k: \"{CANARY}\"\n  k: [{CANARY}\n");
        for change in 1..=2 {
            put(dir.path(), "a.yaml", &wrong);
            for _ in 0..3 {
                assert_eq!(shown(&files, "p", "v").await, ["*.k=1"]);
            }
            let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
            assert_eq!(text.matches("WARN").count(), change, "{text}");
            assert!(text.contains("a.yaml") && text.contains("line 5"), "{text}");
            assert!(!text.contains(CANARY), "{text}");
        }
    });
}

#[test]
fn what_cannot_be_used_is_refused_at_the_start_by_file_and_line() {
    let big = format!("{{name: a, data: {{k: \"{}\"}}}}", "x".repeat(1024 * 1024));
    let many: String =
        (0..10_001).fold("name: a\ndata:\n".into(), |text, n| text + &format!("  k{n}: \"\"\n"));
    let secret = format!("kind: Secret\nmetadata: {{name: s}}\ndata: {{k: \"{CANARY}!\"}}\n");
    for (text, parts) in [
        (big.as_str(), ["a.yaml", "longer than 1048576 bytes"]),
        (&many, ["10001 overrides", "at most 10000"]),
        (&secret, ["the document at line 1", "data.k must be base64"]),
        (
            "{name: a, data: {k: \"1\"}}\n---\nname: b\ndata: {k: 1.10}\n",
            ["at line 3", "data.k must be text"],
        ),
        ("data: {}\nname: b\nname: c\n", ["a.yaml", "line 3"]),
        ("name: a\nsecrt: true\ndata: {}\n", ["unknown field", "secrt"]),
        ("kind: Deployment\nmetadata: {name: d}\n", ["kind must be", "ConfigMap or Secret"]),
        ("kind: ConfigMap\nmetadata: {name: d}\nstringData: {a: b}\n", ["ConfigMap", "no stringData"]),
        ("- a\n- b\n", ["a.yaml", "must be an object"]),
        ("name: a\nlabels: {component: [x]}\ndata: {}\n", ["the label component", "must be text"]),
    ] {
        let dir = TempDir::new().unwrap();
        put(dir.path(), "a.yaml", text);
        let error = OverrideFiles::open(dir.path()).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{text:.60}: {error}");
        assert!(!error.contains(CANARY), "{error}");
    }
    let dir = TempDir::new().unwrap();
    for number in 0..=1000 {
        fs::write(dir.path().join(format!("{number}.yaml")), "").unwrap();
    }
    assert!(OverrideFiles::open(dir.path()).unwrap_err().contains("more than 1000 files"));
}

#[tokio::test]
async fn links_work_inside_the_directory_and_do_not_lead_out() {
    let (dir, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let at = dir.path();
    // As Kubernetes mounts a ConfigMap, and renews it.
    for (version, value) in [("..1", "1"), ("..2", "2")] {
        fs::create_dir(at.join(version)).unwrap();
        fs::write(at.join(version).join("a.yaml"), format!("{{name: a, data: {{k: \"{value}\"}}}}")).unwrap();
    }
    symlink("..1", at.join("..data")).unwrap();
    symlink("..data/a.yaml", at.join("a.yaml")).unwrap();
    let files = OverrideFiles::open(at).unwrap();
    assert_eq!(shown(&files, "p", "v").await, ["*.k=1"]);
    symlink("..2", at.join("..new")).unwrap();
    fs::rename(at.join("..new"), at.join("..data")).unwrap();
    assert_eq!(shown(&files, "p", "v").await, ["*.k=2"]);

    fs::write(outside.path().join("b.yaml"), "{name: b, data: {l: \"1\"}}").unwrap();
    symlink(outside.path().join("b.yaml"), at.join("b.yaml")).unwrap();
    assert_eq!(shown(&files, "p", "v").await, ["*.k=2"]);
    let error = OverrideFiles::open(at).unwrap_err();
    assert!(error.contains("b.yaml") && error.contains("leads out of the directory"), "{error}");
}

#[derive(Default)]
struct HandClock(AtomicI64);

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    async fn sleep(&self, _: Duration) {}

    fn chance(&self) -> u64 {
        0
    }
}

async fn object(world: &WorkflowFixture, plural: &str, name: &str, labels: Value, data: Value) {
    let field = if plural == "secrets" { "stringData" } else { "data" };
    let object = json!({"metadata": {"name": name, "labels": labels}, field: data});
    world.make_object("kcp-system", plural, &object).await;
}

#[tokio::test]
async fn objects_of_a_cluster_apply_by_their_labels_and_are_asked_for_now_and_then() {
    let world = WorkflowFixture::start().await;
    let drivers = world.drivers(None);
    let cluster = drivers.clusters.open(&world.control_plane().await).unwrap();
    let clock = Arc::new(HandClock::default());
    let objects = OverrideObjects::new(cluster, "kcp-system".into(), Arc::clone(&clock) as Arc<dyn Clock>);
    let (plan, version) = ("overrides-plan-azure", "overrides-version-1.24.8");
    let both = json!({plan: "true", version: "true", "component": "core"});
    object(&world, "configmaps", "m-2", both.clone(), json!({"b": "2", "a": "2"})).await;
    object(&world, "configmaps", "m-1", both, json!({"b": "1"})).await;
    object(&world, "configmaps", "m-0", json!({"provisioning-runtime-override": "true"}), json!({"g": "0"}))
        .await;
    object(&world, "configmaps", "m-3", json!({plan: "true"}), json!({"b": "3"})).await;
    object(&world, "configmaps", "m-4", json!({"runtime-override": "true"}), json!({"b": "4"})).await;
    object(&world, "secrets", "z", json!({"runtime-override": "true"}), json!({"s": CANARY})).await;
    let twice = json!({"runtime-override": "true", "provisioning-runtime-override": "true"});
    object(&world, "secrets", "y", twice, json!({"s": "t"})).await;
    let secrets = ["*.s=!t".to_owned(), format!("*.s=!{CANARY}")];
    let everywhere = [&secrets[..], &["*.g=0".to_owned()]].concat();
    let azure = [&everywhere[..], &["core.b=1", "core.a=2", "core.b=2"].map(str::to_owned)].concat();
    assert_eq!(shown(&objects, "azure", "1.24.8").await, azure);
    assert_eq!(shown(&objects, "gcp", "1.24.8").await, everywhere);
    assert_eq!(shown(&objects, "azure", "1.24.8=true,x").await, everywhere, "no part of a selector");
    assert!(!format!("{objects:?}").contains(CANARY));

    object(&world, "configmaps", "n", json!({"provisioning-runtime-override": "true"}), json!({"n": "1"}))
        .await;
    assert_eq!(shown(&objects, "gcp", "1.24.8").await, everywhere, "asked a moment ago");
    clock.0.store(5_000_000, Ordering::SeqCst);
    assert_eq!(shown(&objects, "gcp", "1.24.8").await.len(), everywhere.len() + 1);
    world.fault(&json!({"system": "cluster", "kind": "error", "status": 500})).await;
    clock.0.store(10_000_000, Ordering::SeqCst);
    let error = objects.overrides("gcp", "1.24.8").await.unwrap_err();
    assert!(!error.is_final(), "{error}");
}

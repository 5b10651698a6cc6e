//! What the stand-in for Infrastructure Manager does with a runtime.

use serde_json::{Value, json};

use super::controller::{ObjectWork, Task};
use super::faults::{ManagerFault, ManagerFaultKind, Work};
use super::kinds::KubeKind;
use super::store::ObjectKey;
use super::{GARDEN_NAMESPACE, stamp};
use crate::delays::later;
use crate::ledger::{Effect, LedgerSystem};

const FINALIZER: &str = "runtime-controller.infrastructure-manager.kyma-project.io/deletion-hook";
const FORCE: &str = "operator.kyma-project.io/force-patch-reconciliation";
/// One for each runtime for which a cluster was made; it stands until the cluster is gone.
const CLUSTER: Effect = Effect { system: LedgerSystem::InfrastructureManager, kind: "cluster" };
/// One for each version of Kubernetes that the cluster of a runtime was brought to.
const UPGRADE: Effect = Effect { system: LedgerSystem::InfrastructureManager, kind: "upgrade" };
/// Without these Infrastructure Manager cannot make a shoot of a runtime.
const NEEDED_LABELS: [&str; 8] = [
    "kyma-project.io/instance-id",
    "kyma-project.io/runtime-id",
    "kyma-project.io/region",
    "operator.kyma-project.io/kyma-name",
    "kyma-project.io/broker-plan-id",
    "kyma-project.io/broker-plan-name",
    "kyma-project.io/global-account-id",
    "kyma-project.io/subaccount-id",
];

/// What Infrastructure Manager did with a runtime of this name.
#[derive(Debug, Default)]
pub(super) struct RuntimeRecord {
    taken_up: i64,
    version: String,
}

pub(super) fn take_up(work: &mut ObjectWork<'_>) {
    // Infrastructure Manager stops here without the label, before it looks at a deletion.
    if work.label("kyma-project.io/runtime-id").is_empty() {
        return;
    }
    let generation = work.generation();
    let is_new = !is_provisioned(&work.object);
    work.controller.records.entry(work.key.name.clone()).or_default().taken_up = generation;
    if work.is_being_deleted() {
        take_up_deletion(work, generation);
        return;
    }
    work.add_finalizer(FINALIZER);
    work.change(|object| {
        if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
            annotations.remove(FORCE);
            if annotations.is_empty()
                && let Some(metadata) = object["metadata"].as_object_mut()
            {
                metadata.remove("annotations");
            }
        }
    });
    let kind = if is_new { Work::Create } else { Work::Update };
    if let Some(why) = conversion_error(&work.object) {
        fail(work, "ConversionErr", &why, &[]);
        return;
    }
    let (reason, message) =
        if is_new { ("Initialised", "Runtime initialised") } else { ("Processing", "Shoot update started") };
    let began = work.condition("Provisioned", reason, "Unknown", message);
    if is_new {
        let request = work.label("kyma-project.io/instance-id").to_owned();
        work.outside.ledger.make(CLUSTER, &work.key.name, &request);
    }
    work.set_status("Pending", &[began]);
    let kinds = [ManagerFaultKind::Failed, ManagerFaultKind::Pending];
    if let Some(fault) = work.outside.faults.next_for(&kinds, Some(kind), &work.object) {
        stumble(work, &fault, generation);
        return;
    }
    let delays = &work.controller.delays;
    if is_new {
        let at = later(work.now, delays.create_ms);
        work.controller.schedule(at, Task::Finish(work.key.clone(), generation));
    } else {
        let at = later(work.now, delays.update_ms);
        work.controller.schedule_when_seen(at, work.key.clone(), generation);
    }
}

fn is_provisioned(object: &Value) -> bool {
    object["status"]["provisioningCompleted"] == true
}

fn conversion_error(object: &Value) -> Option<String> {
    let labels = &object["metadata"]["labels"];
    let missing = NEEDED_LABELS.iter().find(|label| labels[**label].as_str().unwrap_or_default().is_empty());
    if let Some(label) = missing {
        return Some(format!("label {label} is empty"));
    }
    let workers = object["spec"]["shoot"]["provider"]["workers"].as_array().map_or(0, Vec::len);
    (workers != 1).then(|| format!("one worker is needed, got {workers}"))
}

/// The work ends as Failed, or does not go on.
fn stumble(work: &mut ObjectWork<'_>, fault: &ManagerFault, generation: i64) {
    let message = fault.message.as_deref().unwrap_or("a scripted failure");
    if fault.kind == ManagerFaultKind::Failed {
        fail(work, fault.reason.as_deref().unwrap_or("ProcessingErr"), message, &fault.codes);
        return;
    }
    let reason = fault.reason.as_deref().unwrap_or("GardenerErr");
    let condition = work.condition("Provisioned", reason, "False", message);
    work.set_status("Pending", &[condition]);
    add_shoot_error(work, message, &fault.codes);
    if let Some(lasts_ms) = fault.lasts_ms {
        let at = later(work.now, lasts_ms);
        work.controller.schedule(at, Task::Finish(work.key.clone(), generation));
    }
}

fn fail(work: &mut ObjectWork<'_>, reason: &str, message: &str, codes: &[String]) {
    let condition = work.condition("Provisioned", reason, "False", message);
    work.set_status("Failed", &[condition]);
    add_shoot_error(work, message, codes);
}

fn add_shoot_error(work: &mut ObjectWork<'_>, message: &str, codes: &[String]) {
    if codes.is_empty() {
        return;
    }
    let now = stamp(work.now);
    let kind = if is_provisioned(&work.object) { "Reconcile" } else { "Create" };
    work.change(|object| {
        object["status"]["shootLastErrors"] = json!([{"description": message, "codes": codes}]);
        object["status"]["shootLastOperation"] = json!({
            "type": kind, "state": "Failed", "progress": 47, "description": message, "lastUpdateTime": now,
        });
    });
}

fn take_up_deletion(work: &mut ObjectWork<'_>, generation: i64) {
    let condition =
        work.condition("Deprovisioned", "GardenerClusterDeleted", "Unknown", "Runtime deletion started");
    work.set_status("Terminating", &[condition]);
    // The kubeconfig goes before the cluster does.
    for (kind, name) in kubeconfig_objects(&work.key.name) {
        work.store.remove(&ObjectKey::new(kind, &work.key.namespace, &name));
    }
    let kinds = [ManagerFaultKind::Failed, ManagerFaultKind::Pending];
    if let Some(fault) = work.outside.faults.next_for(&kinds, Some(Work::Delete), &work.object) {
        let message = fault.message.as_deref().unwrap_or("a scripted failure");
        let reason = fault.reason.as_deref().unwrap_or("GardenerErr");
        let condition = work.condition("Deprovisioned", reason, "False", message);
        let state = if fault.kind == ManagerFaultKind::Failed { "Failed" } else { "Terminating" };
        work.set_status(state, &[condition]);
        if let Some(lasts_ms) = fault.lasts_ms {
            let at = later(work.now, lasts_ms);
            work.controller.schedule(at, Task::Finish(work.key.clone(), generation));
        }
        return;
    }
    let at = later(work.now, work.controller.delays.delete_ms);
    work.controller.schedule(at, Task::Finish(work.key.clone(), generation));
}

fn kubeconfig_objects(name: &str) -> [(KubeKind, String); 2] {
    [(KubeKind::GardenerCluster, name.to_owned()), (KubeKind::Secret, format!("kubeconfig-{name}"))]
}

pub(super) fn finish(work: &mut ObjectWork<'_>, generation: i64) {
    let taken_up = work.controller.records.get(&work.key.name).map_or(0, |record| record.taken_up);
    if taken_up != generation {
        return;
    }
    if work.is_being_deleted() {
        finish_deletion(work);
        return;
    }
    let is_new = !is_provisioned(&work.object);
    if is_new {
        make_cluster(work);
    }
    let version =
        work.object["spec"]["shoot"]["kubernetes"]["version"].as_str().unwrap_or_default().to_owned();
    let record = work.controller.records.entry(work.key.name.clone()).or_default();
    let is_upgrade = !is_new && record.version != version;
    record.version.clone_from(&version);
    if is_upgrade {
        let name = &work.key.name;
        work.outside.ledger.make(UPGRADE, &format!("{name} {version}"), name);
    }
    let reason = if is_new { "ShootCreationCompleted" } else { "ConfigurationCompleted" };
    let conditions = [
        work.condition("Provisioned", reason, "True", "Runtime processing completed successfully"),
        work.condition("KubeconfigReady", "GardenerClusterReady", "True", "Gardener cluster is ready"),
        work.condition("Configured", "AdministratorsConfigured", "True", "kubeconfig admin access updated"),
    ];
    work.set_status("Ready", &conditions);
    let operation = if is_new { "Create" } else { "Reconcile" };
    let now = stamp(work.now);
    work.change(|object| {
        object["status"]["provisioningCompleted"] = json!(true);
        object["status"]["shootLastOperation"] = json!({
            "type": operation, "state": "Succeeded", "progress": 100,
            "description": "Shoot cluster has been successfully reconciled.", "lastUpdateTime": now,
        });
    });
}

/// The cluster, and the objects that lead to it.
fn make_cluster(work: &mut ObjectWork<'_>) {
    let (name, namespace) = (work.key.name.clone(), work.key.namespace.clone());
    work.outside.clusters.open(&name);
    let shoot = work.object["spec"]["shoot"].clone();
    let metadata = |name: &str, namespace: &str, labels: Value| {
        json!({
            "name": name, "namespace": namespace, "uid": uuid::Uuid::now_v7(), "labels": labels,
            "creationTimestamp": stamp(work.now),
        })
    };
    let labels = work.object["metadata"]["labels"].clone();
    let mut of_secret = labels.clone();
    of_secret["operator.kyma-project.io/managed-by"] = json!("infrastructure-manager");
    of_secret["operator.kyma-project.io/cluster-name"] = json!(name);
    let secret_name = format!("kubeconfig-{name}");
    let kubeconfig = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        work.outside.clusters.kubeconfig(&name),
    );
    let shoot_name = shoot["name"].as_str().unwrap_or_default().to_owned();
    let mut objects = vec![
        (
            ObjectKey::new(KubeKind::GardenerCluster, &namespace, &name),
            json!({
                "metadata": metadata(&name, &namespace, labels),
                "spec": {
                    "shoot": {"name": shoot_name},
                    "kubeconfig": {"secret": {"name": secret_name, "namespace": namespace, "key": "config"}},
                },
                "status": {"state": "Ready", "conditions": [
                    work.condition("KubeconfigManagement", "KubeconfigSecretCreated", "True", "Secret created"),
                ]},
            }),
        ),
        (
            ObjectKey::new(KubeKind::Secret, &namespace, &secret_name),
            json!({
                "metadata": metadata(&secret_name, &namespace, of_secret),
                "data": {"config": kubeconfig}, "type": "Opaque",
            }),
        ),
    ];
    objects.push((
        ObjectKey::new(KubeKind::Shoot, GARDEN_NAMESPACE, &shoot_name),
        json!({
            "metadata": metadata(&shoot_name, GARDEN_NAMESPACE, json!({"account": "sandbox"})),
            "spec": {
                "region": shoot["region"], "provider": {"type": shoot["provider"]["type"]},
                "credentialsBindingName": shoot["secretBindingName"],
            },
            "status": {"lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100}},
        }),
    ));
    for (key, mut object) in objects {
        object["kind"] = json!(key.kind.kind());
        object["apiVersion"] = json!(key.kind.api_version());
        if key.kind.has_generation() {
            object["metadata"]["generation"] = json!(1);
        }
        work.store.put(&key, object);
    }
}

fn finish_deletion(work: &mut ObjectWork<'_>) {
    let name = work.key.name.clone();
    let shoot = work.object["spec"]["shoot"]["name"].as_str().unwrap_or_default().to_owned();
    work.store.remove(&ObjectKey::new(KubeKind::Shoot, GARDEN_NAMESPACE, &shoot));
    work.outside.clusters.close(&name);
    work.outside.ledger.take_back(CLUSTER, &name);
    work.controller.records.remove(&name);
    work.remove_finalizer(FINALIZER);
}

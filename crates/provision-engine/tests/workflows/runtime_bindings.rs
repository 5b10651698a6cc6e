//! Bindings end before the cluster that they are for.

use ::runtimes::model::{Binding, InstanceRecord};
use ::runtimes::workflows::deprovision;
use engine::store::{Expect, RecordUpdate};
use engine::{Phase, Resource};
use serde_json::json;
use testing::workflow_test::WorkflowTest;

use crate::runtime_test::{Before, RuntimeTest, binding, read, write};

#[tokio::test]
async fn a_cluster_goes_after_its_bindings() {
    let params = |instance: &str, _: &str| json!({"instance_id": instance});
    let workflow_test = RuntimeTest::of(|drivers| deprovision::plan(drivers), Before::Ready, params).await;
    let test_engine = workflow_test.test_engine().await;
    workflow_test.prepare(&test_engine.engine).await;
    let engine = &test_engine.engine;
    let replace = |name: String, record: RecordUpdate| async move {
        let seen = engine.resource(&name).await.unwrap().unwrap().version;
        assert!(engine.write_resource(&name, "test", Expect::Version(seen), Some(record)).await.unwrap());
    };
    let (resource, id) = (workflow_test.resource().unwrap(), workflow_test.instance_id());
    let mut record: InstanceRecord = read(engine, &resource).await;
    record.ending_bindings = vec!["b-1".into(), "b-0".into()];
    replace(resource.clone(), record.record_update().unwrap()).await;
    let name = Binding::resource(&id, "b-1");
    write(engine, &name, &binding(engine, &id)).await;
    let removal = test_engine.submit("runtime.deprovision", Some(&resource), workflow_test.params()).await;
    let waiting = test_engine.until(removal, |phase| phase == Phase::Waiting).await;
    assert_eq!(waiting.shown.summary.step.as_deref(), Some("end_bindings"));
    assert_eq!(workflow_test.world.standing_of("runtime").await.len(), 1);
    let ended = Binding { gone_at: Some(engine.now()), ..binding(engine, &id) };
    replace(name, ended.record_update().unwrap()).await;
    let ended = test_engine.finished(removal).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(workflow_test.world.standing_of("runtime").await.len(), 0);
    let record: InstanceRecord = read(engine, &resource).await;
    assert!(record.gone_at.is_some() && record.ending_bindings.is_empty());
}

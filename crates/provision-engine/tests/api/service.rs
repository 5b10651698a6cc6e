//! Metrics, error pages and what else operators expect.

use std::time::Duration;

use serde_json::json;
use server::Code;

use crate::shaky_store::Mood;
use crate::world::world;

#[tokio::test]
async fn metrics_count_what_happened_with_few_labels() {
    let world = world().await;
    let done = world.run_until(json!({"then": "succeed"}), "succeeded").await;
    world.run_until(json!({"then": "fail"}), "undone").await;
    world.run_until(json!({"then": "stick"}), "stuck").await;
    world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    for number in 0..20 {
        world.call("GET", &format!("/nowhere/{number}")).send().await;
        world.call(&format!("METHOD{number}"), "/operations").send().await;
    }
    let answer = world.call("GET", "/metrics").send().await;
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    for line in [
        "provision_engine_operations{state=\"stuck\"} 1",
        "provision_engine_operations{state=\"due\"} 0",
        "provision_engine_oldest_due_seconds 0.0",
        "provision_engine_store_up 1",
        "provision_engine_operations_finished_total{workflow=\"test.letters\",phase=\"succeeded\"} 1",
        "provision_engine_operations_finished_total{workflow=\"test.letters\",phase=\"undone\"} 1",
        "provision_engine_operation_duration_seconds_count{workflow=\"test.letters\"} 2",
        "provision_engine_http_requests_total{method=\"POST\",route=\"/operations\",status=\"202\"} 4",
        "provision_engine_http_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 20",
        "provision_engine_http_requests_total{method=\"other\",route=\"/operations\",status=\"405\"} 20",
    ] {
        assert!(answer.text.lines().any(|found| found == line), "{line} is not in\n{}", answer.text);
    }
    let step = "step_duration_seconds_count{workflow=\"test.letters\",step=\"post\",result=\"failed\"}";
    assert!(answer.text.contains(step), "{}", answer.text);
    assert!(answer.text.contains("provision_engine_store_commits_total"));
    assert!(answer.text.contains("route=\"/operations/{id}\""));
    assert!(!answer.text.contains(&done), "no id is a label");
    assert!(answer.text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn metrics_answer_without_a_database_and_say_so() {
    let world = world().await;
    assert!(world.call("GET", "/metrics").send().await.text.contains("provision_engine_store_up 1"));
    world.store.be(Mood::Down);
    assert!(
        world.call("GET", "/metrics").send().await.text.contains("provision_engine_store_up 1"),
        "the database is not asked each time"
    );
    world.clock.turn(Duration::from_secs(2));
    assert!(world.call("GET", "/metrics").send().await.text.contains("provision_engine_store_up 0"));
}

#[tokio::test]
async fn every_code_has_a_page() {
    let world = world().await;
    let list = world.call("GET", "/errors").send().await;
    assert!(list.header("content-type").starts_with("text/markdown"));
    for code in Code::ALL {
        assert!(list.text.contains(&format!("(/errors/{})", code.as_str())), "{}", code.as_str());
        let page = world.call("GET", &format!("/errors/{}", code.as_str())).send().await;
        assert_eq!((page.status, page.text.as_str()), (200, code.page()));
        assert!(page.header("content-type").starts_with("text/markdown"));
    }
    world.call("GET", "/errors/teapot").send().await.is(404, "not-found");
}

#[tokio::test]
async fn heads_have_no_body() {
    let world = world().await;
    for path in ["/healthz", "/operations", "/operations/1", "/openapi.json"] {
        let head = world.call("HEAD", path).token(&world.reader).send().await;
        let get = world.call("GET", path).token(&world.reader).send().await;
        assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
    }
}

//! What stands in the way of a request and must not: a record that cannot be read.

use engine::store::{Expect, Portrait};
use serde_json::json;

use crate::launch_lives::{parameters, world};
use crate::launch_world::ORG;

#[tokio::test]
async fn lists_show_the_launches_that_can_be_read() {
    let (world, key) = world().await;
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    for number in 0..3 {
        let portrait = Portrait {
            kind: "launch".into(),
            record: "{}".into(),
            labels: vec![label("provider", "aws"), label("state", "active")],
            gone_at: None,
            due_at: None,
        };
        let (name, tenant) = (format!("launch:{number:032}"), format!("org:{ORG}"));
        assert!(world.engine.write_resource(&name, &tenant, Expect::Absent, Some(portrait)).await.unwrap());
    }
    let image = json!({"id": "ami-0abc0000000000001"});
    let body = json!({"provider": "aws", "image": image, "parameters": parameters(key)});
    let asked = world.post("/launches", &body).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    for path in ["/launches", "/reservations", "/reservations?sort=-id"] {
        let listed = world.get(path).await.is_ok().json;
        assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{path}: {listed}");
    }
}

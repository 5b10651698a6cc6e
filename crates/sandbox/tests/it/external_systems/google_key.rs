//! The key of the service account that the sandbox knows.

use serde_json::Value;

use super::caller::HttpClient;

#[tokio::test]
async fn the_key_is_generated_once_for_a_process() {
    let (one, other) = (HttpClient::new().await, HttpClient::new().await);
    let parts = |file: &Value| (file["private_key_id"].clone(), file["private_key"].clone());
    let file = one.get("/gcp/key").await;
    assert_eq!(
        (&file["type"], file["private_key_id"].as_str().unwrap().len()),
        (&"service_account".into(), 40)
    );
    assert_eq!(file["token_uri"], format!("{}/gcp/token", one.sandbox.url()));
    assert_eq!(parts(&other.get("/gcp/key").await), parts(&file));
}

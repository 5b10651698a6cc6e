//! `/docs`: the reference of the APIs, for people.

use crate::world::world;

#[tokio::test]
async fn every_api_has_a_page_that_needs_no_token_and_nothing_from_elsewhere() {
    let world = world().await;
    let get = async |path: &str| world.call("GET", path).send().await;
    let index = get("/docs").await;
    assert_eq!(index.status, 200);
    for name in ["operations", "osb", "launch", "serverless"] {
        assert!(index.text.contains(&format!("href=\"docs/{name}\"")), "{name}: {}", index.text);
        let page = get(&format!("/docs/{name}")).await;
        assert_eq!(page.status, 200, "{name}");
        let policy = page.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("style-src 'self'"), "{policy}");
        assert!(!page.text.contains("<script") && !page.text.contains("style=\""), "{name}");
        assert!(page.text.contains("curl -sS") && page.text.contains("id=\"schemas\""), "{name}");
    }
    let page = get("/docs/operations").await;
    for part in ["/operations/{id}/cancel", "demo.hello", "Idempotency-Key"] {
        assert!(page.text.contains(part), "{part}");
    }
    assert_eq!(get("/docs/style.css").await.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(get("/docs/nothing").await.status, 404);
}

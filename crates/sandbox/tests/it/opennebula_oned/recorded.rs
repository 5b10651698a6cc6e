//! Requests that were recorded get the answers that were recorded.

use reqwest::{Method, StatusCode};

use super::caller::{COGNIT, EXTRA, Int, OnedClient, Text, body};
use super::outline::outline;

/// The request and the answer of a file, with the number of the thing in place of `{id}`.
fn exchange(name: &str, id: i32) -> (String, String) {
    let path = format!("{}/tests/it/opennebula_oned/recorded/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap().replace("{id}", &id.to_string());
    let (request, answer) = text.split_once("\n--------\n").unwrap();
    (request.to_owned(), answer.to_owned())
}

impl OnedClient {
    /// The answer is the recorded one, to the letter.
    async fn says_the_same(&self, name: &str, id: i32) {
        let (request, recorded) = exchange(name, id);
        let answer = self.raw(&request).await.replace("\r\n", "\n");
        assert_eq!(answer.trim_end(), recorded.trim_end(), "{name}");
    }

    /// The answer has the recorded elements in the recorded order.
    async fn looks_the_same(&self, name: &str, id: i32) -> String {
        let (request, recorded) = exchange(name, id);
        let answer = self.raw(&request).await;
        let (seen, wanted) = (outline(&answer), outline(&recorded));
        let differs = seen.iter().zip(&wanted).position(|(seen, wanted)| seen != wanted);
        let around = differs.map(|at| (&seen[at.saturating_sub(3)..], &wanted[at.saturating_sub(3)..]));
        assert_eq!(seen.len(), wanted.len(), "{name}: {around:?}");
        assert_eq!(seen, wanted, "{name}");
        answer
    }
}

#[tokio::test]
async fn wrong_calls_are_answered_as_recorded() {
    let caller = OnedClient::slow().await;
    for name in [
        "version",
        "wrong_password",
        "unknown_method",
        "too_few_parameters",
        "wrong_type",
        "missing_machine",
        "unknown_action",
        "action_on_missing_machine",
        "malformed_template",
        "instantiate_missing",
        "instantiate_denied",
        "document_minus_one",
    ] {
        caller.says_the_same(name, -1).await;
    }
}

#[tokio::test]
async fn a_machine_is_answered_as_recorded_through_its_life() {
    let caller = OnedClient::slow().await;
    caller.looks_the_same("template_info", 0).await;
    caller.says_the_same("instantiate", 0).await;
    let id = 0;
    assert_eq!(caller.state(id).await, (1, 0));
    caller.looks_the_same("machine_pending", id).await;
    caller.advance(200_000).await;
    caller.looks_the_same("machine_running", id).await;
    caller.says_the_same("resched_denied", id).await;
    caller.says_the_same("recover_denied", id).await;
    caller.says_the_same("resize", id).await;
    let resizing = caller.looks_the_same("machine_resizing", id).await;
    assert!(resizing.contains("&lt;LCM_STATE&gt;66&lt;"));
    caller.advance(60_000).await;
    caller.says_the_same("disk_resize", id).await;
    assert_eq!(caller.state(id).await, (3, 62));
    caller.advance(60_000).await;
    caller.says_the_same("machine_update", id).await;
    assert_eq!(caller.vm(id).await.get("TEMPLATE/DISK/SIZE"), Some("1152"));
}

#[tokio::test]
async fn a_machine_that_fails_to_boot_is_answered_as_recorded() {
    let caller = OnedClient::slow().await;
    let id = caller.instantiate(8, "FAAS_0_(service_44)", EXTRA).await;
    caller.advance(200_000).await;
    caller.looks_the_same("machine_boot_failure", id).await;
    let vm = caller.vm(id).await;
    assert_eq!(vm.state(), (3, 36));
    let error = vm.get("USER_TEMPLATE/ERROR").unwrap();
    assert!(error.ends_with(": DEPLOY: dummy-host-0:FAAS_0_(service_44):dummy"), "{error}");
}

#[tokio::test]
async fn documents_are_answered_as_recorded() {
    let caller = OnedClient::new().await;
    let first = caller.allocate(COGNIT, "<TEMPLATE><BODY>{}</BODY></TEMPLATE>", 1337).await.unwrap();
    for _ in 0..2 {
        let named = "<TEMPLATE><NAME>n1</NAME><BODY>{}</BODY></TEMPLATE>";
        caller.allocate(COGNIT, named, 1337).await.unwrap();
    }
    let pool = caller.looks_the_same("document_pool", 0).await;
    assert!(pool.contains(&format!("document-{first}&lt;")), "{pool}");
    let id = first + 3;
    caller.says_the_same("document_allocate", id).await;
    let info = caller.looks_the_same("document_info", id).await;
    assert!(
        info.contains("&lt;BODY&gt;&lt;![CDATA[{\"FAAS\":{\"FLAVOUR\":\"Function\",\"VM_ID\":20"),
        "{info}"
    );
    caller.says_the_same("document_rename", id).await;
    caller.says_the_same("document_update", id).await;
    caller.says_the_same("document_delete", id).await;
    let gone = caller.call(COGNIT, "one.document.info", &[Int(id)]).await;
    assert_eq!(gone, Err((format!("[one.document.info] Error getting document [{id}]."), 1024)));
}

#[tokio::test]
async fn a_user_is_answered_as_recorded() {
    OnedClient::new().await.looks_the_same("user_info", 0).await;
}

#[tokio::test]
async fn other_methods_and_paths_get_a_page() {
    let caller = OnedClient::new().await;
    let url = caller.sandbox.oned_url();
    let response = caller.client.get(&url).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(response.headers()["server"], "Xmlrpc-c_Abyss/1.33.14");
    assert!(response.text().await.unwrap().contains("POST is the only HTTP method"));
    let elsewhere = url.replace("/RPC2", "/");
    let response = caller.client.request(Method::POST, elsewhere).body("<methodCall/>").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert!(response.text().await.unwrap().contains("it's not the one you requested: '/'."));
    let broken = caller.raw("<nope").await;
    assert!(broken.contains("<i4>-503</i4>") && broken.contains("'&lt;nope...': unclosed token"), "{broken}");
    let broken = caller.raw("hello").await;
    let why = "Call XML not a proper XML-RPC call.  Call is not valid XML.  syntax error<";
    assert!(broken.contains("<i4>-503</i4>") && broken.contains(why), "{broken}");
    let version = caller.call(COGNIT, "one.system.version", &[]).await;
    assert_eq!(version.as_deref(), Ok("6.8.3"));
    let unknown = caller.call("cognitcognitpass", "one.system.version", &[Text("x")]).await;
    assert_eq!(unknown.unwrap_err().1, 256);
}

#[tokio::test]
async fn a_call_without_a_length_is_refused() {
    let caller = OnedClient::new().await;
    let parts = futures_util::stream::iter([Ok::<_, std::io::Error>("<methodCall/>")]);
    let url = caller.sandbox.oned_url();
    let response = caller.client.post(url).body(reqwest::Body::wrap_stream(parts)).send().await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["content-type"]),
        (StatusCode::LENGTH_REQUIRED, &"text/html".parse().unwrap())
    );
}

#[tokio::test]
async fn a_number_in_place_of_a_boolean_is_taken_by_the_older_release_alone() {
    let caller = OnedClient::new().await;
    let id = caller.allocate(COGNIT, "BODY=1", 1337).await.unwrap();
    caller.call(COGNIT, "one.document.info", &[Int(id), Int(1)]).await.unwrap();
    caller.release("7.4").await;
    let answer = caller.raw(&body(COGNIT, "one.document.info", &[Int(id), Int(1)])).await;
    assert!(answer.contains("<i4>-501</i4>"), "{answer}");
}

#[tokio::test]
async fn a_control_character_is_not_xml() {
    let caller = OnedClient::new().await;
    for control in ["\u{1}", "&#x1;"] {
        let call = body(COGNIT, "one.document.allocate", &[Text("BODY=\"x%\""), Int(1337)]);
        let answer = caller.raw(&call.replace('%', control)).await;
        assert!(answer.contains("<i4>-503</i4>"), "{answer}");
    }
    assert_eq!(caller.standing("oned/document").await, 0);
}

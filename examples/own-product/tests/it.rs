//! The workflow tests, a kill of the server, and the demonstration.

use own_product::order::plan;
use own_product::registrar::{Names, Registrar, fake};
use serde_json::{Value, json};
use std::process::Command;
use testing::workflow_test::{Case, check_all};

#[tokio::test]
async fn every_step_can_run_twice_fail_crash_and_lose_its_call() {
    let names = Names::default();
    let registrar = Registrar::new(&fake(&names).await.unwrap()).unwrap();
    check_all(&Case {
        plan: &|| plan(&registrar),
        params: json!({"name": "example.org"}),
        signals: vec![("domains.approval.example.org".to_owned(), json!({"approved": true}))],
        attempts: vec!["buy.called"],
        standing: &|| names.lock().unwrap().values().flatten().cloned().collect(),
        clear: &|| names.lock().unwrap().clear(),
    })
    .await;
}

fn run(dir: &str, url: &str, words: &str) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_own-product"));
    program.env("OWN_PRODUCT_DATA_DIR", dir).env("OWN_PRODUCT_DOMAINS__REGISTRAR_URL", url);
    let output = program.args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_survives_a_kill_of_the_server() {
    let (names, dir) = (Names::default(), tempfile::tempdir().unwrap());
    let url = fake(&names).await.unwrap();
    let run = |words: &str| run(dir.path().to_str().unwrap(), &url, words);
    run("start --listen 127.0.0.1:0");
    let id = run("operations submit domains.order --param name=example.org -o name");
    let status: Value = serde_json::from_str(&run("status -o json")).unwrap();
    Command::new("kill").args(["-9", &status["pid"].to_string()]).status().unwrap();
    run("start --listen 127.0.0.1:0");
    run("operations signal domains.approval.example.org --payload {\"approved\":true}");
    run(&format!("operations watch {id}"));
    run("stop");
    assert_eq!(names.lock().unwrap().values().flatten().count(), 2, "one reservation and one order");
}

#[test]
fn the_demonstration_orders_a_name_and_finds_it_on_the_page() {
    assert!(run("/nowhere", "http://nowhere", "demo").contains("it succeeded"));
}

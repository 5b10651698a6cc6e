//! The official SDK of Google Cloud against the sandbox. It is not ours, so it can find the sandbox wrong.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use client_tests::TestSandbox;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// It reads a million lines of Python, on a busy machine from a cold disk.
const LASTS_MAX: Duration = Duration::from_secs(180);

fn python() -> PathBuf {
    let folder = std::env::var_os("PROVISION_ENGINE_CLOUDS").unwrap_or_default();
    let python = Path::new(&folder).join("python");
    assert!(
        python.exists(),
        "PROVISION_ENGINE_CLOUDS must name the folder with the programs of a Python environment that has \
         google-cloud-compute: ./test installs one and sets the variable"
    );
    python
}

#[tokio::test]
async fn the_sdk_of_google_understands_the_sandbox() {
    let world = TestSandbox::new().await;
    let key = world.get("/gcp/key").await;
    let given = json!({
        "sandbox": world.sandbox.url(),
        "key": {
            "email": key["client_email"], "key_id": key["private_key_id"], "private_key": key["private_key"],
        },
    });
    let mut script = Command::new(python())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/google/sdk.py"))
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = script.stdin.take().unwrap();
    input.write_all(given.to_string().as_bytes()).await.unwrap();
    drop(input);
    let output =
        timeout(LASTS_MAX, script.wait_with_output()).await.expect("the script ends in time").unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    // Past the capture of the harness, so that it is seen when all is well.
    write!(std::io::stdout(), "{printed}").unwrap();
}

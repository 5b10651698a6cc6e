//! The official SDK of Azure against the sandbox. It is not ours, so it can find the sandbox wrong.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client_tests::TestSandbox;
use tokio::process::Command;
use tokio::time::timeout;

/// It imports some thousand files, on a busy machine from a cold disk.
const LASTS_MAX: Duration = Duration::from_secs(180);

fn python() -> PathBuf {
    let folder = std::env::var_os("PROVISION_ENGINE_CLOUDS").unwrap_or_default();
    let python = Path::new(&folder).join("python");
    assert!(
        python.exists(),
        "PROVISION_ENGINE_CLOUDS must name the folder with the programs of a Python environment that has the SDKs of \
         the clouds: ./test installs one and sets the variable"
    );
    python
}

#[tokio::test]
async fn the_sdk_of_azure_understands_the_sandbox() {
    let shared = TestSandbox::new().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/azure/sdk.py");
    let mut command = Command::new(python());
    command.arg(script).arg(shared.sandbox.url()).env("NO_PROXY", "127.0.0.1").kill_on_drop(true);
    let output = timeout(LASTS_MAX, command.output()).await.expect("the script ends in time").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // Past the capture of the harness, so that it is seen when all is well.
    write!(std::io::stdout(), "{said}").unwrap();
}

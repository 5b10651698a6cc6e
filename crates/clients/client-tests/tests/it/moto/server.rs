//! A server of moto for one test, and what is needed to talk to it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use aws::{AccessKeys, Aws, Options};
use cloud::{Access, Account, CloudAccount, ProviderKind};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// A cold start on a busy machine.
const START_MAX: Duration = Duration::from_secs(120);
pub(crate) const REGION: &str = "us-east-1";
/// The account that moto gives to all whom it does not know.
pub(crate) const ACCOUNT: &str = "123456789012";

/// Where the programs of the Python environment are.
pub(crate) fn programs() -> PathBuf {
    let folder = std::env::var_os("PROVISION_ENGINE_MOTO").unwrap_or_default();
    let folder = PathBuf::from(folder);
    assert!(
        folder.join("moto_server").exists(),
        "PROVISION_ENGINE_MOTO must name the folder with the programs of a Python environment that has \
         moto[server,ec2,sts]: ./test installs one and sets the variable"
    );
    folder
}

pub(crate) struct Moto {
    pub(crate) aws: Aws,
    pub(crate) url: String,
    client: reqwest::Client,
    /// Ends with the test.
    _server: Child,
}

impl Moto {
    pub(crate) async fn start(programs: &Path) -> Moto {
        let mut server = Command::new(programs.join("moto_server"))
            .args(["-H", "127.0.0.1", "-p", "0"])
            .env("MOTO_ENABLE_AMI_VALIDATION", "true")
            .env("MOTO_ENABLE_KEYPAIR_VALIDATION", "true")
            .env("MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION", "true")
            .env("NO_COLOR", "1")
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let url = timeout(START_MAX, async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, url)) = line.split_once("Running on ") {
                    return url.trim().to_owned();
                }
                said.push(line);
            }
            panic!("moto did not start: {said:?}")
        });
        let url = url.await.expect("moto says where it is, in time");
        // It writes a line for every request, and would wait for ever if no caller read them.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let keys = AccessKeys { id: "AKIAOURS".to_owned(), secret: "ours".into(), session: None };
        let options =
            Options { ec2: url.clone(), sts: url.clone(), credentials: Some(keys), ..Options::new() };
        Moto { aws: Aws::new(&options).unwrap(), url, client: reqwest::Client::new(), _server: server }
    }

    /// A call to EC2 that the driver does not make, in the account of all.
    pub(crate) async fn raw(&self, form: &str) -> String {
        let scope = format!("AKIARAW/20260301/{REGION}/ec2/aws4_request");
        let signed = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=none");
        let request = self.client.post(&self.url).header("authorization", signed);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let response = request.body(format!("{form}&Version=2016-11-15")).send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{form}: {status} {text}");
        text
    }
}

/// A role in this account.
pub(crate) fn role(account: &str) -> Account {
    let access = Access::Role {
        arn: format!("arn:aws:iam::{account}:role/launch"),
        external_id: Some("external".into()),
    };
    Account { org: "moto".to_owned(), source: "moto".to_owned(), provider: ProviderKind::Aws, access }
}

pub(crate) fn place(account: &Account) -> CloudAccount<'_> {
    CloudAccount { account, region: REGION, session: "launch-of-moto" }
}

/// The text of the first element of this name.
pub(crate) fn element<'a>(answer: &'a str, name: &str) -> &'a str {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let rest = answer.split_once(&open).unwrap_or_else(|| panic!("no {name} in {answer}")).1;
    rest.split_once(&close).unwrap().0
}

//! An external system that answers each action from a list, and remembers what it was asked.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws::{AccessKeys, Aws, Options};
use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Router, body};
use cloud::{Access, Account, CloudAccount, InstanceRequest, ProviderKind};
use engine::secret::SecretString;
use engine::{Clock, Timestamp};
use tokio::net::TcpListener;

pub(crate) const ROLE: &str = "arn:aws:iam::123456789012:role/launch";

/// One request that came.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) form: BTreeMap<String, String>,
}

impl ReceivedRequest {
    pub(crate) fn action(&self) -> &str {
        self.get("Action").unwrap()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.form.get(name).map(String::as_str)
    }

    /// The values of `Name.1`, `Name.2` and so on.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        (1..).map_while(|number| self.get(&format!("{name}.{number}"))).collect()
    }

    /// Which key signed it, for which day, region and service.
    pub(crate) fn credential(&self) -> &str {
        let authorization = &self.headers[AUTHORIZATION.as_str()];
        authorization.split_once("Credential=").unwrap().1.split_once(',').unwrap().0
    }
}

/// An action, a status and a body.
pub(crate) type CannedResponse = (&'static str, u16, String);

pub(crate) struct FakeAws {
    pub(crate) aws: Aws,
    pub(crate) clock: Arc<CannedFailure>,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl FakeAws {
    /// Answers each action with the first of its answers that was not given yet; the last one is given for ever.
    pub(crate) async fn with(answers: Vec<CannedResponse>) -> FakeAws {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(answers));
        let app = Router::new().fallback({
            let asked = Arc::clone(&asked);
            move |request: Request| {
                let (asked, answers) = (Arc::clone(&asked), Arc::clone(&answers));
                async move {
                    let request = read(request).await;
                    let answer = next(&mut answers.lock().unwrap(), request.action());
                    asked.lock().unwrap().push(request);
                    answer
                }
            }
        });
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let clock = Arc::new(CannedFailure::new());
        let aws = Aws::with_clock(&options(address), Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
        FakeAws { aws, clock, asked }
    }

    /// With the role taken care of.
    pub(crate) async fn answering(answers: Vec<CannedResponse>) -> FakeAws {
        let mut all = vec![role_taken()];
        all.extend(answers);
        FakeAws::with(all).await
    }

    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn actions(&self) -> Vec<String> {
        self.asked().iter().map(|asked| asked.action().to_owned()).collect()
    }

    /// The last request that came.
    pub(crate) fn last(&self) -> ReceivedRequest {
        self.asked().pop().unwrap()
    }
}

/// A clock that stands still until a caller turns it.
pub(crate) struct CannedFailure(AtomicI64);

impl CannedFailure {
    fn new() -> CannedFailure {
        CannedFailure(AtomicI64::new(Timestamp::parse("2026-03-01T12:00:00Z").unwrap().0))
    }

    pub(crate) fn turn(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Clock for CannedFailure {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    async fn sleep(&self, _: Duration) {}

    fn chance(&self) -> u64 {
        4
    }
}

pub(crate) fn options(address: SocketAddr) -> Options {
    let keys = AccessKeys { id: "AKIAOURS".to_owned(), secret: "hush-own".into(), session: None };
    Options {
        ec2: format!("http://{address}/ec2/{{region}}"),
        sts: format!("http://{address}/sts"),
        credentials: Some(keys),
        timeout: Duration::from_secs(30),
        ..Options::new()
    }
}

pub(crate) fn role() -> Account {
    let access =
        Access::Role { arn: ROLE.to_owned(), external_id: Some(SecretString::from("hush-external")) };
    Account { org: "org-7".to_owned(), source: "source-7".to_owned(), provider: ProviderKind::Aws, access }
}

pub(crate) fn place(account: &Account) -> CloudAccount<'_> {
    CloudAccount { account, region: "eu-central-1", session: "launch-1" }
}

pub(crate) fn instance_request() -> InstanceRequest {
    InstanceRequest {
        image: Some("ami-1".to_owned()),
        instance_type: Some("t3.small".to_owned()),
        most: 2,
        key_name: Some("key".to_owned()),
        user_data: Some("#cloud-config\nhush: true\n".to_owned()),
        name: Some("web".to_owned()),
        ..InstanceRequest::new("mark-1")
    }
}

pub(crate) fn role_taken() -> CannedResponse {
    role_until("2026-03-01T13:00:00Z", "ASIATAKEN")
}

pub(crate) fn role_until(expiration: &str, id: &str) -> CannedResponse {
    let body = format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
         <AccessKeyId>{id}</AccessKeyId><SecretAccessKey>hush-taken</SecretAccessKey>\
         <SessionToken>hush-session</SessionToken><Expiration>{expiration}</Expiration></Credentials>\
         </AssumeRoleResult></AssumeRoleResponse>"
    );
    ("AssumeRole", 200, body)
}

/// A good answer of EC2 with this in it.
pub(crate) fn done(action: &'static str, inside: &str) -> CannedResponse {
    let space = "xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"";
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{action}Response {space}>\n    <requestId>1</requestId>\n\
         {inside}</{action}Response>"
    );
    (action, 200, body)
}

/// A refusal of EC2.
pub(crate) fn refused(action: &'static str, status: u16, code: &str) -> CannedResponse {
    let body = format!(
        "<Response><Errors><Error><Code>{code}</Code><Message>words of {code}</Message></Error></Errors>\
         <RequestID>1</RequestID></Response>"
    );
    (action, status, body)
}

fn next(answers: &mut Vec<CannedResponse>, action: &str) -> Response {
    let mut of_this = (0..answers.len()).filter(|number| answers[*number].0 == action);
    let (first, is_last) = (of_this.next(), of_this.next().is_none());
    let answer = match (first, is_last) {
        (None, _) => return StatusCode::IM_A_TEAPOT.into_response(),
        (Some(first), true) => answers[first].clone(),
        (Some(first), false) => answers.remove(first),
    };
    let status = StatusCode::from_u16(answer.1).unwrap();
    (status, [(CONTENT_TYPE, "text/xml;charset=UTF-8")], answer.2).into_response()
}

async fn read(request: Request) -> ReceivedRequest {
    let (head, body) = request.into_parts();
    let body = String::from_utf8(body::to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
    ReceivedRequest { path: head.uri.path().to_owned(), headers: headers(&head.headers), form: form(&body) }
}

fn headers(all: &HeaderMap) -> BTreeMap<String, String> {
    all.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
}

/// The names and values of a form, each name once.
fn form(body: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for pair in body.split('&') {
        let (name, value) = pair.split_once('=').unwrap();
        let before = all.insert(decoded(name), decoded(value));
        assert_eq!(before, None, "{name} is there twice");
    }
    all
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

//! What the driver really sends, signed once more by botocore.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use aws::{AccessKeys, Aws, Options};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::{Router, body};
use cloud::{Access, Account, CloudAccount, InstanceRequest, Provider, ProviderKind};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;

use super::checks::Checks;

const ROUNDS: u64 = 20;
const REGIONS: [&str; 4] = ["us-east-1", "eu-central-1", "ap-southeast-2", "us-gov-west-1"];

/// A request as it came: what is signed of it, and the signature.
struct SignedRequest {
    url: String,
    headers: Map<String, Value>,
    body: String,
    /// Key, day, region and service.
    scope: Vec<String>,
    signature: String,
}

pub(crate) async fn agree(programs: &Path, checks: &mut Checks) {
    let mut all = Vec::new();
    for seed in 0..ROUNDS {
        let mut chance = SeededRandom(seed);
        let (own, taken) = (keys(&mut chance), keys(&mut chance));
        let sent = ask(&mut chance, &own, &taken).await;
        checks.same(sent.len(), 2);
        checks.that(sent[1].headers.contains_key("x-amz-security-token"), "the session is signed too");
        all.extend(sent.into_iter().zip([own.1, taken.1]));
    }
    let signatures = botocore(programs, &all).await;
    checks.same(signatures.len(), all.len());
    for ((sent, _), expect) in all.iter().zip(signatures) {
        checks.same(&sent.signature, &expect);
    }
}

/// One order of chance: a role is taken, and instances are asked for.
async fn ask(
    chance: &mut SeededRandom,
    own: &(String, String),
    taken: &(String, String),
) -> Vec<SignedRequest> {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let address = listen(Arc::clone(&sent), taken.clone(), chance.text(300)).await;
    let base = format!("http://{address}/{}", chance.one_of(&["", "a/", "a%20b//c/", "~x/../%C3%A4/"]));
    let credentials = Some(AccessKeys { id: own.0.clone(), secret: own.1.as_str().into(), session: None });
    let home = chance.one_of(&REGIONS).to_owned();
    let (ec2, sts) = (format!("{base}ec2/{{region}}"), base);
    let aws = Aws::new(&Options { ec2, sts, home, credentials, ..Options::new() }).unwrap();
    let access = Access::Role { arn: chance.text(40), external_id: Some(chance.text(20).into()) };
    let account = Account {
        org: "chance".to_owned(),
        source: "chance".to_owned(),
        provider: ProviderKind::Aws,
        access,
    };
    let place =
        CloudAccount { account: &account, region: chance.one_of(&REGIONS), session: &chance.text(30) };
    let instance_request = InstanceRequest {
        image: Some(chance.text(20)),
        instance_type: Some(chance.text(20)),
        most: 9,
        key_name: Some(chance.text(20)),
        user_data: Some(chance.text(2000)),
        security_groups: vec![chance.text(20), chance.text(20)],
        tags: vec![(chance.text(20), chance.text(20))],
        ..InstanceRequest::new(chance.text(20))
    };
    let error = aws.create(&place, &instance_request, "token").await.unwrap_err();
    assert!(error.code.is_empty(), "{error}");
    let mut sent = sent.lock().unwrap();
    std::mem::take(&mut *sent)
}

/// Gives the role away and refuses everything else.
async fn listen(
    sent: Arc<Mutex<Vec<SignedRequest>>>,
    taken: (String, String),
    session: String,
) -> SocketAddr {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().fallback(move |request: Request| {
        let (sent, (id, secret), session) = (Arc::clone(&sent), taken.clone(), session.clone());
        async move {
            let request = read(address, request).await;
            let is_role = request.body.starts_with("Action=AssumeRole&");
            sent.lock().unwrap().push(request);
            let session: String = session.chars().filter(char::is_ascii_alphanumeric).collect();
            let granted = format!(
                "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>\
                 {secret}</SecretAccessKey><SessionToken>{session}</SessionToken><Expiration>2999-01-01T00:00:00Z\
                 </Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
            );
            if is_role { (StatusCode::OK, granted) } else { (StatusCode::BAD_REQUEST, String::new()) }
        }
    });
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

async fn read(address: SocketAddr, request: Request) -> SignedRequest {
    let (head, body) = request.into_parts();
    let body = String::from_utf8(body::to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
    let text = |name: &str| head.headers[name].to_str().unwrap().to_owned();
    let authorization = text("authorization");
    let part = |name: &str| {
        let rest = authorization.split_once(name).unwrap().1;
        rest.split_once(',').map_or(rest, |(part, _)| part).to_owned()
    };
    let names = part("SignedHeaders=");
    let headers = names.split(';').map(|name| (name.to_owned(), Value::String(text(name)))).collect();
    SignedRequest {
        url: format!("http://{address}{}", head.uri),
        headers,
        body,
        scope: part("Credential=").split('/').map(str::to_owned).collect(),
        signature: part("Signature="),
    }
}

async fn botocore(programs: &Path, all: &[(SignedRequest, String)]) -> Vec<String> {
    let lines: Vec<String> = all
        .iter()
        .map(|(sent, secret)| {
            let SignedRequest { url, headers, body, scope, .. } = sent;
            let [id, _, region, service, _] = &scope[..] else { panic!("{scope:?}") };
            let line = json!({
                "url": url, "headers": headers, "body": body,
                "id": id, "secret": secret, "region": region, "service": service,
            });
            format!("{line}\n")
        })
        .collect();
    let mut python = Command::new(programs.join("python"))
        .args(["-c", include_str!("sign.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(lines.concat().as_bytes()).await.unwrap();
    let done = python.wait_with_output().await.unwrap();
    assert!(done.status.success(), "{}", done.status);
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn keys(chance: &mut SeededRandom) -> (String, String) {
    let plain = |text: String| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    (format!("AKIA{}", plain(chance.text(60))), format!("s/+{}", plain(chance.text(120))))
}

/// Numbers that look like chance and are the same for the same seed.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Letters, signs that forms escape, and some that need several bytes.
    fn text(&mut self, length_max: usize) -> String {
        const SIGNS: [char; 24] = [
            'a', 'B', 'c', 'x', 'Y', 'z', '0', '7', '9', ' ', '&', '=', '+', '%', '/', '~', '*', '\n', '\'',
            '"', 'ä', 'ሴ', '…', '🦀',
        ];
        (0..=self.below(length_max)).map(|_| self.one_of(&SIGNS)).collect()
    }
}

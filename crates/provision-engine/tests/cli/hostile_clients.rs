//! Clients that are slow, idle or many, against every API and the console. They are closed, and a normal client is
//! served meanwhile as if they were not there.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::Duration;

use engine::{Clock, WallClock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testing::count;

use crate::stage::{DataDirectory, ServerProcess, until};

/// Hostile clients of each kind at each API.
const CLIENTS: usize = 25;
const REQUESTS: usize = 15;
/// What a normal client may wait for. On a slow machine: five times as long as without the hostile ones.
const SERVED_WITHIN: Duration = Duration::from_millis(100);
const LIMIT: &str = "1s";
const IDLE: &str = "2s";

/// How a client behaves badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misbehaviour {
    /// Connects and sends nothing.
    Silent,
    /// Never comes to the end of its header.
    SlowHeader,
    /// Never comes to the end of its body.
    SlowBody,
    /// Is answered and keeps the connection.
    Idle,
}

const KINDS: [Misbehaviour; 4] =
    [Misbehaviour::Silent, Misbehaviour::SlowHeader, Misbehaviour::SlowBody, Misbehaviour::Idle];

/// One API, with a good request and the header of one that has a body.
struct VictimApi {
    name: &'static str,
    good: String,
    with_body: String,
}

fn apis(place: &DataDirectory) -> Vec<VictimApi> {
    let read = |name: &str| std::fs::read_to_string(place.data(name)).unwrap().trim().to_owned();
    let bearer = format!("Authorization: Bearer {}\r\n", read("admin.token"));
    let basic = |user: &str| {
        use base64::Engine as _;
        let encoded = base64::engine::general_purpose::STANDARD.encode(user);
        format!("Authorization: Basic {encoded}\r\nX-Broker-API-Version: 2.17\r\n")
    };
    let broker = basic(&read("broker.credentials"));
    let api = |name, good: &str, headers: &str, with_body: &str, kind: &str| VictimApi {
        name,
        good: format!("GET {good} HTTP/1.1\r\nHost: a\r\n{headers}"),
        with_body: format!(
            "{with_body} HTTP/1.1\r\nHost: a\r\n{headers}Content-Type: {kind}\r\nContent-Length: 9999\r\n\r\n"
        ),
    };
    let json = "application/json";
    let form = "application/x-www-form-urlencoded";
    vec![
        api("operations", "/operations", &bearer, "POST /operations", json),
        api("broker", "/v2/catalog", &broker, "PUT /v2/service_instances/i", json),
        api("launches", "/api/provisioning/v1/launches", &bearer, "POST /api/provisioning/v1/launches", json),
        api(
            "serverless",
            "/serverless-runtimes",
            &basic("cognit:cognitpass"),
            "POST /serverless-runtimes",
            json,
        ),
        api("console", "/console/sign-in", "", "POST /console/sign-in", form),
    ]
}

struct HostileClient {
    kind: Misbehaviour,
    stream: TcpStream,
    said: String,
    is_closed: bool,
}

impl HostileClient {
    fn connect(address: &str, api: &VictimApi, kind: Misbehaviour) -> HostileClient {
        let mut stream = TcpStream::connect(address).unwrap();
        let first = match kind {
            Misbehaviour::Silent => String::new(),
            Misbehaviour::SlowHeader => format!("{}X-Slow: ", api.good),
            Misbehaviour::SlowBody => format!("{} ", api.with_body),
            Misbehaviour::Idle => format!("{}\r\n", api.good),
        };
        stream.write_all(first.as_bytes()).unwrap();
        stream.set_nonblocking(true).unwrap();
        HostileClient { kind, stream, said: String::new(), is_closed: false }
    }

    /// Sends one more byte, which must not give it more time.
    fn go_on(&mut self) {
        if matches!(self.kind, Misbehaviour::SlowHeader | Misbehaviour::SlowBody) {
            // The server may have closed; what it said last is still to be read.
            let _ = self.stream.write(b" ");
        }
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.is_closed = true,
                Ok(length) => {
                    self.said.push_str(&String::from_utf8_lossy(&buffer[..length]));
                    continue;
                }
                Err(error) => self.is_closed = error.kind() != ErrorKind::WouldBlock,
            }
            return;
        }
    }
}

/// The whole response to a request on a connection of its own, and how long it took.
fn ask(address: &str, request: &str) -> (String, Duration) {
    let began = WallClock.now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    let _ = stream.shutdown(Shutdown::Both);
    (String::from_utf8_lossy(&said).into_owned(), WallClock.now().since(began))
}

/// The middle one of several, because one may meet a pause of the machine.
#[track_caller]
fn served_in(address: &str, request: &str, status: u16) -> Duration {
    let mut times: Vec<Duration> = (0..REQUESTS)
        .map(|_| {
            let (said, took) = ask(address, &format!("{request}Connection: close\r\n\r\n"));
            assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{request}\n{said}");
            took
        })
        .collect();
    times.sort();
    times[REQUESTS / 2]
}

#[track_caller]
fn assert_served(what: &str, took: Duration, base: Duration) {
    assert!(took <= SERVED_WITHIN.max(base * 5), "{what}: {took:?} with hostile clients, {base:?} without");
}

fn address(server: &ServerProcess) -> &str {
    server.url.strip_prefix("http://").unwrap()
}

fn impatient() -> DataDirectory {
    DataDirectory::new()
        .env("PROVISION_ENGINE_SERVER__HEADER_TIMEOUT", LIMIT)
        .env("PROVISION_ENGINE_SERVER__BODY_TIMEOUT", LIMIT)
        .env("PROVISION_ENGINE_SERVER__IDLE_TIMEOUT", IDLE)
}

#[test]
fn slow_and_idle_clients_are_closed_and_others_are_served_meanwhile() {
    let place = impatient();
    let server = place.serve(&["--sandbox"]);
    let address = address(&server);
    for api in apis(&place) {
        let base = served_in(address, &api.good, 200);
        let clients = KINDS.iter().flat_map(|kind| (0..CLIENTS).map(|_| *kind));
        let mut clients: Vec<HostileClient> =
            clients.map(|kind| HostileClient::connect(address, &api, kind)).collect();
        assert_served(api.name, served_in(address, &api.good, 200), base);
        until("the end of all hostile connections", || {
            clients.iter_mut().for_each(HostileClient::go_on);
            clients.iter().all(|client| client.is_closed).then_some(())
        });
        for HostileClient { kind, said, .. } in &clients {
            let expected = match kind {
                Misbehaviour::Silent | Misbehaviour::SlowHeader => "",
                Misbehaviour::SlowBody => "HTTP/1.1 408 ",
                Misbehaviour::Idle => "HTTP/1.1 200 ",
            };
            assert!(said.starts_with(expected), "{} {kind:?}: {said}", api.name);
            assert!(!expected.is_empty() || said.is_empty(), "{} {kind:?}: {said}", api.name);
        }
        count("hostile_clients", KINDS.len() as u64);
    }
}

#[test]
fn an_event_stream_stays_open_beyond_all_limits() {
    let place = impatient();
    let server = place.serve(&["--sandbox"]);
    let address = address(&server);
    let id = place.submit(&["--param", "wait_ms=600000"]);
    place.wait_for_phase(&id, "waiting");
    let operations = apis(&place).swap_remove(0);
    let request = operations.good.replace("/operations", &format!("/operations/{id}/events"));
    let mut stream =
        HostileClient::connect(address, &VictimApi { good: request, ..operations }, Misbehaviour::Idle);
    until("the first events", || {
        stream.go_on();
        stream.said.contains("event: ").then_some(())
    });
    let mut idle = HostileClient::connect(address, &apis(&place)[4], Misbehaviour::Idle);
    until("the end of an idle connection", || {
        idle.go_on();
        idle.is_closed.then_some(())
    });
    assert!(!stream.is_closed, "{}", stream.said);
    place.expect(0, &["operations", "cancel", &id]);
    until("the last event", || {
        stream.go_on();
        stream.said.contains("event: end").then_some(())
    });
}

/// Enough descriptors for the clients of these tests.
fn raise_own_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum.map(|most| most.min(65_536)), maximum }).unwrap();
}

#[test]
fn a_thousand_idle_connections_leave_room_for_others() {
    raise_own_limit();
    let place = DataDirectory::new();
    let plain = place.command(&["serve", "--listen", "127.0.0.1:0", "--sandbox"]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -n 1024; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args());
    limited.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let server = place.healthy(DataDirectory::spawn(limited));
    let address = address(&server);
    let health = "GET /healthz HTTP/1.1\r\nHost: a\r\n".to_owned();
    let operations = apis(&place).swap_remove(0);
    let body = r#"{"workflow": "demo.hello"}"#;
    let submit = |request: &str| {
        let head =
            request.replace("Content-Length: 9999\r\n\r\n", &format!("Content-Length: {}\r\n", body.len()));
        let mut times: Vec<Duration> = (0..REQUESTS)
            .map(|_| {
                let (said, took) = ask(address, &format!("{head}Connection: close\r\n\r\n{body}"));
                assert!(said.starts_with("HTTP/1.1 202 "), "{said}");
                took
            })
            .collect();
        times.sort();
        times[REQUESTS / 2]
    };
    // Other tests run beside this one: what a request takes without the clients is measured before and after them.
    let without = || (served_in(address, &health, 200), submit(&operations.with_body));
    let mut before = without();
    for kind in [Misbehaviour::Silent, Misbehaviour::SlowHeader, Misbehaviour::SlowBody] {
        let clients: Vec<HostileClient> =
            (0..1000).map(|_| HostileClient::connect(address, &operations, kind)).collect();
        // The best of three: a busy moment of the machine is none of theirs, and what they cost is in all three.
        let with: Vec<(Duration, Duration)> = (0..3).map(|_| without()).collect();
        let health = with.iter().map(|took| took.0).min().unwrap();
        let submitted = with.iter().map(|took| took.1).min().unwrap();
        drop(clients);
        let after = without();
        assert_served("/healthz", health, before.0.max(after.0));
        assert_served("a submit", submitted, before.1.max(after.1));
        before = after;
        count("hostile_clients", 1);
    }
    let log = server.going.err();
    assert!(!log.contains("Too many open files"), "{log}");
    assert!(log.contains("closed connections: clients too slow or over the limit"), "{log}");
}

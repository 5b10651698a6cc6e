//! A server that launches instances, its external systems in a sandbox, and what can be found there.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::serverless::{at_sandbox, ever_made, standing};
use crate::stage::{DataDirectory, Sandbox, ServerProcess, until, until_or};

pub(crate) const BASE: &str = "/api/provisioning/v1";
const TOPIC: &str = "platform.notifications.ingress";
/// The account of the source that everybody finds beside a sandbox.
pub(crate) const ACCOUNT: &str = "123456789012";
/// The account in which one of two instances dies.
pub(crate) const UNLUCKY: &str = "210987654321";
/// What the external systems may still do for a user who is dead, they do within this time.
const SETTLE: &str = "3s";

/// A place in which nothing waits longer than it must.
pub(crate) fn quick() -> DataDirectory {
    DataDirectory::new()
        .env("PROVISION_ENGINE_LAUNCH__IMAGE__POLL_FIRST", "50ms")
        .env("PROVISION_ENGINE_LAUNCH__IMAGE__POLL_MAX", "100ms")
        .env("PROVISION_ENGINE_LAUNCH__INSTANCE_POLL", "50ms")
        .env("PROVISION_ENGINE_LAUNCH__SETTLE", SETTLE)
}

/// How a launch is meant to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchEnd {
    Lucky,
    /// One of its instances dies, and everything is taken back.
    Doomed,
}

/// A launch that was accepted.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) launch: String,
    pub(crate) number: i64,
    pub(crate) operation: String,
    pub(crate) launch_end: LaunchEnd,
}

/// A user who launches, at whatever server there is.
pub(crate) struct Customer {
    runtime: Runtime,
    http: Client,
    url: Mutex<String>,
    token: String,
}

impl Customer {
    pub(crate) fn of(place: &DataDirectory, server: &ServerProcess) -> Customer {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let token = std::fs::read_to_string(place.data("admin.token")).unwrap().trim().to_owned();
        let http = Client::builder().no_proxy().build().unwrap();
        Customer { runtime: runtime.unwrap(), http, url: Mutex::new(server.url.clone()), token }
    }

    pub(crate) fn goes_to(&self, server: &ServerProcess) {
        self.url.lock().unwrap().clone_from(&server.url);
    }

    /// The status and the text of the answer, if there is one.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Option<(u16, String)> {
        let url = self.url.lock().unwrap().clone();
        let mut request = self.http.request(method, format!("{url}{path}")).bearer_auth(&self.token);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        self.runtime.block_on(async {
            let answer = request.send().await.ok()?;
            let status = answer.status().as_u16();
            Some((status, answer.text().await.ok()?))
        })
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, text) = self.send(Method::GET, path, None, None).expect("the server is there");
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Asks until a user answers, with a key that makes it one launch.
    #[track_caller]
    pub(crate) fn launch(&self, key: &str, order: &Value, launch_end: LaunchEnd) -> Ticket {
        let path = format!("{BASE}/launches");
        let (status, text) = until("an answer", || {
            let answer = self.send(Method::POST, &path, Some(key), Some(order))?;
            (![429, 503].contains(&answer.0)).then_some(answer)
        });
        assert_eq!(status, 202, "{text}");
        let made: Value = serde_json::from_str(&text).unwrap();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        let number = made["reservation_id"].as_i64().unwrap();
        Ticket { launch: text("id"), number, operation: text("operation_id"), launch_end }
    }

    #[track_caller]
    pub(crate) fn show(&self, ticket: &Ticket) -> Value {
        self.get(&format!("{BASE}/launches/{}", ticket.launch))
    }

    /// The machines of a launch and the state of each, as the inventory has them.
    #[track_caller]
    pub(crate) fn machines(&self, ticket: &Ticket) -> Vec<(String, String)> {
        let found = self.get(&format!("{BASE}/inventory?limit=100"));
        let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let is_ours = |one: &&Value| one["launch_id"] == ticket.launch.as_str();
        let ours = found["data"].as_array().unwrap().iter().filter(is_ours);
        ours.map(|one| (text(one, "instance_id"), text(one, "state"))).collect()
    }

    /// The launch as it is when it is over, which has to be as it was meant to be.
    #[track_caller]
    pub(crate) fn ended(&self, ticket: &Ticket) -> Value {
        let ask = || Some(self.show(ticket)).filter(|shown| shown["is_over"] == true);
        let shown = until_or(ask, || format!("it never ends: {:#}", self.show(ticket)));
        let (state, instances) = match ticket.launch_end {
            LaunchEnd::Lucky => ("succeeded", 2),
            LaunchEnd::Doomed => ("failed", 0),
        };
        assert_eq!(shown["state"], state, "{shown:#}");
        let found = shown["instances"].as_array().unwrap();
        assert_eq!(found.len(), instances, "{shown:#}");
        assert!(found.iter().all(|one| one["detail"]["public_ipv4"].is_string()), "{shown:#}");
        assert_eq!(shown["leftovers"], json!([]), "{shown:#}");
        let legacy = self.get(&format!("{BASE}/reservations/{}", ticket.number));
        assert_eq!(legacy["success"], ticket.launch_end == LaunchEnd::Lucky, "{legacy:#}");
        shown
    }

    /// Until no operation is under way any more, also none that tells others.
    #[track_caller]
    pub(crate) fn waits_until_all_is_over(&self) {
        let ask = || self.get("/operations?phase=pending,running,waiting,undoing,paused,stuck&limit=5");
        until_or(|| (ask()["items"] == json!([])).then_some(()), || format!("these never end: {:#}", ask()));
    }
}

/// A request with a new idempotency key.
pub(crate) fn order(source: &str, account: &str) -> Value {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let key = format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB{number:042}");
    json!({
        "provider": "aws",
        "image": {"build": {
            "distribution": "rhel-9",
            "image_name": "web",
            "image_requests": [{
                "architecture": "x86_64",
                "image_type": "aws",
                "upload_request": {"type": "aws", "options": {"share_with_accounts": [account]}},
            }],
        }},
        "parameters": {
            "source_id": source,
            "region": "us-east-1",
            "instance_type": "t3.micro",
            "amount": 2,
            "name": "web",
            "pubkey": {"name": format!("key-{number}"), "body": key},
            // Only the call that makes instances has it, so a test can tell it from rehearsals.
            "user_data": "#!/bin/sh\ntrue\n",
        },
        "options": {"after_pivot": "rollback", "on_launch_failure": "hide_compose"},
    })
}

/// One server with a sandbox of its own, and a customer in front of it.
pub(crate) struct Pad {
    pub(crate) customer: Customer,
    pub(crate) place: DataDirectory,
    pub(crate) sandbox: Sandbox,
    server: Option<ServerProcess>,
    /// The source in whose account instances die.
    unlucky: String,
    launched: AtomicU32,
}

impl Pad {
    #[track_caller]
    pub(crate) fn open(place: DataDirectory) -> Pad {
        let sandbox = Sandbox::start(&place);
        hurry(&sandbox.url);
        let server = serve(&place, &sandbox);
        let customer = Customer::of(&place, &server);
        let arn = format!("arn:aws:iam::{UNLUCKY}:role/launcher");
        let source = json!({"name": "unlucky", "provider": "aws", "arn": arn});
        let (status, text) =
            customer.send(Method::POST, &format!("{BASE}/sources"), None, Some(&source)).unwrap();
        assert_eq!(status, 201, "{text}");
        let made: Value = serde_json::from_str(&text).unwrap();
        let unlucky = made["id"].as_str().unwrap().to_owned();
        Pad { customer, place, sandbox, server: Some(server), unlucky, launched: AtomicU32::new(0) }
    }

    /// As a crash.
    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.server.take().expect("a server is killed once").kill();
    }

    /// Another process on the same data.
    #[track_caller]
    pub(crate) fn serve_again(&mut self) {
        let server = serve(&self.place, &self.sandbox);
        self.customer.goes_to(&server);
        self.server = Some(server);
    }

    #[track_caller]
    pub(crate) fn launch(&self, launch_end: LaunchEnd) -> Ticket {
        let number = self.launched.fetch_add(1, Ordering::SeqCst);
        let order = match launch_end {
            LaunchEnd::Lucky => order("sandbox", ACCOUNT),
            LaunchEnd::Doomed => {
                // The second of the two that are made.
                self.tell("POST", "/aws/faults/die", &json!({"account": UNLUCKY, "after": 1}));
                order(&self.unlucky, UNLUCKY)
            }
        };
        self.customer.launch(&format!("launch-{number}"), &order, launch_end)
    }

    /// A launch that is not made from the usual request.
    #[track_caller]
    pub(crate) fn launch_as(&self, order: &Value, launch_end: LaunchEnd) -> Ticket {
        let number = self.launched.fetch_add(1, Ordering::SeqCst);
        self.customer.launch(&format!("launch-{number}"), order, launch_end)
    }

    /// Asks for the end of a machine.
    #[track_caller]
    pub(crate) fn end(&self, instance: &str) {
        let path = format!("{BASE}/inventory/{instance}");
        let (status, text) =
            self.customer.send(Method::DELETE, &path, None, None).expect("the server is there");
        assert_eq!(status, 202, "{text}");
    }

    pub(crate) fn tell(&self, method: &str, path: &str, body: &Value) {
        at_sandbox(&self.sandbox.url, method, path, Some(body));
    }

    /// The ledger begins anew.
    pub(crate) fn forget(&self) {
        at_sandbox(&self.sandbox.url, "DELETE", "/ledger", None);
    }

    /// Insists that these launches end as they are meant to, that everything was made once for each of them, that
    /// nothing stands but what has to, and that others were told of each once.
    #[track_caller]
    pub(crate) fn judge(&self, tickets: &[Ticket], when: &str) {
        for ticket in tickets {
            self.customer.ended(ticket);
        }
        let (all, lucky) =
            (tickets.len(), tickets.iter().filter(|one| one.launch_end == LaunchEnd::Lucky).count());
        let url = &self.sandbox.url;
        let counts = ["compose", "key_pair", "instance"].map(|kind| (made(url, kind), stands(url, kind)));
        let expected = [(all, lucky), (all, lucky), (2 * all, 2 * lucky)];
        assert_eq!(counts, expected, "composes, keys and instances, made and standing, {when}");
        self.judge_notices(tickets, when);
    }

    /// Insists that others were told of each launch once, and waits until nothing is under way.
    #[track_caller]
    pub(crate) fn judge_notices(&self, tickets: &[Ticket], when: &str) {
        let url = &self.sandbox.url;
        for ticket in tickets {
            let event =
                if ticket.launch_end == LaunchEnd::Lucky { "launch-success" } else { "launch-failed" };
            let is_told = |told: &[DeliveredNotices]| !told.is_empty();
            until(when, || is_told(&in_inbox(url, ticket)).then_some(()));
            until(when, || is_told(&in_kafka(url, ticket)).then_some(()));
            self.customer.waits_until_all_is_over();
            let told = [in_inbox(url, ticket), in_kafka(url, ticket)].concat();
            let ids: BTreeSet<&DeliveredNotices> = told.iter().collect();
            assert_eq!(ids.len(), 1, "notices that differ, {when}: {told:?}");
            assert_eq!(told[0].event, event, "{when}");
        }
    }
}

#[track_caller]
fn serve(place: &DataDirectory, sandbox: &Sandbox) -> ServerProcess {
    place.serve(&["--sandbox-url", &sandbox.url, "--log-level", "error"])
}

/// Builds and instances take no longer than they must.
pub(crate) fn hurry(sandbox: &str) {
    let build = json!({"pending_ms": 5, "building_ms": 30, "uploading_ms": 5, "registering_ms": 5});
    at_sandbox(sandbox, "PUT", "/image-builder/pace", Some(&build));
    let instance = json!({"running_ms": 10, "address_ms": 10, "terminate_ms": 10});
    at_sandbox(sandbox, "PUT", "/aws/pace", Some(&instance));
}

/// How many of a kind were ever made.
pub(crate) fn made(sandbox: &str, kind: &str) -> usize {
    of_kind(&ever_made(sandbox), kind)
}

pub(crate) fn stands(sandbox: &str, kind: &str) -> usize {
    of_kind(&standing(sandbox), kind)
}

fn of_kind(effects: &[String], kind: &str) -> usize {
    effects.iter().filter(|effect| effect.split(' ').next() == Some(kind)).count()
}

/// What others were told about a launch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeliveredNotices {
    event: String,
    id: String,
}

pub(crate) fn in_inbox(sandbox: &str, ticket: &Ticket) -> Vec<DeliveredNotices> {
    let inbox = at_sandbox(sandbox, "GET", "/inbox/notices", None);
    let letters = inbox["messages"].as_array().unwrap().iter();
    letters.filter_map(|letter| about(&letter["body"], ticket)).collect()
}

pub(crate) fn in_kafka(sandbox: &str, ticket: &Ticket) -> Vec<DeliveredNotices> {
    let topic = at_sandbox(sandbox, "GET", &format!("/kafka/{TOPIC}"), None);
    let payload = |message: &Value| message["payload"].as_str().unwrap().to_owned();
    let payloads = topic["messages"].as_array().unwrap().iter().map(payload);
    payloads.filter_map(|payload| about(&serde_json::from_str(&payload).unwrap(), ticket)).collect()
}

fn about(notice: &Value, ticket: &Ticket) -> Option<DeliveredNotices> {
    let is_meant = notice["context"]["launch_id"] == ticket.number;
    let text = |name: &str| notice[name].as_str().unwrap().to_owned();
    is_meant.then(|| DeliveredNotices { event: text("event_type"), id: text("id") })
}

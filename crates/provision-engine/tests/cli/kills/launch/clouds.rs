//! The crash matrix at Azure and Google, which make the parts of a launch one by one. The ledger is the judge: it has the
//! instances of launches that succeeded, each with its parts, and nothing else of any kind.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rand::RngExt as _;
use serde_json::{Value, json};

use super::pad::{LaunchEnd, Pad, Ticket, quick};
use crate::serverless::at_sandbox;
use crate::stage::{DataDirectory, until_or};

const RANDOM_KILLS: usize = 5;
const LAUNCHES_OF_EACH: usize = 4;
/// Longer than any of these tests.
const NEVER_MS: u32 = 60_000;

/// One of the two clouds.
struct CloudCase {
    provider: &'static str,
    image: &'static str,
    instance_type: &'static str,
    /// The type of which there is room for one instance, which shows after the call.
    rare_type: &'static str,
    /// How the ledger calls the cloud.
    system: &'static str,
    each_instance: &'static [&'static str],
    each_launch: &'static [&'static str],
    /// The fault by which the next launch fails when one of its instances is there.
    doom: (&'static str, fn() -> Value),
}

const AZURE: CloudCase = CloudCase {
    provider: "azure",
    image: "/subscriptions/4b9d213f-712f-4d17-a483-8a10bbe9df3a/resourceGroups/images/providers/\
            Microsoft.Compute/images/rhel-9",
    instance_type: "Standard_B1s",
    rare_type: "Standard_D2s_v5",
    system: "arm",
    each_instance: &["vm", "nic", "public_ip", "disk"],
    each_launch: &["nsg", "network", "group"],
    doom: ("/azure/faults/die", || json!({"after": 1, "code": "QuotaExceeded"})),
};

const GOOGLE: CloudCase = CloudCase {
    provider: "gcp",
    image: "projects/rhel-cloud/global/images/rhel-9-v20260101",
    instance_type: "e2-small",
    rare_type: "e2-medium",
    system: "gce",
    each_instance: &["instance", "disk"],
    each_launch: &[],
    // A bulk call takes back by itself what it made; without an address the launch does.
    doom: ("/gcp/faults/no_address", || json!({"after": 1})),
};

impl CloudCase {
    fn order(&self, instance_type: &str) -> Value {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        json!({
            "provider": self.provider,
            "image": {"id": self.image},
            "parameters": {
                "source_id": format!("sandbox-{}", self.provider), "instance_type": instance_type, "amount": 2,
                "name": "web",
                "pubkey": {
                    "name": format!("cloud-key-{}-{number}", self.provider),
                    "body": format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC{number:042}"),
                },
            },
            "options": {"after_pivot": "rollback"},
        })
    }

    /// What must stand after so many launches that succeeded.
    fn expected(&self, launches: usize) -> BTreeMap<(String, String), usize> {
        let of = |kinds: &[&str], count: usize| -> Vec<((String, String), usize)> {
            kinds.iter().map(|kind| ((self.system.to_owned(), (*kind).to_owned()), count)).collect()
        };
        let all = [of(self.each_instance, 2 * launches), of(self.each_launch, launches)].concat();
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    fn launch(&self, pad: &Pad, launch_end: LaunchEnd) -> Ticket {
        if launch_end == LaunchEnd::Doomed {
            let (path, body) = self.doom;
            pad.tell("POST", path, &body());
        }
        pad.launch_as(&self.order(self.instance_type), launch_end)
    }
}

/// When the process dies: a call is on its way and is never carried out, or it is carried out for a process that is dead.
#[derive(Debug, Clone, Copy)]
enum CloudKill {
    Before(&'static str, &'static str),
    Called(&'static str, &'static str),
}
use CloudKill::{Before, Called};

impl CloudKill {
    fn fault(self, system: &str) -> Value {
        match self {
            Before(method, about) => json!({"system": system, "method": method, "about": about,
                "kind": "drop_before", "latency_ms": NEVER_MS}),
            Called(method, about) => {
                json!({"system": system, "method": method, "about": about, "kind": "hold"})
            }
        }
    }
}

/// Everything that stands, by system and kind.
fn standing(pad: &Pad) -> BTreeMap<(String, String), usize> {
    let ledger = at_sandbox(&pad.sandbox.url, "GET", "/ledger", None);
    let mut found = BTreeMap::new();
    for effect in ledger["effects"].as_array().unwrap() {
        let text = |name: &str| effect[name].as_str().unwrap().to_owned();
        *found.entry((text("system"), text("kind"))).or_default() += 1;
    }
    found
}

#[track_caller]
fn judge(pad: &Pad, tickets: &[(&CloudCase, Ticket)], when: &str) {
    let all: Vec<Ticket> = tickets.iter().map(|(_, ticket)| ticket.clone()).collect();
    for ticket in &all {
        pad.customer.ended(ticket);
    }
    pad.judge_notices(&all, when);
    let mut expected = BTreeMap::new();
    for case in [&AZURE, &GOOGLE] {
        let is_lucky = |(one, ticket): &&(&CloudCase, Ticket)| {
            one.provider == case.provider && ticket.launch_end == LaunchEnd::Lucky
        };
        expected.extend(case.expected(tickets.iter().filter(is_lucky).count()));
    }
    let is_so = || (standing(pad) == expected).then_some(());
    until_or(is_so, || format!("{when}: {:?} stand where {expected:?} should", standing(pad)));
}

fn furnished() -> DataDirectory {
    quick()
        .env("PROVISION_ENGINE_LAUNCH__SETTLE", "1s")
        .env("PROVISION_ENGINE_LAUNCH__CAPACITY_PATIENCE", "1s")
        .env("PROVISION_ENGINE_LAUNCH__ADDRESS_DEADLINE", "3s")
}

fn open() -> Pad {
    let pad = Pad::open(furnished());
    let delays = json!({"running_ms": 20, "network_ms": 5, "terminate_ms": 20, "reserve_ms": 100});
    pad.tell("PUT", "/azure/delay_times", &delays);
    pad.tell(
        "PUT",
        "/gcp/pace",
        &json!({"create_ms": 5, "running_ms": 10, "rollback_ms": 20, "terminate_ms": 20}),
    );
    pad.tell("PUT", "/azure/capacity", &json!({"size": AZURE.rare_type, "instances": 1, "at": "operation"}));
    pad.tell("PUT", "/gcp/capacity", &json!({"machine_type": GOOGLE.rare_type, "instances": 1}));
    pad
}

/// One launch for each moment, in which the process is killed at that moment.
fn play(case: &CloudCase, moments: &[(LaunchEnd, CloudKill)]) {
    let mut pad = open();
    for (launch_end, moment) in moments {
        let when = format!("{moment:?} of a {launch_end:?} launch at {}", case.provider);
        pad.forget();
        at_sandbox(&pad.sandbox.url, "DELETE", "/inbox/notices", None);
        pad.sandbox.arm(&moment.fault(case.system));
        let ticket = case.launch(&pad, *launch_end);
        pad.sandbox.wait_for_the_fault();
        pad.kill();
        pad.sandbox.release();
        pad.serve_again();
        judge(&pad, &[(case, ticket)], &when);
    }
    testing::count("kills", moments.len() as u64);
}

#[test]
fn a_kill_at_any_call_at_azure_leaves_the_parts_of_what_succeeded_and_nothing_else() {
    let (lucky, doomed) = (LaunchEnd::Lucky, LaunchEnd::Doomed);
    play(
        &AZURE,
        &[
            (lucky, Called("PUT", "subscriptions")),
            (lucky, Called("PUT", "virtualNetworks")),
            (lucky, Called("PUT", "publicIPAddresses")),
            (lucky, Before("PUT", "networkInterfaces")),
            (lucky, Called("PUT", "networkInterfaces")),
            (lucky, Before("PUT", "virtualMachines")),
            (lucky, Called("PUT", "virtualMachines")),
            (doomed, Called("PUT", "virtualMachines")),
            (doomed, Before("DELETE", "subscriptions")),
            (doomed, Called("DELETE", "virtualMachines")),
        ],
    );
}

#[test]
fn a_kill_at_any_call_at_google_leaves_the_parts_of_what_succeeded_and_nothing_else() {
    let (lucky, doomed) = (LaunchEnd::Lucky, LaunchEnd::Doomed);
    play(
        &GOOGLE,
        &[
            (lucky, Before("POST", "bulkInsert")),
            (lucky, Called("POST", "bulkInsert")),
            (lucky, Before("GET", "operations")),
            (doomed, Before("DELETE", "instances")),
            (doomed, Called("DELETE", "instances")),
        ],
    );
}

/// Half of the launches find no room after the cloud said yes.
#[test]
fn random_kills_at_azure_and_google_leave_the_parts_of_what_succeeded_and_nothing_else() {
    let mut pad = open();
    pad.tell("PUT", "/azure/delay_times", &json!({"running_ms": 200, "terminate_ms": 150}));
    pad.tell("PUT", "/gcp/pace", &json!({"running_ms": 150, "terminate_ms": 150}));
    let mut tickets = Vec::new();
    for number in 0..LAUNCHES_OF_EACH {
        for case in [&AZURE, &GOOGLE] {
            let (launch_end, kind) = if number % 2 == 0 {
                (LaunchEnd::Lucky, case.instance_type)
            } else {
                (LaunchEnd::Doomed, case.rare_type)
            };
            tickets.push((case, pad.launch_as(&case.order(kind), launch_end)));
        }
    }
    let mut dice = rand::rng();
    for _ in 0..RANDOM_KILLS {
        thread::sleep(Duration::from_millis(dice.random_range(0..500)));
        pad.kill();
        pad.serve_again();
    }
    judge(&pad, &tickets, "after random kills");
    testing::count("kills", RANDOM_KILLS as u64);
}

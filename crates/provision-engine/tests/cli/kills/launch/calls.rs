//! A kill at each moment of each call: the call is on its way and never carried out; it is carried out, and the answer is not
//! left to hear of it; its answer is saved, which is when the next call arrives.

use serde_json::{Value, json};

use super::super::durable_postgres;
use super::pad::{LaunchEnd, Pad, made, quick, stands};
use crate::serverless::at_sandbox;
use crate::stage::until;

/// One call to an external system.
#[derive(Debug, Clone, Copy)]
struct ExternalCall {
    system: &'static str,
    method: &'static str,
    /// A word in its path or its body.
    about: &'static str,
    /// Whether the external system shows that it was carried out.
    shows: fn(&str) -> bool,
}

const fn ec2(about: &'static str, shows: fn(&str) -> bool) -> ExternalCall {
    ExternalCall { system: "ec2", method: "POST", about, shows }
}

const fn builder(method: &'static str, about: &'static str, shows: fn(&str) -> bool) -> ExternalCall {
    ExternalCall { system: "image_builder", method, about, shows }
}

const SUBMIT: ExternalCall = builder("POST", "compose", |url| made(url, "compose") == 1);
const LOOK: ExternalCall = builder("GET", "composes", |_| true);
const HIDE: ExternalCall = builder("DELETE", "composes", |url| stands(url, "compose") == 0);
const IMPORT: ExternalCall = ec2("ImportKeyPair", |url| made(url, "key_pair") == 1);
const RUN: ExternalCall = ec2("UserData", |url| made(url, "instance") == 2);
const DESCRIBE: ExternalCall = ec2("DescribeInstances", |_| true);
const TERMINATE: ExternalCall = ec2("TerminateInstances", |url| stands(url, "instance") == 0);
/// By a user who wants one of two machines gone.
const END_ONE: ExternalCall = ec2("TerminateInstances", |url| stands(url, "instance") == 1);
const DELETE_KEY: ExternalCall = ec2("DeleteKeyPair", |url| stands(url, "key_pair") == 0);
const TELL: ExternalCall =
    ExternalCall { system: "inbox", method: "POST", about: "notices", shows: |url| letters(url) == 1 };

fn letters(sandbox: &str) -> usize {
    at_sandbox(sandbox, "GET", "/inbox/notices", None)["messages"].as_array().unwrap().len()
}

/// When the process dies.
#[derive(Debug, Clone, Copy)]
enum KillTime {
    /// The call is never carried out. What came before it is saved.
    Before(ExternalCall),
    /// It was carried out for a process that is dead, and then the next process begins.
    Called(ExternalCall),
    /// It is carried out while the next process is at work.
    Meanwhile(ExternalCall),
}
use KillTime::{Before, Called, Meanwhile};

/// Longer than any of these tests.
const NEVER_MS: u32 = 60_000;
/// Shorter than what the engine grants a lost call to be carried out after all.
const LATE_MS: u32 = 1_500;

impl KillTime {
    fn call(&self) -> &ExternalCall {
        match self {
            Before(call) | Called(call) | Meanwhile(call) => call,
        }
    }

    fn fault(&self) -> Value {
        let ExternalCall { system, method, about, .. } = self.call();
        let mut fault = json!({"system": system, "method": method, "about": about});
        let (kind, latency_ms) = match self {
            Before(_) => ("drop_before", Some(NEVER_MS)),
            Called(_) => ("hold", None),
            Meanwhile(_) => ("latency", Some(LATE_MS)),
        };
        fault["kind"] = json!(kind);
        fault["latency_ms"] = json!(latency_ms);
        fault
    }

    /// One launch in which the process is killed at this moment.
    fn play(&self, pad: &mut Pad, launch_end: LaunchEnd) {
        let when = format!("{self:?} of a {launch_end:?} launch");
        pad.forget();
        at_sandbox(&pad.sandbox.url, "DELETE", "/inbox/notices", None);
        let ticket = self.hit(pad, &when, |pad| pad.launch(launch_end));
        pad.judge(&[ticket], &when);
    }

    /// Kills the process at this moment of what a user asks for, and begins another one.
    fn hit<T>(&self, pad: &mut Pad, when: &str, ask: impl FnOnce(&Pad) -> T) -> T {
        pad.sandbox.arm(&self.fault());
        let asked = ask(pad);
        pad.sandbox.wait_for_the_fault();
        pad.kill();
        if let Called(call) = self {
            assert!(!(call.shows)(&pad.sandbox.url), "killed too late to prove anything: {when}");
            pad.sandbox.release();
            until(when, || (call.shows)(&pad.sandbox.url).then_some(()));
        }
        pad.serve_again();
        asked
    }
}

fn play(pad: &mut Pad, moments: &[(LaunchEnd, KillTime)]) {
    for (launch_end, moment) in moments {
        moment.play(pad, *launch_end);
    }
    testing::count("kills", moments.len() as u64);
}

#[test]
fn a_kill_at_any_call_of_a_launch_that_succeeds_leads_to_one_image_one_key_and_two_instances() {
    let moments = [
        Before(SUBMIT),
        Called(SUBMIT),
        Meanwhile(SUBMIT),
        Before(LOOK),
        Before(IMPORT),
        Called(IMPORT),
        Meanwhile(IMPORT),
        Before(RUN),
        Called(RUN),
        Meanwhile(RUN),
        Before(DESCRIBE),
        Before(TELL),
        Called(TELL),
    ];
    play(&mut Pad::open(quick()), &moments.map(|moment| (LaunchEnd::Lucky, moment)));
}

#[test]
fn a_kill_at_the_launch_doubles_no_instance_in_a_cloud_that_ignores_client_tokens() {
    let mut pad = Pad::open(quick());
    at_sandbox(&pad.sandbox.url, "PUT", "/aws/tokens", Some(&json!({"ignored": true})));
    let moments = [Before(RUN), Called(RUN), Meanwhile(RUN)];
    play(&mut pad, &moments.map(|moment| (LaunchEnd::Lucky, moment)));
}

#[test]
fn a_kill_at_any_call_of_a_launch_that_fails_leaves_nothing() {
    let moments = [
        Called(SUBMIT),
        Called(RUN),
        Before(TERMINATE),
        Called(TERMINATE),
        Meanwhile(TERMINATE),
        Before(DELETE_KEY),
        Called(DELETE_KEY),
        Before(HIDE),
        Called(HIDE),
        Before(TELL),
        Called(TELL),
    ];
    play(&mut Pad::open(quick()), &moments.map(|moment| (LaunchEnd::Doomed, moment)));
}

#[test]
fn a_kill_while_a_machine_is_ended_ends_that_machine_and_no_other() {
    let mut pad = Pad::open(quick());
    let moments = [Before(END_ONE), Called(END_ONE), Meanwhile(END_ONE)];
    for moment in &moments {
        let when = format!("{moment:?}");
        pad.forget();
        let ticket = pad.launch(LaunchEnd::Lucky);
        let id = pad.customer.ended(&ticket)["instances"][0]["instance_id"].as_str().unwrap().to_owned();
        pad.customer.waits_until_all_is_over();
        moment.hit(&mut pad, &when, |pad| pad.end(&id));
        pad.customer.waits_until_all_is_over();
        let url = &pad.sandbox.url;
        let left = ["instance", "key_pair", "compose"].map(|kind| (made(url, kind), stands(url, kind)));
        assert_eq!(left, [(2, 1), (1, 1), (1, 1)], "instances, keys and composes, {when}");
        let machines = pad.customer.machines(&ticket);
        let ended: Vec<&str> =
            machines.iter().filter(|(_, state)| state == "terminated").map(|(id, _)| id.as_str()).collect();
        assert_eq!((machines.len(), ended), (2, vec![id.as_str()]), "{when}: {machines:?}");
    }
    testing::count("kills", moments.len() as u64);
}

#[test]
fn a_kill_when_a_call_was_carried_out_and_not_saved_doubles_nothing_on_postgres() {
    let postgres = durable_postgres();
    postgres.create_database("engine").unwrap();
    let place = quick().env("PROVISION_ENGINE_STORE__DATABASE_URL", postgres.url("engine"));
    let lucky = [Called(SUBMIT), Called(IMPORT), Called(RUN)].map(|moment| (LaunchEnd::Lucky, moment));
    let doomed =
        [Called(TERMINATE), Called(DELETE_KEY), Called(HIDE)].map(|moment| (LaunchEnd::Doomed, moment));
    play(&mut Pad::open(place), &[lucky, doomed].concat());
}

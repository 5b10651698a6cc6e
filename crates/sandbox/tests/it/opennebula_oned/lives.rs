//! The life of a machine by the clock of the sandbox.

use reqwest::Method;
use serde_json::json;

use super::caller::{Bool, COGNIT, EXTRA, Int, ONEADMIN, OnedClient, Text};

impl OnedClient {
    async fn act(&self, session: &str, action: &str, id: i32) -> Result<String, (String, i64)> {
        self.call(session, "one.vm.action", &[Text(action), Int(id)]).await
    }

    /// STATE and `LCM_STATE` now, and after each further stage.
    async fn stages(&self, id: i32, count: usize) -> Vec<(i32, i32)> {
        let mut seen = vec![self.state(id).await];
        for _ in 1..count {
            self.advance(60_000).await;
            seen.push(self.state(id).await);
        }
        seen
    }
}

#[tokio::test]
async fn a_machine_is_born_runs_and_ends() {
    let caller = OnedClient::slow().await;
    let id = caller.instantiate(0, "FAAS_0_(service_44)", EXTRA).await;
    assert_eq!(caller.stages(id, 4).await, [(1, 0), (3, 1), (3, 2), (3, 3)]);
    let vm = caller.vm(id).await;
    assert_eq!(vm.get("TEMPLATE/CONTEXT/SR_AUTH"), Some("Y29nbml0OmNvZ25pdHBhc3M=\n"));
    assert_eq!(vm.get("TEMPLATE/CONTEXT/SSH_PUBLIC_KEY"), Some(""));
    assert_eq!(vm.get("USER_TEMPLATE/FLAVOURS"), Some("0"));
    assert_eq!(vm.all("TEMPLATE/NIC/IP"), vm.all("TEMPLATE/CONTEXT/ETH0_IP"));
    let port = caller.sandbox.addr().port();
    let network = format!("127.{}.{}.", port >> 8, port & 0xff);
    assert!(vm.get("TEMPLATE/NIC/IP").unwrap().starts_with(&network));
    assert_eq!(caller.standing("oned/vm").await, 1);

    caller.act(COGNIT, "terminate", id).await.unwrap();
    caller.act(COGNIT, "terminate", id).await.unwrap();
    for state in [(3, 3), (3, 12), (3, 11)] {
        assert_eq!(caller.state(id).await, state);
        assert_eq!(caller.standing("oned/vm").await, 1);
        assert_eq!(caller.act(COGNIT, "terminate", id).await.is_ok(), state == (3, 3));
        // It does not begin again.
        assert_eq!(caller.act(COGNIT, "terminate-hard", id).await.is_ok(), state != (3, 11));
        caller.advance(20_000).await;
    }
    assert_eq!(caller.standing("oned/vm").await, 0);
    assert_eq!(caller.state(id).await, (6, 0));
    caller.act(COGNIT, "terminate", id).await.unwrap();
}

#[tokio::test]
async fn time_passes_without_anyone_looking() {
    let caller = OnedClient::new().await;
    let delay_times = json!({"pending_ms": 10, "boot_ms": 20});
    caller.send(Method::POST, "/opennebula/pace", delay_times).await;
    assert_eq!(caller.get("/opennebula/pace").await["prolog_ms"], 20);
    let id = caller.instantiate(0, "vm", EXTRA).await;
    caller.advance(10_000_000).await;
    assert_eq!(caller.state(id).await, (3, 3));
    let started: i64 = caller.vm(id).await.get("HISTORY_RECORDS/HISTORY/RSTIME").unwrap().parse().unwrap();
    let born: i64 = caller.vm(id).await.get("STIME").unwrap().parse().unwrap();
    assert!((0..=1).contains(&(started - born)), "{born} {started}");
}

#[tokio::test]
async fn a_machine_that_boots_cannot_be_ended() {
    let caller = OnedClient::slow().await;
    let id = caller.instantiate(0, "vm", EXTRA).await;
    caller.advance(120_000).await;
    let refused = caller.act(COGNIT, "terminate", id).await.unwrap_err();
    let why = format!(
        "[one.vm.action] Error performing action \"terminate\": Could not terminate VM {id}, wrong state BOOT."
    );
    assert_eq!(refused, (why, 2048));
    caller.advance(60_000).await;
    caller.act(COGNIT, "terminate-hard", id).await.unwrap();

    let pending = caller.instantiate(0, "vm", EXTRA).await;
    caller.act(COGNIT, "terminate", pending).await.unwrap();
    assert_eq!(caller.state(pending).await, (6, 0));
}

#[tokio::test]
async fn a_guest_that_reports_is_ready_some_time_after_it_runs() {
    let caller = OnedClient::slow().await;
    let id = caller.instantiate(6, "vm", "").await;
    caller.advance(180_000).await;
    let vm = caller.vm(id).await;
    assert_eq!((vm.state(), vm.get("USER_TEMPLATE/READY")), ((3, 3), None));
    caller.advance(60_000).await;
    assert_eq!(caller.vm(id).await.get("USER_TEMPLATE/READY"), Some("YES"));
}

#[tokio::test]
async fn only_an_administrator_helps_a_machine_that_did_not_boot() {
    let caller = OnedClient::slow().await;
    caller.faults(json!({"kind": "boot_fails", "times": 2})).await;
    let id = caller.instantiate(0, "vm", EXTRA).await;
    caller.advance(180_000).await;
    assert_eq!(caller.state(id).await, (3, 36));
    let recover = |session, operation| {
        let caller = &caller;
        async move { caller.call(session, "one.vm.recover", &[Int(id), Int(operation)]).await }
    };
    assert_eq!(recover(COGNIT, 2).await.unwrap_err().1, 512);
    recover(ONEADMIN, 2).await.unwrap();
    assert_eq!(caller.stages(id, 2).await, [(3, 2), (3, 36)]);
    recover(ONEADMIN, 2).await.unwrap();
    assert_eq!(caller.stages(id, 2).await, [(3, 2), (3, 3)]);
    assert!(caller.vm(id).await.get("USER_TEMPLATE/ERROR").is_some());
    // There is nothing to try again, and it succeeds all the same.
    recover(ONEADMIN, 2).await.unwrap();
    recover(ONEADMIN, 3).await.unwrap();
    assert_eq!(caller.stages(id, 2).await, [(3, 3), (6, 0)]);
    assert_eq!(caller.standing("oned/vm").await, 0);
    recover(ONEADMIN, 3).await.unwrap();
    assert_eq!(recover(ONEADMIN, 2).await.unwrap_err().1, 2048);
}

#[tokio::test]
async fn an_administrator_deletes_a_machine_that_boots() {
    let caller = OnedClient::slow().await;
    let id = caller.instantiate(0, "vm", EXTRA).await;
    caller.advance(120_000).await;
    caller.call(ONEADMIN, "one.vm.recover", &[Int(id), Int(3)]).await.unwrap();
    assert_eq!(caller.stages(id, 2).await, [(3, 2), (6, 0)]);
}

/// The scheduler says so some time later, and again each time that it looks.
#[tokio::test]
async fn a_machine_that_fits_on_no_host_is_told_why() {
    for (release, silence_ms) in [("6.8", 60_000), ("7.4", 60_200)] {
        let caller = OnedClient::slow().await;
        caller.release(release).await;
        let id = caller.instantiate(0, "vm", "CPU=1000").await;
        let message = async || caller.vm(id).await.get("USER_TEMPLATE/SCHED_MESSAGE").map(str::to_owned);
        caller.advance(silence_ms - 10_000).await;
        assert_eq!(message().await, None, "{release}");
        caller.advance(10_000).await;
        let first = message().await.unwrap();
        let why = ": Cannot dispatch VM: No host with enough capacity to deploy the VM";
        let stamp = first.strip_suffix(why).unwrap_or_else(|| panic!("{first}"));
        assert_eq!(stamp.len(), "Mon Nov 16 17:47:49 2026".len(), "{stamp}");
        caller.advance(2000).await;
        assert_ne!(message().await.unwrap(), first);
        assert_eq!(caller.state(id).await, (1, 0));
    }
}

#[tokio::test]
async fn in_the_newer_release_a_machine_waits_for_the_end_of_a_scheduling_window() {
    let caller = OnedClient::slow().await;
    caller.send(Method::PUT, "/opennebula/pace", json!({"sched_window_ms": 60_000})).await;
    caller.release("7.4").await;
    let id = caller.instantiate(0, "vm", EXTRA).await;
    assert_eq!(caller.stages(id, 5).await, [(1, 0), (1, 0), (3, 1), (3, 2), (3, 3)]);
    let vm = caller.vm(id).await;
    assert_eq!(vm.get("TEMPLATE/AUTOMATIC_REQUIREMENTS"), Some("(CLUSTER_ID = 0) & !(PIN_POLICY = PINNED)"));
    assert_eq!(vm.get("TEMPLATE/CONTEXT/ETH0_ROUTES"), Some(""));
    for name in ["PLAN_ID", "ACTION_ID"] {
        assert!(vm.get(&format!("HISTORY_RECORDS/HISTORY/{name}")).is_some(), "{name}");
    }
    let args = [Int(-2), Int(-1), Int(-1), Int(-1), Text("x")];
    let refused = caller.call(COGNIT, "one.vmpool.info", &args).await.unwrap_err();
    let why = "[one.vmpool.info] JSON query search is not supported by the SQL backend";
    assert_eq!(refused, (why.into(), 8192));
}

#[tokio::test]
async fn some_machines_never_run() {
    let caller = OnedClient::slow().await;
    caller.faults(json!({"kind": "never_runs", "about": "DAAS"})).await;
    let (one, two) = (caller.instantiate(0, "FAAS", EXTRA).await, caller.instantiate(0, "DAAS", EXTRA).await);
    let huge = caller.instantiate(0, "vm", "CPU=1000").await;
    caller.advance(600_000).await;
    let states = [caller.state(one).await, caller.state(two).await, caller.state(huge).await];
    assert_eq!(states, [(3, 3), (3, 2), (1, 0)]);
    caller.call(ONEADMIN, "one.vm.recover", &[Int(two), Int(1)]).await.unwrap();
    assert_eq!(caller.state(two).await, (3, 3));
}

#[tokio::test]
async fn a_machine_can_rest() {
    let caller = OnedClient::slow().await;
    let id = caller.running().await;
    caller.act(COGNIT, "poweroff", id).await.unwrap();
    assert_eq!(caller.stages(id, 2).await, [(3, 18), (8, 0)]);
    caller.act(COGNIT, "resume", id).await.unwrap();
    assert_eq!(caller.stages(id, 2).await, [(3, 20), (3, 3)]);
    caller.act(COGNIT, "suspend", id).await.unwrap();
    assert_eq!(caller.stages(id, 2).await, [(3, 6), (5, 0)]);
    let refused = caller.act(COGNIT, "poweroff", id).await.unwrap_err();
    assert!(refused.0.ends_with("This action is not available for state SUSPENDED"), "{refused:?}");
    caller.act(ONEADMIN, "resched", id).await.unwrap_err();
    caller.act(COGNIT, "resume", id).await.unwrap();
    caller.advance(60_000).await;
    caller.act(ONEADMIN, "resched", id).await.unwrap();
    assert_eq!(caller.vm(id).await.get("RESCHED"), Some("1"));
    caller.advance(60_000).await;
    assert_eq!(caller.vm(id).await.get("RESCHED"), Some("0"));

    let args = [Int(0), Text("held"), Bool(true), Text(""), Bool(false)];
    let held = caller.number("one.template.instantiate", &args).await;
    caller.advance(600_000).await;
    assert_eq!(caller.state(held).await, (2, 0));
    caller.act(COGNIT, "release", held).await.unwrap();
    assert_eq!(caller.stages(held, 4).await[3], (3, 3));
}

/// The addresses of three networks, and then none until a client leaves.
#[tokio::test]
async fn addresses_run_out_and_come_back() {
    let caller = OnedClient::slow().await;
    let mut first = None;
    let args = [Int(0), Text("vm"), Bool(false), Text(""), Bool(false)];
    let refused = loop {
        match caller.call(COGNIT, "one.template.instantiate", &args).await {
            Ok(id) => first = first.or(Some(id.parse::<i32>().unwrap())),
            Err(refused) => break refused,
        }
    };
    assert!(refused.0.contains("Cannot get IP/MAC lease from virtual network 0."), "{refused:?}");
    assert_eq!(caller.standing("oned/vm").await, 3 * 253);
    let first = first.unwrap();
    let address = caller.vm(first).await.get("TEMPLATE/NIC/IP").unwrap().to_owned();
    caller.act(COGNIT, "terminate", first).await.unwrap();
    let next = caller.instantiate(0, "vm", "").await;
    assert_eq!(caller.vm(next).await.get("TEMPLATE/NIC/IP"), Some(address.as_str()));
}

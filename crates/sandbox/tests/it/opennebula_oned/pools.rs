//! Lists: whose, which part, and how much of each.

use reqwest::Method;
use serde_json::json;

use super::caller::{Bool, COGNIT, EMPTY, EXTRA, Int, ONEADMIN, OTHER, OnedClient, Text};
use super::outline::values;

/// The numbers in a list.
fn ids(xml: &str) -> Vec<i32> {
    let is_id = |path: &str| path == "DOCUMENT_POOL/DOCUMENT/ID" || path == "VM_POOL/VM/ID";
    values(xml).into_iter().filter(|(path, _)| is_id(path)).map(|(_, id)| id.parse().unwrap()).collect()
}

impl OnedClient {
    async fn documents(&self, session: &str, range: [i32; 3], kind: i32) -> Vec<i32> {
        let [whose, start, end] = range.map(Int);
        let list = self.call(session, "one.documentpool.info", &[whose, start, end, Int(kind)]).await;
        ids(&list.unwrap())
    }
}

#[tokio::test]
async fn documents_are_listed_by_owner_kind_and_page() {
    let caller = OnedClient::new().await;
    let mut mine = Vec::new();
    for _ in 0..5 {
        mine.insert(0, caller.allocate(COGNIT, "BODY=1", 1337).await.unwrap());
    }
    let theirs = caller.allocate(OTHER, "BODY=1", 1337).await.unwrap();
    let strange = caller.allocate(COGNIT, "BODY=1", 1338).await.unwrap();
    for whose in [-3, -2, -1, 2] {
        assert_eq!(caller.documents(COGNIT, [whose, -1, -1], 1337).await, mine, "{whose}");
    }
    assert_eq!(caller.documents(COGNIT, [3, -1, -1], 1337).await, [0; 0]);
    assert_eq!(caller.documents(COGNIT, [-3, -1, -1], 1338).await, [strange]);
    assert_eq!(caller.documents(ONEADMIN, [-2, -1, -1], 1337).await[0], theirs);
    assert_eq!(caller.documents(COGNIT, [-3, 1, -2], 1337).await, mine[1..3]);
    assert_eq!(caller.documents(COGNIT, [-3, 4, -3], 1337).await, mine[4..]);
    assert_eq!(caller.documents(COGNIT, [-3, mine[3], mine[1]], 1337).await, mine[1..4]);
    let nothing = caller.call(EMPTY, "one.documentpool.info", &[Int(-2), Int(-1), Int(-1), Int(101)]).await;
    assert_eq!(nothing.as_deref(), Ok("<DOCUMENT_POOL></DOCUMENT_POOL>"));
    assert!(!caller.documents(COGNIT, [-2, -1, -1], 101).await.is_empty());
}

#[tokio::test]
async fn machines_are_listed_in_short_and_in_full() {
    let caller = OnedClient::new().await;
    caller.send(Method::PUT, "/opennebula/pace", json!({"boot_ms": 60_000, "terminate_ms": 0})).await;
    let (one, two) = (caller.instantiate(0, "a", EXTRA).await, caller.instantiate(0, "b", EXTRA).await);
    caller.advance(100_000).await;
    caller.call(COGNIT, "one.vm.action", &[Text("terminate"), Int(one)]).await.unwrap();
    let range = [Int(-2), Int(-1), Int(-1)];
    let list = async |session: &str, method: &str, state: i32| {
        let args = [&range[..], &[Int(state)]].concat();
        caller.call(session, method, &args).await.unwrap()
    };
    assert_eq!(ids(&list(COGNIT, "one.vmpool.info", -1).await), [two]);
    assert_eq!(ids(&list(COGNIT, "one.vmpool.info", -2).await), [two, one]);
    assert_eq!(ids(&list(COGNIT, "one.vmpool.info", 6).await), [one]);
    assert_eq!(ids(&list(OTHER, "one.vmpool.info", -2).await), [0; 0]);
    assert!(!list(COGNIT, "one.vmpool.info", -1).await.contains("SERVICE_ID"));
    assert!(
        list(COGNIT, "one.vmpool.infoextended", -1).await.contains("<SERVICE_ID><![CDATA[44]]></SERVICE_ID>")
    );
    let refuse = async |args: [i32; 4], search: &str| {
        let [whose, start, end, state] = args.map(Int);
        caller.call(COGNIT, "one.vmpool.info", &[whose, start, end, state, Text(search)]).await.unwrap_err()
    };
    let why = "[one.vmpool.info] Full text search is not supported by the SQL backend";
    assert_eq!(refuse([-2, -1, -1, -1], "x").await, (why.into(), 8192));
    assert_eq!(refuse([-9, -1, -1, -1], "").await, ("[one.vmpool.info] Incorrect filter_flag".into(), 4096));
    let why = "[one.vmpool.info] Incorrect filter_flag, state";
    assert_eq!(refuse([-2, -1, -1, 12], "").await, (why.into(), 4096));
}

#[tokio::test]
async fn a_short_machine_has_little_of_its_disks_and_nics_and_the_last_record() {
    let caller = OnedClient::slow().await;
    let id = caller.running().await;
    caller.call(COGNIT, "one.vm.resize", &[Int(id), Text("CPU=2"), Bool(true)]).await.unwrap();
    let xml = caller.call(COGNIT, "one.vmpool.infoset", &[Text(&id.to_string()), Bool(false)]).await.unwrap();
    let texts = values(&xml);
    let below = |place: &str| -> Vec<String> {
        let place = format!("VM_POOL/VM/{place}/");
        texts.iter().filter_map(|(at, _)| at.strip_prefix(&place).map(str::to_owned)).collect()
    };
    let text = |place: &str| {
        let place = format!("VM_POOL/VM/{place}");
        texts.iter().find(|(at, _)| *at == place).map(|(_, text)| text.as_str())
    };
    assert_eq!((text("TEMPLATE/VCPU"), text("TEMPLATE/CONTEXT/NETWORK")), (Some("1"), None));
    assert_eq!(
        below("TEMPLATE/NIC"),
        ["IP", "MAC", "NETWORK", "NETWORK_ID", "NIC_ID", "SECURITY_GROUPS"].map(str::to_owned)
    );
    assert_eq!(below("TEMPLATE/DISK").len(), 11);
    assert_eq!(text("TEMPLATE/DISK/ORIGINAL_SIZE"), None);
    let record = ["OID", "SEQ", "HOSTNAME", "HID", "CID", "DS_ID", "VM_MAD", "TM_MAD", "ACTION"];
    assert_eq!(below("HISTORY_RECORDS/HISTORY"), record.map(str::to_owned));
    assert_eq!(text("HISTORY_RECORDS/HISTORY/SEQ"), Some("1"));
}

#[tokio::test]
async fn a_set_has_what_can_be_seen_of_it() {
    let caller = OnedClient::new().await;
    let one = caller.instantiate(0, "a", EXTRA).await;
    let two = caller.instantiate(0, "b", EXTRA).await;
    // By id, the highest first, and each once.
    let asked = format!("{one}, {two},{one},999,x");
    let set = |session, extended| {
        let (caller, asked) = (&caller, &asked);
        async move { caller.call(session, "one.vmpool.infoset", &[Text(asked), Bool(extended)]).await.unwrap() }
    };
    assert_eq!(ids(&set(COGNIT, true).await), [two, one]);
    assert!(set(COGNIT, true).await.contains("SERVICE_ID"));
    assert!(!set(COGNIT, false).await.contains("SERVICE_ID"));
    assert_eq!(set(OTHER, true).await, "<VM_POOL></VM_POOL>");
}

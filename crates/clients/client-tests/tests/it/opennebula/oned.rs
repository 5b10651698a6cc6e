//! Every call to `oned` that was recorded: we ask the same, and understand the answer.

use std::time::Duration;

use engine::secret::ExposeSecret;
use opennebula::{
    AttributeName, Capacity, DocumentFilter, DocumentPage, NebulaCredentials, NebulaError, NebulaTemplate,
    OpenNebula, RUNTIME_DOCUMENT, Recovery, Text, VmAction,
};

use super::grammar::{Parsed, parse};
use super::recorded::{Exchange, Replay, cognit, oneadmin};
use super::wire::{MethodCall, XmlRpcNode, check_call, tree};

const BODY: AttributeName = AttributeName::of("BODY");
const NAME: AttributeName = AttributeName::of("NAME");

/// Asks, compares with the recording, and gives the answer.
async fn replay<T>(
    name: &str,
    who: NebulaCredentials,
    ask: impl AsyncFnOnce(OpenNebula, NebulaCredentials) -> Result<T, NebulaError>,
) -> Result<T, NebulaError> {
    let replay = Replay::of(&[name]).await;
    let answer = ask(replay.nebula.clone(), who).await;
    let asked = replay.asked();
    assert_eq!(asked.len(), 1);
    check_call(&asked[0], &Exchange::named(name));
    answer
}

#[tokio::test]
async fn it_reads_the_version_and_the_caller() {
    let version = replay("version", cognit(), async |nebula, who| nebula.version(&who).await).await;
    assert_eq!(version.unwrap(), "6.8.3");
    let user = replay("user", cognit(), async |nebula, who| nebula.user(&who).await).await.unwrap();
    assert_eq!((user.id, user.name.as_str(), user.gid, user.gname.as_str()), (2, "cognit", 1, "users"));
}

#[tokio::test]
async fn it_reads_a_template_of_machines() {
    let found = replay("vm_template", cognit(), async |nebula, who| nebula.vm_template(&who, 0).await).await;
    let found = found.unwrap();
    assert_eq!((found.id, found.name.as_str()), (0, "Function"));
    assert_eq!(found.template.get("VCPU"), Some("1"));
    let context = found.template.vectors("CONTEXT").next().unwrap();
    assert_eq!(context.get("SSH_PUBLIC_KEY"), Some("$USER[SSH_PUBLIC_KEY]"));
    let disks: Vec<_> = found.template.vectors("DISK").map(|disk| disk.get("IMAGE")).collect();
    assert_eq!(disks, [Some("function-image")]);
}

#[tokio::test]
async fn it_reads_a_machine() {
    let machine =
        replay("machine", cognit(), async |nebula, who| nebula.machine(&who, 22).await).await.unwrap();
    assert_eq!((machine.id, machine.uid, machine.name.as_str()), (22, 2, "FAAS_0_(service_48)"));
    assert_eq!((machine.state, machine.lcm_state, machine.resched), (3, 3, false));
    assert_eq!(machine.template.get("MEMORY"), Some("133"));
    let nic = machine.template.vectors("NIC").next().unwrap();
    assert_eq!((nic.get("NIC_ID"), nic.get("IP")), (Some("0"), Some("192.0.2.12")));
    let context = machine.template.vectors("CONTEXT").next().unwrap();
    assert_eq!(context.get("SR_AUTH"), Some("Y29nbml0OmNvZ25pdHBhc3M=\n"));
    assert_eq!(machine.user_template.get("SERVICE_ID"), Some("48"));
    assert_eq!(machine.user_template.get("ROLE_NAME"), Some("FAAS"));
}

#[tokio::test]
async fn a_machine_that_is_resized_has_one_size() {
    let machine =
        replay("machine_resizing", cognit(), async |nebula, who| nebula.machine(&who, 25).await).await;
    let machine = machine.unwrap();
    assert_eq!(machine.lcm_state, 66);
    assert_eq!((machine.template.get("VCPU"), machine.template.get("MEMORY")), (Some("2"), Some("192")));
    assert_eq!(machine.template.vectors("RESIZE").next().unwrap().get("MEMORY"), Some("128"));
}

#[tokio::test]
async fn it_reads_machines_that_are_done_or_failed() {
    let done =
        replay("machine_that_is_done", oneadmin(), async |nebula, who| nebula.machine(&who, 0).await).await;
    let done = done.unwrap();
    assert_eq!((done.state, done.lcm_state), (6, 0));
    let failed =
        replay("machine_boot_failed", cognit(), async |nebula, who| nebula.machine(&who, 34).await).await;
    let failed = failed.unwrap();
    assert_eq!((failed.state, failed.lcm_state), (3, 36));
    assert!(failed.user_template.get("ERROR").unwrap().contains("DEPLOY"), "{failed:?}");
}

#[tokio::test]
async fn it_reads_documents() {
    let document = replay("document", cognit(), async |nebula, who| nebula.document(&who, 49).await).await;
    let document = document.unwrap();
    assert_eq!((document.id, document.uid, document.gid, document.kind), (49, 2, 1, RUNTIME_DOCUMENT));
    assert_eq!((document.uname.as_str(), document.gname.as_str()), ("cognit", "users"));
    assert_eq!(document.name, "Function and Data as a Service");
    let body: serde_json::Value = serde_json::from_str(&document.body).unwrap();
    assert_eq!((&body["SERVICE_ID"], &body["DAAS"]["VM_ID"]), (&48.into(), &23.into()));
    assert!(document.template.is_empty());
}

#[tokio::test]
async fn it_lists_documents() {
    let list = async |nebula: OpenNebula, who: NebulaCredentials| {
        nebula.documents(&who, DocumentFilter::Mine, RUNTIME_DOCUMENT, None).await
    };
    let documents = replay("documents", cognit(), list).await.unwrap();
    let found: Vec<_> = documents.iter().map(|found| (found.id, found.name.as_str())).collect();
    assert_eq!(found, [(118, "n1"), (117, "n1"), (116, "document-116")]);
}

#[tokio::test]
async fn a_page_is_asked_for_with_a_negative_length() {
    for (size, asked_for, given) in [(2, "-2", 2), (1, "-2", 1), (50, "-50", 3)] {
        let replay = Replay::of(&["documents"]).await;
        let page = Some(DocumentPage { offset: 4, size });
        let documents = replay.nebula.documents(&cognit(), DocumentFilter::All, 1337, page).await.unwrap();
        assert_eq!(documents.len(), given);
        let params = MethodCall::read(&replay.asked()[0].body).params;
        let numbers: Vec<&str> = params[1..].iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(numbers, ["-2", "4", asked_for, "1337"]);
    }
}

#[tokio::test]
async fn it_makes_and_replaces_documents() {
    for (name, at) in [("allocate_document", 1), ("replace_document", 2)] {
        let recorded = Exchange::named(name);
        let mut expected = MethodCall::read(&recorded.asked.body);
        let xml = tree(&expected.take(at));
        let mut template = NebulaTemplate::new();
        for child in &xml.children {
            template.set(AttributeName::parse(&child.name).unwrap(), Text::ours(child.text.as_str()));
        }
        let replay = Replay::of(&[name]).await;
        if at == 1 {
            let id = replay.nebula.allocate_document(&cognit(), &template, RUNTIME_DOCUMENT).await.unwrap();
            assert_eq!(id, 49);
        } else {
            replay.nebula.replace_document(&cognit(), 49, &template).await.unwrap();
        }
        let mut asked = MethodCall::read(&replay.asked()[0].body);
        assert_eq!(tree(&asked.take(at)), xml);
        assert_eq!(asked, expected);
    }
}

#[tokio::test]
async fn amending_keeps_what_is_not_named() {
    let replay = Replay::of(&["replace_document"]).await;
    let mut template = NebulaTemplate::new();
    template.set(BODY, Text::from_user("]] > & <b>").unwrap());
    replay.nebula.amend_document(&cognit(), 49, &template).await.unwrap();
    let mut asked = MethodCall::read(&replay.asked()[0].body);
    let body = XmlRpcNode { name: "BODY".into(), text: "]] > & <b>".into(), children: Vec::new() };
    assert_eq!(tree(&asked.take(2)).children, [body]);
    assert_eq!(asked.method, "one.document.update");
    assert_eq!(asked.params[3], ("i4".to_owned(), "1".to_owned()));
}

#[tokio::test]
async fn it_renames_and_deletes_documents() {
    let rename =
        async |nebula: OpenNebula, who: NebulaCredentials| nebula.rename_document(&who, 55, "resized").await;
    replay("rename_document", cognit(), rename).await.unwrap();
    let delete = async |nebula: OpenNebula, who: NebulaCredentials| nebula.delete_document(&who, 49).await;
    replay("delete_document", cognit(), delete).await.unwrap();
}

#[tokio::test]
async fn it_resizes_machines() {
    let both = Capacity { cpu: Some(2), memory: Some(192) };
    let resize = async |nebula: OpenNebula, who: NebulaCredentials| nebula.resize(&who, 25, both).await;
    replay("resize", cognit(), resize).await.unwrap();
    let memory = Capacity { cpu: None, memory: Some(200) };
    let resize = async |nebula: OpenNebula, who: NebulaCredentials| nebula.resize(&who, 25, memory).await;
    replay("resize_memory", cognit(), resize).await.unwrap();
    let disk = async |nebula: OpenNebula, who: NebulaCredentials| nebula.resize_disk(&who, 25, 0, 1152).await;
    replay("resize_disk", cognit(), disk).await.unwrap();
}

#[tokio::test]
async fn nothing_to_resize_asks_no_one() {
    let replay = Replay::of(&[]).await;
    replay.nebula.resize(&cognit(), 25, Capacity::default()).await.unwrap();
    assert_eq!(replay.asked(), []);
}

#[tokio::test]
async fn a_machine_is_amended_in_xml() {
    let replay = Replay::of(&["amend_machine"]).await;
    let mut template = NebulaTemplate::new();
    template.set(AttributeName::of("SCHED_RANK"), Text::from_user("LATENCY").unwrap());
    let place = (AttributeName::of("GEOGRAPHIC_LOCATION"), Text::from_user("Rome").unwrap());
    template.push_vector(AttributeName::of("DEVICE_INFO"), vec![place]);
    replay.nebula.amend_machine(&cognit(), 25, &template).await.unwrap();

    let mut expected = MethodCall::read(&Exchange::named("amend_machine").asked.body);
    let recorded = parse(&expected.take(2)).unwrap();
    let mut asked = MethodCall::read(&replay.asked()[0].body);
    let xml = tree(&asked.take(2));
    assert_eq!(asked, expected);
    let place = &xml.child("DEVICE_INFO").children[0];
    let written = [
        Parsed::Single("SCHED_RANK".into(), xml.child("SCHED_RANK").text.clone()),
        Parsed::Vector("DEVICE_INFO".into(), vec![(place.name.clone(), place.text.clone())]),
    ];
    assert_eq!(written.as_slice(), recorded);
}

#[tokio::test]
async fn it_acts_on_machines() {
    let terminate =
        async |nebula: OpenNebula, who: NebulaCredentials| nebula.act(&who, 0, VmAction::Terminate).await;
    replay("terminate", oneadmin(), terminate).await.unwrap();
    let recover =
        async |nebula: OpenNebula, who: NebulaCredentials| nebula.recover(&who, 34, Recovery::Retry).await;
    replay("recover", oneadmin(), recover).await.unwrap();
}

#[tokio::test]
async fn a_login_token_is_asked_for_with_an_end() {
    for (valid, seconds) in [(3600, "3600"), (0, "1"), (u64::MAX, "2147483647")] {
        let replay = Replay::with(vec![Exchange::answer("5d1e")]).await;
        let token = replay.nebula.login(&cognit(), Duration::from_secs(valid)).await.unwrap();
        assert_eq!(token.expose_secret(), "5d1e");
        let asked = MethodCall::read(&replay.asked()[0].body);
        let params: Vec<&str> = asked.params[1..].iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!((asked.method.as_str(), params), ("one.user.login", vec!["cognit", "", seconds]));
    }
}

/// The XML of a machine that was recorded.
fn recorded_machine(name: &str) -> String {
    let answer = tree(&Exchange::named(name).response);
    let data = answer.child("params").child("param").child("value").child("array").child("data").clone();
    data.children[1].child("string").text.clone()
}

#[tokio::test]
async fn many_machines_are_one_call() {
    let pool =
        format!("<VM_POOL>{}{}</VM_POOL>", recorded_machine("machine"), recorded_machine("machine_resizing"));
    let replay = Replay::with(vec![Exchange::answer(&pool)]).await;
    let machines = replay.nebula.machines(&cognit(), &[22, 25, 99]).await.unwrap();
    assert_eq!(machines.iter().map(|machine| machine.id).collect::<Vec<_>>(), [22, 25]);
    let asked = MethodCall::read(&replay.asked()[0].body);
    assert_eq!(asked.method, "one.vmpool.infoset");
    let param = |kind: &str, text: &str| (kind.to_owned(), text.to_owned());
    assert_eq!(asked.params[1..], [param("string", "22,25,99"), param("boolean", "1")]);
    assert_eq!(replay.nebula.machines(&cognit(), &[]).await.unwrap(), []);
    assert_eq!(replay.asked().len(), 1);
}

#[tokio::test]
async fn where_sets_are_unknown_machines_are_read_one_by_one() {
    let names =
        ["unknown_method", "machine", "missing_machine", "machine_of_another_user", "machine_resizing"];
    let replay = Replay::of(&names).await;
    let machines = replay.nebula.machines(&cognit(), &[22, 98, 99, 25]).await.unwrap();
    assert_eq!(machines.iter().map(|machine| machine.id).collect::<Vec<_>>(), [22, 25]);
    assert_eq!(replay.asked().len(), 5);
}

/// A pool with a machine for each id and service.
fn pool(machines: impl IntoIterator<Item = (usize, usize)>) -> Exchange {
    let recorded = recorded_machine("machine");
    let machines = machines.into_iter().map(|(id, service)| {
        let machine = recorded.replacen("<ID>22</ID>", &format!("<ID>{id}</ID>"), 1);
        machine.replace("[CDATA[48]]", &format!("[CDATA[{service}]]"))
    });
    Exchange::answer(&format!("<VM_POOL>{}</VM_POOL>", machines.collect::<String>()))
}

#[tokio::test]
async fn machines_of_a_service_are_found_by_their_mark_alone() {
    let replay = Replay::with(vec![pool([(1, 48), (2, 148), (3, 480), (4, 48)])]).await;
    let machines = replay.nebula.machines_of_service(&cognit(), 48).await.unwrap();
    assert_eq!(machines.iter().map(|machine| machine.id).collect::<Vec<_>>(), [1, 4]);
    let asked = MethodCall::read(&replay.asked()[0].body);
    assert_eq!(asked.method, "one.vmpool.infoextended");
    let params: Vec<&str> = asked.params[1..].iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(params, ["-2", "0", "-200", "-1"]);
}

#[tokio::test]
async fn an_oned_without_the_long_form_is_asked_for_the_short_one() {
    let replay = Replay::with(vec![Exchange::named("unknown_method"), pool([(1, 48)])]).await;
    assert_eq!(replay.nebula.machines_of_service(&cognit(), 48).await.unwrap().len(), 1);
    let calls: Vec<MethodCall> = replay.asked().iter().map(|asked| MethodCall::read(&asked.body)).collect();
    assert_eq!(calls[1].method, "one.vmpool.info");
    assert_eq!(calls[0].params, calls[1].params);
}

#[tokio::test]
async fn a_long_pool_is_read_to_its_end_and_a_machine_that_moves_up_is_not_missed() {
    // Between the two pages, forty machines end, and the last one of the service moves up.
    let first = pool((0..200).map(|id| (id, 7)));
    let second = pool((190..220).map(|id| (id, if id == 219 { 48 } else { 7 })));
    let replay = Replay::with(vec![first, second]).await;
    let machines = replay.nebula.machines_of_service(&cognit(), 48).await.unwrap();
    assert_eq!(machines.iter().map(|machine| machine.id).collect::<Vec<_>>(), [219]);
    let offsets: Vec<String> =
        replay.asked().iter().map(|asked| MethodCall::read(&asked.body).params[2].1.clone()).collect();
    assert_eq!(offsets, ["0", "150"]);
}

#[tokio::test]
async fn a_name_that_xml_cannot_carry_is_refused_before_anyone_is_asked() {
    let replay = Replay::of(&[]).await;
    let error = replay.nebula.rename_document(&cognit(), 1, "a\u{1}").await.unwrap_err();
    assert!(!error.may_heal(), "{error}");
    let mut template = NebulaTemplate::new();
    template.set(NAME, Text::ours("a\u{0}"));
    let error = replay.nebula.allocate_document(&cognit(), &template, 1337).await.unwrap_err();
    assert!(error.to_string().contains("the attribute NAME cannot be written"), "{error}");
    assert_eq!(replay.asked(), []);
}

//! Changing machines: their size, their disks, and what their user writes on them.

use serde_json::json;

use super::caller::{Bool, COGNIT, EXTRA, Int, OTHER, OnedClient, Text, Vm};

type OnedResult = Result<String, (String, i64)>;

impl OnedClient {
    async fn resize(&self, id: i32, template: &str) -> OnedResult {
        self.call(COGNIT, "one.vm.resize", &[Int(id), Text(template), Bool(true)]).await
    }

    async fn resize_disk(&self, id: i32, disk: i32, size: &str) -> OnedResult {
        self.call(COGNIT, "one.vm.diskresize", &[Int(id), Int(disk), Text(size)]).await
    }
}

fn capacity(vm: &Vm) -> [Option<&str>; 3] {
    ["TEMPLATE/CPU", "TEMPLATE/VCPU", "TEMPLATE/MEMORY"].map(|path| vm.get(path))
}

fn refused(method: &str, why: &str, errno: i64) -> OnedResult {
    Err((format!("[{method}] {why}"), errno))
}

#[tokio::test]
async fn a_resize_keeps_the_old_values_until_it_is_over() {
    let caller = OnedClient::slow().await;
    let id = caller.running().await;
    caller.resize(id, "MEMORY=192\nVCPU=2\nCPU=2").await.unwrap();
    let vm = caller.vm(id).await;
    assert_eq!((vm.state(), capacity(&vm)), ((3, 66), [Some("2"), Some("2"), Some("192")]));
    assert_eq!(vm.get("TEMPLATE/RESIZE/CPU"), Some("1"));
    assert_eq!(vm.get("TEMPLATE/RESIZE/MEMORY"), Some("128"));
    let why = "Cannot resize a VM in state HOTPLUG_RESIZE";
    assert_eq!(caller.resize(id, "CPU=3").await, refused("one.vm.resize", why, 2048));
    caller.advance(60_000).await;
    let vm = caller.vm(id).await;
    assert_eq!((vm.state(), vm.get("TEMPLATE/RESIZE/CPU")), ((3, 3), None));
    // What it has already takes no time.
    caller.resize(id, "MEMORY=192\nVCPU=2\nCPU=2").await.unwrap();
    assert_eq!(caller.state(id).await, (3, 3));
    caller.resize(id, "MEMORY=0\nVCPU=1").await.unwrap();
    assert_eq!(capacity(&caller.vm(id).await), [Some("2"), Some("1"), Some("192")]);
    caller.advance(60_000).await;
    caller.resize(id, "VCPU=3.5").await.unwrap();
    assert_eq!(capacity(&caller.vm(id).await), [Some("2"), Some("3"), Some("192")]);
    caller.advance(60_000).await;
    caller.call(COGNIT, "one.vm.action", &[Text("terminate"), Int(id)]).await.unwrap();
    for state in ["SHUTDOWN", "DONE"] {
        let why = format!("Cannot resize a VM in state {state}");
        assert_eq!(caller.resize(id, "CPU=3").await, refused("one.vm.resize", &why, 2048));
        caller.advance(60_000).await;
    }
}

#[tokio::test]
async fn a_resize_can_be_refused_for_many_reasons() {
    let caller = OnedClient::slow().await;
    let pending = caller.instantiate(0, "vm", EXTRA).await;
    caller.advance(60_000).await;
    let why = "Cannot resize a VM in state PROLOG";
    assert_eq!(caller.resize(pending, "CPU=2").await, refused("one.vm.resize", why, 2048));
    let id = caller.running().await;
    let check = async |template: &str, why: &str, errno: i64| {
        assert_eq!(caller.resize(id, template).await, refused("one.vm.resize", why, errno), "{template}");
    };
    check("VCPU=64\nCPU=64", "Not enough CPU: 6400/600", 2048).await;
    check("MEMORY=100000", "Not enough memory: 102400000/67108864", 2048).await;
    check("CPU=-1", "CPU must be a positive float or integer value.", 8192).await;
    let syntax = "Parse error: syntax error, unexpected $end, expecting OBRACKET or CCDATA or STRING at line 1, \
                  columns 10:11";
    check("CPU=1\nCPU=", syntax, 8192).await;
    caller.faults(json!({"kind": "resize_refused_quota"})).await;
    check("CPU=2", "User [2] : user [2] limit of 1 reached for CPU quota in VM.", 512).await;
    let foreign = caller.call(OTHER, "one.vm.resize", &[Int(id), Text("CPU=2"), Bool(true)]).await;
    let why = format!("User [3] : Not authorized to perform MANAGE VM [{id}].");
    assert_eq!(foreign, refused("one.vm.resize", &why, 512));
    assert_eq!(capacity(&caller.vm(id).await), [Some("1"), Some("1"), Some("128")]);
    caller.resize(id, "CPU=2").await.unwrap();
}

#[tokio::test]
async fn a_resize_can_do_nothing() {
    let caller = OnedClient::slow().await;
    let id = caller.running().await;
    caller.faults(json!({"kind": "resize_does_nothing"})).await;
    caller.resize(id, "MEMORY=192\nVCPU=2\nCPU=2").await.unwrap();
    assert_eq!(caller.state(id).await, (3, 66));
    caller.advance(60_000).await;
    let vm = caller.vm(id).await;
    assert_eq!((vm.state(), capacity(&vm)), ((3, 3), [Some("1"), Some("1"), Some("128")]));
}

#[tokio::test]
async fn disks_only_grow() {
    let caller = OnedClient::slow().await;
    let id = caller.instantiate(7, "vm", "").await;
    caller.advance(180_000).await;
    assert_eq!(caller.vm(id).await.all("TEMPLATE/DISK/SIZE"), ["1024", "2048"]);
    let check = async |disk: i32, size: &str, why: &str| {
        assert_eq!(
            caller.resize_disk(id, disk, size).await,
            refused("one.vm.diskresize", why, 2048),
            "{size}"
        );
    };
    check(0, "", "Disk SIZE is not a valid integer").await;
    check(0, "1.5", "Disk SIZE is not a valid integer").await;
    check(0, "-1", "New disk size has to be greater than current one").await;
    check(0, "1024", "New disk size has to be greater than current one").await;
    check(1, "2000", "New disk size has to be greater than current one").await;
    check(2, "4096", "VM disk does not exist").await;
    assert_eq!(caller.resize_disk(id, 1, "4096").await.as_deref(), Ok("1"));
    let vm = caller.vm(id).await;
    assert_eq!((vm.state(), vm.all("TEMPLATE/DISK/SIZE")), ((3, 62), vec!["1024", "4096"]));
    check(0, "4096", &format!("Could not resize disk for VM {id}, wrong state DISK_RESIZE.")).await;
    caller.advance(60_000).await;
    assert_eq!(caller.state(id).await, (3, 3));
}

#[tokio::test]
async fn what_is_pasted_carelessly_becomes_attributes() {
    let caller = OnedClient::new().await;
    let place = "x\"]\nINJECTED=[A=\"bar";
    let extra = format!("{EXTRA}\nDEVICE_INFO=[GEOGRAPHIC_LOCATION=\"{place}\"]\nMEMORY=7");
    let vm = caller.vm(caller.instantiate(0, "vm", &extra).await).await;
    assert_eq!(vm.get("USER_TEMPLATE/INJECTED/A"), Some("bar"));
    assert_eq!(vm.get("USER_TEMPLATE/DEVICE_INFO/GEOGRAPHIC_LOCATION"), Some("x"));
    assert_eq!(vm.get("TEMPLATE/MEMORY"), Some("128"));
    let honest = format!("{EXTRA}\nSCHED_REQUIREMENTS=\"ARCH=\\\"x86_64\\\"\"");
    let vm = caller.vm(caller.instantiate(0, "vm", &honest).await).await;
    assert_eq!(vm.get("USER_TEMPLATE/SCHED_REQUIREMENTS"), Some("ARCH=\"x86_64\""));
    let args = [Int(0), Text("vm"), Bool(false), Text("A=\"b\"c\"\nD"), Bool(false)];
    let (why, errno) = caller.call(COGNIT, "one.template.instantiate", &args).await.unwrap_err();
    assert!(why.starts_with("[one.template.instantiate] Parse error: syntax error"), "{why}");
    assert_eq!(errno, 8192);
}

#[tokio::test]
async fn extra_attributes_replace_all_of_their_name() {
    let caller = OnedClient::new().await;
    let extra = "DISK=[IMAGE=\"function-image\",IMAGE_UNAME=oneadmin,SIZE=\"3072\"]\nNIC=[]\nPRIVATE=1";
    let vm = caller.vm(caller.instantiate(7, "", extra).await).await;
    assert_eq!(vm.all("TEMPLATE/DISK/SIZE"), ["3072"]);
    assert_eq!(vm.all("TEMPLATE/NIC/IP"), [""; 0]);
    assert_eq!(vm.get("USER_TEMPLATE/PRIVATE"), Some("1"));
    assert_eq!(vm.get("NAME"), Some("one-0"));
}

const ALLOCATING: &str = "[one.template.instantiate] Error allocating a new virtual machine template. ";

impl OnedClient {
    /// Why a machine of template 0 is not made.
    async fn refused(&self, name: &str, extra: &str) -> (String, i64) {
        let args = [Int(0), Text(name), Bool(false), Text(extra), Bool(false)];
        self.call(COGNIT, "one.template.instantiate", &args).await.unwrap_err()
    }
}

#[tokio::test]
async fn what_cannot_become_a_machine_is_refused_in_the_words_of_oned() {
    let caller = OnedClient::new().await;
    for (extra, why) in [
        ("CPU=0", "CPU attribute must be a positive float or integer value."),
        ("MEMORY=0", "MEMORY attribute must be a positive integer value."),
        ("VCPU=x", "VCPU attribute must be a positive integer value."),
        (
            "DISK=[IMAGE=nope]",
            "DISK 0: User 2 does not own an image with name: nope . Set IMAGE_UNAME or IMAGE_UID of owner in DISK.",
        ),
        (
            "DISK=[IMAGE=function-image]",
            "DISK 0: User 2 does not own an image with name: function-image . Set IMAGE_UNAME or IMAGE_UID of owner \
             in DISK.",
        ),
        (
            "DISK=[IMAGE_ID=0]\nDISK=[IMAGE=nope,IMAGE_UNAME=oneadmin]",
            "DISK 1: User 0 does not own an image with name: nope . Set IMAGE_UNAME or IMAGE_UID of owner in DISK.",
        ),
        ("DISK=[IMAGE_ID=0,SIZE=10]", "DISK 0: SIZE of 10MB is less than the image [0] size of 1024MB."),
        (
            "NIC=[NETWORK=nope]",
            "User 2 does not own a network with name: nope . Set NETWORK_UNAME or NETWORK_UID of owner in NIC.",
        ),
        ("RAW=[DATA=\"x\"]", "Invalid RAW section: unsupported TYPE"),
    ] {
        assert_eq!(caller.refused("vm", extra).await, (format!("{ALLOCATING}{why}"), 16384), "{extra}");
    }
    let why = format!("{ALLOCATING}Invalid NAME, max length is 128 chars");
    assert_eq!(caller.refused(&"n".repeat(129), "").await, (why, 16384));
    caller.faults(json!({"kind": "no_onegate"})).await;
    let why = format!("{ALLOCATING}TOKEN set, but onegate endpoint was not defined in oned.conf.");
    assert_eq!(caller.refused("vm", "CONTEXT=[TOKEN=YES]").await, (why, 16384));
    assert_eq!(caller.standing("oned/vm").await, 0);
    caller.instantiate(0, "vm", "CONTEXT=[TOKEN=YES]").await;
}

#[tokio::test]
async fn a_negative_size_and_raw_data_meet_other_checks_in_each_release() {
    let caller = OnedClient::new().await;
    let negative = "MEMORY attribute must be a positive integer value.";
    let why = format!("[one.template.instantiate] User [2] : user [2] {negative}");
    assert_eq!(caller.refused("vm", "MEMORY=-5").await, (why, 512));
    let id = caller.instantiate(0, "vm", EXTRA).await;
    let update =
        async |template: &str| caller.call(COGNIT, "one.vm.update", &[Int(id), Text(template), Int(1)]).await;
    update("RAW=[DATA=\"x\"]").await.unwrap();
    let (why, errno) = update("A=").await.unwrap_err();
    assert!(why.starts_with("[one.vm.update] Cannot update template. Parse error: "), "{why}");
    assert_eq!(errno, 8192);
    assert_eq!(
        caller.call(COGNIT, "one.vm.update", &[Int(id), Text("A=1"), Int(2)]).await,
        refused("one.vm.update", "Wrong update type", 4096)
    );

    caller.release("7.4").await;
    assert_eq!(caller.refused("vm", "MEMORY=-5").await, (format!("{ALLOCATING}{negative}"), 16384));
    let why = "[one.template.instantiate] User Template includes a restricted attribute RAW.";
    assert_eq!(caller.refused("vm", "RAW=[DATA=\"x\"]").await, (why.into(), 512));
    let why = "Cannot update template. User Template includes a restricted attribute RAW";
    assert_eq!(update("RAW=[DATA=\"x\"]").await, refused("one.vm.update", why, 8192));
    let (why, errno) = update("A=").await.unwrap_err();
    assert!(why.starts_with("[one.vm.update] Parse error: "), "{why}");
    assert_eq!(errno, 2048);
}

#[tokio::test]
async fn a_network_without_a_gateway_leaves_its_context_empty() {
    let caller = OnedClient::new().await;
    let nic = "NIC=[NETWORK=\"bare-net\",NETWORK_UNAME=oneadmin]";
    let bare = caller.vm(caller.instantiate(0, "vm", nic).await).await;
    for name in ["GATEWAY", "MASK", "NETWORK"] {
        assert_eq!(bare.get(&format!("TEMPLATE/CONTEXT/ETH0_{name}")), Some(""), "{name}");
    }
    assert_eq!(bare.get("TEMPLATE/NIC/GATEWAY"), None);
    assert_eq!(bare.get("TEMPLATE/CONTEXT/ETH0_IP"), bare.get("TEMPLATE/NIC/IP"));
    assert_eq!(bare.get("TEMPLATE/NIC/NETWORK_ID"), Some("1"));
    let routed = caller.vm(caller.instantiate(0, "vm", "").await).await;
    assert_eq!(routed.get("TEMPLATE/CONTEXT/ETH0_GATEWAY"), routed.get("TEMPLATE/NIC/GATEWAY"));
    assert_eq!(routed.get("TEMPLATE/CONTEXT/ETH0_MASK"), Some("255.255.255.0"));
}

#[tokio::test]
async fn an_extended_template_has_what_its_image_and_its_network_say() {
    let caller = OnedClient::new().await;
    let show = async |extended| {
        let xml =
            caller.call(COGNIT, "one.template.info", &[Int(5), Bool(extended), Bool(false)]).await.unwrap();
        let texts = super::outline::values(&xml);
        let text = |path: &str| {
            let path = format!("VMTEMPLATE/TEMPLATE/{path}");
            texts.iter().find(|(at, _)| *at == path).map(|(_, text)| text.clone())
        };
        ["DISK/SIZE", "DISK/IMAGE_ID", "DISK/ORIGINAL_SIZE", "DISK/DATASTORE", "NIC/NETWORK_ID"].map(text)
    };
    assert_eq!(show(false).await, [Some("2048".into()), None, None, None, None]);
    let full = ["2048", "0", "1024", "default", "0"];
    assert_eq!(show(true).await, full.map(|text| Some(text.into())));
}

#[tokio::test]
async fn users_write_on_their_machines() {
    let caller = OnedClient::new().await;
    let id = caller.instantiate(0, "vm", EXTRA).await;
    let update = async |template: &str, append: i32| {
        caller.call(COGNIT, "one.vm.update", &[Int(id), Text(template), Int(append)]).await.unwrap();
        caller.vm(id).await
    };
    let vm = update("<T><DEVICE_INFO><LATENCY_TO_PE>0.5</LATENCY_TO_PE></DEVICE_INFO></T>", 1).await;
    assert_eq!(vm.get("USER_TEMPLATE/DEVICE_INFO/LATENCY_TO_PE"), Some("0.5"));
    assert_eq!(vm.get("USER_TEMPLATE/FLAVOURS"), Some("0"));
    let vm = update("DEVICE_INFO=[]\n", 1).await;
    assert_eq!(vm.get("USER_TEMPLATE/DEVICE_INFO/LATENCY_TO_PE"), None);
    let vm = update("SCHED_RANK=\"ENERGY\"", 0).await;
    assert_eq!(
        (vm.get("USER_TEMPLATE/SCHED_RANK"), vm.get("USER_TEMPLATE/FLAVOURS")),
        (Some("ENERGY"), None)
    );
}

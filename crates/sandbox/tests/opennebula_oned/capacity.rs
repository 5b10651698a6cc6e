//! Changing machines: their size, their disks, and what their user writes on them.

use serde_json::json;

use crate::caller::{Bool, COGNIT, Caller, EXTRA, Int, OTHER, Text, Vm};

type Answered = Result<String, (String, i64)>;

impl Caller {
    async fn resize(&self, id: i32, template: &str) -> Answered {
        self.call(COGNIT, "one.vm.resize", &[Int(id), Text(template), Bool(true)]).await
    }

    async fn resize_disk(&self, id: i32, disk: i32, size: &str) -> Answered {
        self.call(COGNIT, "one.vm.diskresize", &[Int(id), Int(disk), Text(size)]).await
    }
}

fn capacity(vm: &Vm) -> [Option<&str>; 3] {
    ["TEMPLATE/CPU", "TEMPLATE/VCPU", "TEMPLATE/MEMORY"].map(|path| vm.get(path))
}

fn refused(method: &str, why: &str, errno: i64) -> Answered {
    Err((format!("[{method}] {why}"), errno))
}

#[tokio::test]
async fn a_resize_keeps_the_old_values_until_it_is_over() {
    let caller = Caller::slow().await;
    let id = caller.running().await;
    caller.resize(id, "MEMORY=192\nVCPU=2\nCPU=2").await.unwrap();
    let vm = caller.vm(id).await;
    assert_eq!((vm.state(), capacity(&vm)), ((3, 66), [Some("2"), Some("2"), Some("192")]));
    assert_eq!(vm.get("TEMPLATE/RESIZE/CPU"), Some("1"));
    assert_eq!(vm.get("TEMPLATE/RESIZE/MEMORY"), Some("128"));
    let why = format!("Could not perform resize on VM {id}, wrong state HOTPLUG_RESIZE.");
    assert_eq!(caller.resize(id, "CPU=3").await, refused("one.vm.resize", &why, 2048));
    caller.advance(60_000).await;
    let vm = caller.vm(id).await;
    assert_eq!((vm.state(), vm.get("TEMPLATE/RESIZE/CPU")), ((3, 3), None));
    // What it has already takes no time.
    caller.resize(id, "MEMORY=192\nVCPU=2\nCPU=2").await.unwrap();
    assert_eq!(caller.state(id).await, (3, 3));
    caller.resize(id, "MEMORY=0\nVCPU=1").await.unwrap();
    assert_eq!(capacity(&caller.vm(id).await), [Some("2"), Some("1"), Some("192")]);
}

#[tokio::test]
async fn a_resize_can_be_refused_for_many_reasons() {
    let caller = Caller::slow().await;
    let pending = caller.instantiate(0, "vm", EXTRA).await;
    caller.advance(60_000).await;
    let why = format!("Could not perform resize on VM {pending}, wrong state PROLOG.");
    assert_eq!(caller.resize(pending, "CPU=2").await, refused("one.vm.resize", &why, 2048));
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
    caller.mischief(json!({"kind": "resize_refused_quota"})).await;
    check("CPU=2", "User [2] : user [2] limit of 1 reached for CPU quota in VM.", 512).await;
    let foreign = caller.call(OTHER, "one.vm.resize", &[Int(id), Text("CPU=2"), Bool(true)]).await;
    let why = format!("User [3] : Not authorized to perform MANAGE VM [{id}].");
    assert_eq!(foreign, refused("one.vm.resize", &why, 512));
    assert_eq!(capacity(&caller.vm(id).await), [Some("1"), Some("1"), Some("128")]);
    caller.resize(id, "CPU=2").await.unwrap();
}

#[tokio::test]
async fn a_resize_can_do_nothing() {
    let caller = Caller::slow().await;
    let id = caller.running().await;
    caller.mischief(json!({"kind": "resize_does_nothing"})).await;
    caller.resize(id, "MEMORY=192\nVCPU=2\nCPU=2").await.unwrap();
    assert_eq!(caller.state(id).await, (3, 66));
    caller.advance(60_000).await;
    let vm = caller.vm(id).await;
    assert_eq!((vm.state(), capacity(&vm)), ((3, 3), [Some("1"), Some("1"), Some("128")]));
}

#[tokio::test]
async fn disks_only_grow() {
    let caller = Caller::slow().await;
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
    let caller = Caller::new().await;
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
    let caller = Caller::new().await;
    let extra = "DISK=[IMAGE=\"function-image\",SIZE=\"3072\"]\nNIC=[]\nPRIVATE=1";
    let vm = caller.vm(caller.instantiate(7, "", extra).await).await;
    assert_eq!(vm.all("TEMPLATE/DISK/SIZE"), ["3072"]);
    assert_eq!(vm.all("TEMPLATE/NIC/IP"), [""; 0]);
    assert_eq!(vm.get("USER_TEMPLATE/PRIVATE"), Some("1"));
    assert_eq!(vm.get("NAME"), Some("one-0"));
    for (extra, why) in [
        ("CPU=0", "CPU attribute must be a positive float or integer value."),
        ("MEMORY=-5", "MEMORY attribute must be a positive integer value."),
        ("VCPU=x", "VCPU attribute must be a positive integer value."),
        ("DISK=[IMAGE=nope]", "User 0 does not own an image with name: nope . "),
    ] {
        let args = [Int(0), Text("vm"), Bool(false), Text(extra), Bool(false)];
        let (text, errno) = caller.call(COGNIT, "one.template.instantiate", &args).await.unwrap_err();
        assert!(text.contains(why), "{text}");
        assert_eq!(errno, 16384);
    }
    assert_eq!(caller.standing("oned/vm").await, 1);
}

#[tokio::test]
async fn users_write_on_their_machines() {
    let caller = Caller::new().await;
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

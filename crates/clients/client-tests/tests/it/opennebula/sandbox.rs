//! The driver against the sandbox: whole lives of services and documents, in both dialects.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use opennebula::{
    AttributeName, Capacity, DocumentFilter, DocumentPage, FlowService, NebulaErrorKind, NebulaTemplate,
    OpenNebula, OpenNebulaOptions, RUNTIME_DOCUMENT, ServiceTemplate, Text, VirtualMachine, VmAction,
};
use sandbox::Sandbox;
use serde_json::{Value, json};

use super::recorded::cognit;

const BODY: AttributeName = AttributeName::of("BODY");
/// So often a test looks again. Each time, a second has passed for the external system.
const LOOKS_MAX: usize = 60;

struct SandboxedNebula {
    sandbox: Sandbox,
    nebula: OpenNebula,
    client: reqwest::Client,
}

impl SandboxedNebula {
    async fn new() -> SandboxedNebula {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let options = OpenNebulaOptions::new(sandbox.oned_url(), sandbox.oneflow_url());
        let nebula =
            OpenNebula::new(&OpenNebulaOptions { timeout: Duration::from_secs(60), ..options }).unwrap();
        SandboxedNebula { sandbox, nebula, client: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    async fn second(&self) {
        let turn =
            self.client.post(format!("{}/clock", self.sandbox.url())).json(&json!({ "advance_ms": 1000 }));
        turn.send().await.unwrap().error_for_status().unwrap();
    }

    async fn template(&self, name: &str) -> ServiceTemplate {
        let templates = self.nebula.service_templates(&cognit()).await.unwrap();
        templates.into_iter().find(|template| template.name == name).unwrap()
    }

    /// Looks until the service is running.
    async fn running(&self, id: i32) -> FlowService {
        for _ in 0..LOOKS_MAX {
            self.second().await;
            let service = self.nebula.service(&cognit(), id).await.unwrap();
            if service.state_name() == "RUNNING" {
                return service;
            }
        }
        panic!("service {id} is not running");
    }

    /// Looks until the machine is running.
    async fn settled(&self, id: i32) -> VirtualMachine {
        for _ in 0..LOOKS_MAX {
            self.second().await;
            let machine = self.nebula.machine(&cognit(), id).await.unwrap();
            if machine.lcm_state == 3 {
                return machine;
            }
        }
        panic!("machine {id} is not running");
    }
}

/// What a role gets: its own disk, larger, and some values with characters that mean something.
async fn contents(fixture: &SandboxedNebula, template: &ServiceTemplate) -> BTreeMap<String, NebulaTemplate> {
    let mut all = BTreeMap::new();
    for role in &template.roles {
        let base = fixture.nebula.vm_template(&cognit(), role.vm_template.unwrap()).await.unwrap();
        let mut contents = NebulaTemplate::new();
        let mut disk = base.template.vectors("DISK").next().unwrap().clone();
        disk.set(AttributeName::of("SIZE"), 2048_u32);
        contents.push(disk);
        contents.set(AttributeName::of("CPU"), 2_u32);
        contents.set(AttributeName::of("VCPU"), 2_u32);
        contents.set(AttributeName::of("MEMORY"), 256_u32);
        let place = Text::from_user("a, b] = 'c' # d \\ e").unwrap();
        let info = vec![(AttributeName::of("GEOGRAPHIC_LOCATION"), place)];
        contents.push_vector(AttributeName::of("DEVICE_INFO"), info);
        all.insert(role.name.clone(), contents);
    }
    all
}

async fn live(release: &str, name: &str) {
    let fixture = SandboxedNebula::new().await;
    let url = format!("{}/opennebula/release", fixture.sandbox.url());
    fixture.client.put(url).json(&json!({"release": release})).send().await.unwrap();
    let nebula = &fixture.nebula;
    let template = fixture.template(name).await;
    let contents = contents(&fixture, &template).await;
    let made = nebula.instantiate(&cognit(), &template, "sr-1-token", &contents).await.unwrap();
    assert_eq!(made.name, "sr-1-token");
    let service = fixture.running(made.id).await;
    assert!(
        nebula
            .services(&cognit(), DocumentFilter::Mine, None)
            .await
            .unwrap()
            .iter()
            .any(|found| found.name == "sr-1-token")
    );

    let ids: Vec<i32> = service.roles.iter().flat_map(|role| role.nodes.clone()).collect();
    assert_eq!(ids.len(), template.roles.len());
    let machines = nebula.machines(&cognit(), &[&ids[..], &[999_999]].concat()).await.unwrap();
    let mut found: Vec<i32> = machines.iter().map(|machine| machine.id).collect();
    found.sort_unstable();
    assert_eq!(found, ids);
    for machine in &machines {
        assert_eq!((machine.template.get("VCPU"), machine.template.get("MEMORY")), (Some("2"), Some("256")));
        assert_eq!(machine.template.vectors("DISK").next().unwrap().get("SIZE"), Some("2048"));
        let info = machine.user_template.vectors("DEVICE_INFO").next().unwrap();
        assert_eq!(info.get("GEOGRAPHIC_LOCATION"), Some("a, b] = 'c' # d \\ e"));
    }
    let of_service = nebula.machines_of_service(&cognit(), service.id).await.unwrap();
    assert_eq!(of_service.iter().map(|machine| machine.id).collect::<Vec<_>>(), ids);

    nebula.delete_service(&cognit(), service.id).await.unwrap();
    for _ in 0..LOOKS_MAX {
        fixture.second().await;
        if nebula.service(&cognit(), service.id).await.is_err() {
            break;
        }
    }
    assert!(nebula.service(&cognit(), service.id).await.unwrap_err().is(NebulaErrorKind::NotFound));
    assert_eq!(nebula.machines_of_service(&cognit(), service.id).await.unwrap(), []);
    assert_eq!(nebula.machine(&cognit(), ids[0]).await.unwrap().state, 6);
}

#[tokio::test]
async fn a_service_of_release_six_lives_and_ends() {
    live("6.8", "Function-Data").await;
}

#[tokio::test]
async fn a_service_whose_roles_are_in_another_order_lives_and_ends() {
    live("6.8", "Swapped-Data").await;
}

#[tokio::test]
async fn a_service_of_release_seven_lives_and_ends() {
    live("7.4", "Seven-Data").await;
}

#[tokio::test]
async fn a_machine_is_resized_and_amended() {
    let fixture = SandboxedNebula::new().await;
    let nebula = &fixture.nebula;
    let template = fixture.template("Function").await;
    let made = nebula.instantiate(&cognit(), &template, "sr-1", &BTreeMap::new()).await.unwrap();
    let id = fixture.running(made.id).await.roles[0].nodes[0];

    nebula.resize(&cognit(), id, Capacity { cpu: Some(3), memory: Some(300) }).await.unwrap();
    let machine = fixture.settled(id).await;
    assert_eq!((machine.template.get("CPU"), machine.template.get("VCPU")), (Some("3"), Some("3")));
    assert_eq!(machine.template.get("MEMORY"), Some("300"));
    nebula.resize_disk(&cognit(), id, 0, 4096).await.unwrap();
    let machine = fixture.settled(id).await;
    assert_eq!(machine.template.vectors("DISK").next().unwrap().get("SIZE"), Some("4096"));
    let error = nebula.resize_disk(&cognit(), id, 0, 1).await.unwrap_err();
    assert!(error.is(NebulaErrorKind::Action), "{error}");

    let mut amended = NebulaTemplate::new();
    amended.set(AttributeName::of("SCHED_RANK"), Text::from_user("a & \"b\" < $c").unwrap());
    nebula.amend_machine(&cognit(), id, &amended).await.unwrap();
    let machine = nebula.machine(&cognit(), id).await.unwrap();
    assert_eq!(machine.user_template.get("SCHED_RANK"), Some("a & \"b\" < $c"));
    assert_eq!(machine.user_template.get("SERVICE_ID"), Some(made.id.to_string().as_str()));
    let error = nebula.act(&cognit(), id, VmAction::Resched).await.unwrap_err();
    assert!(error.is(NebulaErrorKind::Authorization), "{error}");
}

#[tokio::test]
async fn a_document_keeps_what_it_is_given() {
    let fixture = SandboxedNebula::new().await;
    let nebula = &fixture.nebula;
    let body = json!({ "a": "]] > & <x> \"'", "b": "é\u{1f600}" }).to_string();
    let mut template = NebulaTemplate::new();
    template.set(AttributeName::of("NAME"), Text::from_user("a (b)").unwrap());
    template.set(BODY, Text::ours(body.as_str()));
    template.set(AttributeName::of("TOKEN"), "t-1");
    let id = nebula.allocate_document(&cognit(), &template, RUNTIME_DOCUMENT).await.unwrap();
    let document = nebula.document(&cognit(), id).await.unwrap();
    assert_eq!((document.name.as_str(), document.body.as_str()), ("a (b)", body.as_str()));
    assert_eq!(document.template.get("TOKEN"), Some("t-1"));

    let mut launch_tag = NebulaTemplate::new();
    launch_tag.set(AttributeName::of("DELETING"), "YES");
    nebula.amend_document(&cognit(), id, &launch_tag).await.unwrap();
    nebula.rename_document(&cognit(), id, "renamed").await.unwrap();
    let page = Some(DocumentPage { offset: 0, size: 1 });
    let found = nebula.documents(&cognit(), DocumentFilter::Mine, RUNTIME_DOCUMENT, page).await.unwrap();
    assert_eq!((found[0].name.as_str(), found[0].body.as_str()), ("renamed", body.as_str()));
    assert_eq!(found[0].template.get("DELETING"), Some("YES"));
    nebula.replace_document(&cognit(), id, &launch_tag).await.unwrap();
    let document = nebula.document(&cognit(), id).await.unwrap();
    assert_eq!((document.body.as_str(), document.template.get("TOKEN")), ("", None));
    nebula.delete_document(&cognit(), id).await.unwrap();
    assert!(nebula.document(&cognit(), id).await.unwrap_err().is(NebulaErrorKind::NotFound));
}

#[tokio::test]
async fn many_calls_share_few_connections() {
    let fixture = SandboxedNebula::new().await;
    let calls: Vec<_> = (0..300)
        .map(|_| {
            let nebula = fixture.nebula.clone();
            tokio::spawn(async move { nebula.user(&cognit()).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().name, "cognit");
    }
    let url = format!("{}/opennebula/connections", fixture.sandbox.url());
    let counts: Value = fixture.client.get(url).send().await.unwrap().json().await.unwrap();
    assert!(counts["peak"].as_u64().unwrap() <= 8, "{counts}");
    assert!(counts["accepted"].as_u64().unwrap() < 40, "{counts}");
}

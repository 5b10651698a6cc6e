//! The answers of the sandbox are held to those of Azure.

use std::sync::Arc;

use azure::{Azure, ClientCertificate, Credential, Options};
use cloud::Provider;
use serde_json::{Value, json};

use super::certificates::{ClockBehind, certificate};
use super::fixture::{AzureFixture, SUBSCRIPTION, image, request};
use crate::tap::Tap;
use crate::vector;

/// A sandbox behind a tap, with an image in a subscription.
struct TappedAzure {
    fixture: AzureFixture,
    tap: Tap,
}

impl TappedAzure {
    async fn new() -> TappedAzure {
        let mut fixture = AzureFixture::new().await;
        let tap = Tap::start(&fixture.shared.sandbox.url()).await;
        fixture.azure = Azure::new(&Options::beside(&tap.url)).unwrap();
        TappedAzure { fixture, tap }
    }

    async fn regions(&self, options: &Options) {
        drop(Azure::new(options).unwrap().regions(&self.fixture.place()).await);
    }

    async fn raw(&self, method: &str, path: &str, body: Option<&Value>) {
        let path = format!("/azure/subscriptions/{SUBSCRIPTION}{path}?api-version=2024-07-01");
        self.tap.call(method, &path, body).await;
    }
}

async fn refuse_tokens(tapped: &TappedAzure) {
    let beside = || Options::beside(&tapped.tap.url);
    tapped.regions(&Options { credential: Some(Credential::Secret("wrong".into())), ..beside() }).await;
    tapped.regions(&Options { client_id: "unknown".to_owned(), ..beside() }).await;
    tapped.regions(&Options { tenant: "unknown".to_owned(), ..beside() }).await;
    let (certificate, key) = certificate();
    let read = ClientCertificate::parse(&format!("{certificate}{key}")).unwrap();
    let signed = Options { credential: Some(Credential::Certificate(read)), ..beside() };
    tapped.regions(&signed).await;
    tapped.fixture.shared.post("/azure/certificates", &json!({"certificate": certificate})).await;
    // It signs for the tap, and the sandbox is elsewhere.
    tapped.regions(&signed).await;
    let late = Azure::with_clock(&signed, Arc::new(ClockBehind)).unwrap();
    drop(late.regions(&tapped.fixture.place()).await);
}

/// A launch from its rehearsal to its end.
async fn launch(tapped: &TappedAzure) {
    let TappedAzure { fixture, .. } = tapped;
    let (place, request) = (fixture.place(), request("tag", 2));
    fixture.azure.identity(&place).await.unwrap();
    fixture.azure.regions(&place).await.unwrap();
    fixture.azure.image(&place, &image()).await.unwrap();
    fixture.azure.dry_run(&place, &request).await.unwrap();
    let made = fixture.launched(&request).await;
    let ids: Vec<String> = made.into_iter().map(|one| one.id).collect();
    fixture.azure.describe(&place, &ids).await.unwrap();
    let world = fixture.shared.get("/azure/world").await;
    let path_of = |kind: &str| {
        let found = world["resources"].as_array().unwrap().iter().find(|one| one["kind"] == kind).unwrap();
        found["id"].as_str().unwrap().split_once(SUBSCRIPTION).unwrap().1.to_owned()
    };
    for kind in ["vm", "public_ip", "network", "nsg", "disk"] {
        tapped.raw("GET", &path_of(kind), None).await;
    }
    tapped.raw("DELETE", &path_of("nic"), None).await;
    tapped.raw("DELETE", &path_of("network"), None).await;
    fixture.undone(&request).await;
}

/// The bodies of calls that a launch makes, as they arrived at the sandbox.
fn bodies() -> [(&'static str, Value); 4] {
    let id = |rest: &str| format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/own/providers/{rest}");
    let subnet = json!({"id": id("Microsoft.Network/virtualNetworks/net/subnets/instances")});
    let configuration =
        json!({"name": "primary", "properties": {"subnet": subnet, "privateIPAllocationMethod": "Dynamic"}});
    let key = json!({"path": "/home/azureuser/.ssh/authorized_keys", "keyData": super::fixture::KEY});
    [
        ("/resourceGroups/own", json!({"location": "eastus"})),
        (
            "/resourceGroups/own/providers/Microsoft.Network/virtualNetworks/net",
            json!({"location": "eastus", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
                "subnets": [{"name": "instances", "properties": {"addressPrefix": "10.0.0.0/16"}}]}}),
        ),
        (
            "/resourceGroups/own/providers/Microsoft.Network/networkInterfaces/nic",
            json!({"location": "eastus", "properties": {"ipConfigurations": [configuration]}}),
        ),
        (
            "/resourceGroups/own/providers/Microsoft.Compute/virtualMachines/vm",
            json!({"location": "eastus", "properties": {
                "hardwareProfile": {"vmSize": "Standard_B1s"},
                "storageProfile": {"imageReference": {"id": image()}, "osDisk": {"createOption": "FromImage"}},
                "osProfile": {"computerName": "vm", "adminUsername": "azureuser",
                    "linuxConfiguration": {"ssh": {"publicKeys": [key]}}},
                "networkProfile": {"networkInterfaces": [{"id": id("Microsoft.Network/networkInterfaces/nic")}]},
            }}),
        ),
    ]
}

/// Calls that a client of ours makes only when something goes wrong, one after the other.
async fn fail(tapped: &TappedAzure) {
    let TappedAzure { fixture, tap } = tapped;
    let [group, network, nic, vm] = bodies();
    tapped.raw("PUT", group.0, Some(&group.1)).await;
    fixture.shared.put("/azure/delay_times", &json!({"network_ms": 60_000, "running_ms": 60_000})).await;
    tapped.raw("PUT", network.0, Some(&network.1)).await;
    tapped.raw("PUT", nic.0, Some(&nic.1)).await;
    fixture.pass(60_000).await;
    tapped.raw("PUT", nic.0, Some(&nic.1)).await;
    fixture.pass(60_000).await;
    fixture.shared.put("/azure/quota", &json!({"vcpus": 0})).await;
    tapped.raw("PUT", vm.0, Some(&vm.1)).await;
    fixture.shared.put("/azure/quota", &json!({"vcpus": null})).await;
    fixture.shared.put("/azure/capacity", &json!({"instances": 0, "at": "call"})).await;
    tapped.raw("PUT", vm.0, Some(&vm.1)).await;
    fixture.shared.put("/azure/capacity", &json!({"instances": 0, "at": "operation"})).await;
    tapped.raw("PUT", vm.0, Some(&vm.1)).await;
    tapped.raw("PUT", vm.0, Some(&vm.1)).await;
    follow(tapped).await;
    let expanded = format!("/azure/subscriptions/{SUBSCRIPTION}{}?api-version=1&$expand=instanceView", vm.0);
    tap.call("GET", &expanded, None).await;
    fixture.shared.put("/azure/capacity", &json!({"instances": null})).await;
    fixture.shared.put("/azure/throttle", &json!({"every": 1, "retry_after_s": 284})).await;
    tapped.raw("GET", vm.0, None).await;
    fixture.shared.put("/azure/throttle", &json!({"every": 0})).await;
    tapped.raw("DELETE", vm.0, None).await;
    follow(tapped).await;
    tapped.raw("GET", vm.0, None).await;
    tapped.raw("DELETE", group.0, None).await;
    follow(tapped).await;
    tapped.raw("GET", vm.0, None).await;
    for (actions, registered) in [(json!(["*/read"]), true), (json!(["*"]), false)] {
        let delegation = json!({"orgs": ["default"], "actions": actions, "registered": registered});
        fixture.shared.put("/azure/delegations", &delegation).await;
        tapped.raw("PUT", group.0, Some(&group.1)).await;
        tapped.raw("PUT", network.0, Some(&network.1)).await;
    }
}

/// What the last call began, while it goes on and after its end.
async fn follow(tapped: &TappedAzure) {
    let begun = tapped.tap.exchanges().into_iter().rev().find_map(|one| one.link).unwrap();
    let path = begun.split_once("/azure").unwrap().1;
    tapped.tap.call("GET", &format!("/azure{path}"), None).await;
    tapped.fixture.pass(600_000).await;
    tapped.tap.call("GET", &format!("/azure{path}"), None).await;
}

#[tokio::test]
async fn the_sandbox_answers_as_azure_does() {
    let tapped = TappedAzure::new().await;
    refuse_tokens(&tapped).await;
    launch(&tapped).await;
    fail(&tapped).await;
    let exchanges = tapped.tap.exchanges();
    let differences: Vec<String> =
        vector::all("azure").iter().flat_map(|one| one.differences(&exchanges)).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

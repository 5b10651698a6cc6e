//! The client is served what Azure answers.

use std::sync::Arc;
use std::time::Duration;

use azure::{Azure, Credential, Options};
use client_tests::{TestClock, TestServer};
use cloud::{Architecture, Category, CloudAccount, CloudError, InstanceState, PartKind, Provider};

use super::fixture::{SUBSCRIPTION, account, image, in_named_group, request};
use crate::vector::{self, Vector, replay};

const TENANT: &str = "00000000-0000-4000-8000-0000000000aa";
const GROUP: &str = "/subscriptions/s/resourceGroups/g";
const VM: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v";
const VM_EXPANDED: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v?$expand=instanceView";
const OPERATION: &str = "/subscriptions/s/providers/Microsoft.Network/locations/l/operations/o";
const LOCATIONS: &str = "/subscriptions/s/locations";

fn of_network(kind: &str) -> String {
    format!("{GROUP}/providers/Microsoft.Network/{kind}/n")
}

fn load(name: &str) -> Vector {
    vector::load("azure", name)
}

fn client(url: &str) -> Azure {
    let options = Options {
        arm: url.to_owned(),
        authority: url.to_owned(),
        tenant: TENANT.to_owned(),
        client_id: "client".to_owned(),
        credential: Some(Credential::Secret("hunter2".into())),
        ..Options::new()
    };
    Azure::with_clock(&options, Arc::new(TestClock::default())).unwrap()
}

/// A server with a token and a delegation, and these answers besides.
async fn serve(vectors: impl IntoIterator<Item = Vector>) -> (TestServer, Azure) {
    let server = replay([load("token"), load("delegations")].into_iter().chain(vectors).collect()).await;
    let azure = client(&server.url);
    (server, azure)
}

/// All parts of a network are made in one call.
fn new_network() -> Vec<Vector> {
    vec![
        load("group_missing").at("GET", GROUP),
        load("group_created"),
        load("network_missing").at("GET", &of_network("networkSecurityGroups")),
        load("security_group_creating"),
        load("network_missing"),
        load("network_creating"),
    ]
}

/// The parts of an instance, up to the call that makes it.
fn new_instance() -> Vec<Vector> {
    vec![
        load("network_missing").at("GET", &of_network("publicIPAddresses")),
        load("public_ip_creating"),
        load("network_missing").at("GET", &of_network("networkInterfaces")),
        load("nic_created"),
        load("network_operation_succeeded"),
    ]
}

macro_rules! place {
    ($place:ident) => {
        let account = account("default", SUBSCRIPTION);
        let $place = CloudAccount { account: &account, region: "eastus", session: "s" };
    };
}

#[test]
fn every_vector_is_served_to_the_client() {
    vector::assert_all_are_served("azure", include_str!("vectors.rs"));
}

#[tokio::test]
async fn an_error_of_azure_is_sorted_by_what_the_caller_can_do() {
    use Category::{Capacity, Duplicate, Invalid, NotFound, Permission, Quota, Throttle, Upstream};
    place!(place);
    for (name, category, code, after) in [
        ("network_missing", NotFound, "ResourceNotFound", None),
        ("vm_missing", NotFound, "ResourceNotFound", None),
        ("group_missing", NotFound, "ResourceGroupNotFound", None),
        // Both are told with 429, and the rate of our calls has nothing to do with it.
        ("subnet_not_ready", Upstream, "ReferencedResourceNotProvisioned", Some(10)),
        ("another_operation", Upstream, "RetryableErrorDueToAnotherOperation", Some(14)),
        ("subnet_in_use", Upstream, "InUseSubnetCannotBeDeleted", Some(10)),
        ("nic_in_use", Upstream, "NicInUse", Some(10)),
        ("unregistered", Permission, "MissingSubscriptionRegistration", None),
        ("forbidden", Permission, "AuthorizationFailed", None),
        ("not_allowed", Invalid, "OperationNotAllowed", None),
        ("quota_exceeded", Quota, "OperationNotAllowed", None),
        ("no_capacity", Capacity, "AllocationFailed", None),
        ("throttled", Throttle, "OperationNotAllowed", Some(284)),
        ("exists", Duplicate, "PreconditionFailed", None),
    ] {
        let (_server, azure) = serve([load(name).at("GET", LOCATIONS)]).await;
        let error = azure.regions(&place).await.unwrap_err();
        let found = (error.category, error.code.as_str(), error.after.map(|after| after.as_secs()));
        assert_eq!(found, (category, code, after), "{name}: {error}");
    }
}

#[tokio::test]
async fn an_error_of_entra_is_explained() {
    place!(place);
    for (name, code, remedy) in [
        ("token_wrong_secret", "AADSTS7000215", "set the current one"),
        ("token_expired_secret", "AADSTS7000222", "make a new one"),
        ("token_unknown_application", "AADSTS700016", "client id"),
        ("token_unknown_tenant", "AADSTS90002", "setting of the tenant"),
        ("token_assertion_out_of_time", "AADSTS700024", "clock"),
        ("token_unknown_certificate", "AADSTS700027", "client_certificate_file"),
        ("token_other_audience", "AADSTS700023", "launch.azure.authority"),
    ] {
        let server = replay(vec![load(name)]).await;
        let error = client(&server.url).regions(&place).await.unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (Category::Permission, code), "{name}");
        assert!(error.message.contains(remedy), "{name}: {error}");
    }
}

#[tokio::test]
async fn a_network_is_followed_to_its_end() {
    place!(place);
    let prepare = async |ends: Vec<Vector>| {
        let (_server, azure) = serve(new_network().into_iter().chain(ends)).await;
        azure.prepare(&place, &request("tag", 1)).await
    };
    assert_eq!(prepare(vec![load("network_operation_succeeded")]).await.unwrap(), None);
    assert_eq!(prepare(vec![load("operation_succeeded").at("GET", OPERATION)]).await.unwrap(), None);
    let busy = prepare(vec![load("operation_in_progress").at("GET", OPERATION)]).await.unwrap();
    assert_eq!(busy, Some(Duration::from_secs(35)));
    let error = prepare(vec![load("operation_failed").at("GET", OPERATION)]).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Capacity, "AllocationFailed"));
    let ready = [load("network_ready"), load("network_operation_succeeded")];
    let mut network = new_network();
    network.retain(|one| !(one.name == "network_missing" && one.request.path.contains("virtualNetworks")));
    let (server, azure) = serve(network.into_iter().chain(ready)).await;
    assert_eq!(azure.prepare(&place, &request("tag", 1)).await.unwrap(), None);
    let puts = server.arrivals().into_iter().filter(|one| one.method == "PUT").count();
    assert_eq!(puts, 2, "the group and the security group");
}

/// Some operations name no place where their state is told, only one where their end is.
#[tokio::test]
async fn an_end_is_told_by_the_status_alone() {
    place!(place);
    for (name, busy) in [("group_deleting_still", Some(Duration::from_secs(15))), ("group_gone", None)] {
        let mut network = new_network();
        for creating in network.iter_mut().filter(|one| one.name.ends_with("_creating")) {
            creating.response.headers = load("group_deleting").response.headers;
            creating.response.headers.insert("retry-after".to_owned(), "1".to_owned());
        }
        let (_server, azure) = serve(network.into_iter().chain([load(name)])).await;
        assert_eq!(azure.prepare(&place, &request("tag", 1)).await.unwrap(), busy, "{name}");
    }
}

#[tokio::test]
async fn an_instance_is_made_and_found_to_run() {
    place!(place);
    let looks = [
        load("vm_missing").at("GET", VM_EXPANDED),
        load("vm_creating").at("GET", VM_EXPANDED),
        load("vm_running"),
    ];
    let (_server, azure) = serve(new_instance().into_iter().chain(looks).chain([load("vm_creating")])).await;
    let request = request("tag", 1);
    let begun = azure.create(&place, &request, "key").await.unwrap();
    assert_eq!((begun.again, begun.instances.len()), (Some(Duration::from_secs(10)), 0));
    assert!(azure.create(&place, &request, "key").await.unwrap().again.is_some());
    let made = azure.create(&place, &request, "key").await.unwrap();
    assert_eq!((made.again, made.instances[0].state), (None, InstanceState::Running));
}

#[tokio::test]
async fn an_instance_without_room_is_a_lack_of_capacity() {
    place!(place);
    let (server, azure) = serve([load("vm_failed"), load("vm_deleting")]).await;
    let error = azure.create(&place, &request("tag", 1), "key").await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Capacity, "AllocationFailed"));
    assert!(server.arrivals().iter().any(|one| one.method == "DELETE"), "it stays, and is paid for");
}

#[tokio::test]
async fn an_instance_of_a_lost_answer_is_taken_over() {
    place!(place);
    let looks = [load("vm_missing").at("GET", VM_EXPANDED), load("vm_running")];
    let exists = load("exists").at("PUT", VM);
    let (_server, azure) = serve(new_instance().into_iter().chain(looks).chain([exists])).await;
    assert!(azure.create(&place, &request("tag", 1), "key").await.unwrap().again.is_some());
    assert_eq!(azure.create(&place, &request("tag", 1), "key").await.unwrap().instances.len(), 1);
}

#[tokio::test]
async fn an_instance_has_its_state_and_addresses() {
    place!(place);
    let id = format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/launch-group/providers/Microsoft.Compute/virtualMachines/web-00"
    );
    let (_server, azure) = serve([load("vm_running"), load("nic_with_address")]).await;
    let found = azure.describe(&place, std::slice::from_ref(&id)).await.unwrap();
    assert_eq!((found[0].id.as_str(), found[0].state), (id.as_str(), InstanceState::Running));
    assert_eq!(found[0].private_ipv4.as_deref(), Some("10.0.0.4"));
    assert_eq!(found[0].public_ipv4.as_deref(), Some("192.0.2.7"));
    assert_eq!(found[0].public_dns.as_deref(), Some("web.eastus.cloudapp.azure.com"));
    // A network interface without a public address, and an instance without a state of power.
    let alone = load("nic_created").at("GET", &format!("{}?$expand=x", of_network("networkInterfaces")));
    let (_server, azure) = serve([load("vm_ready").at("GET", VM_EXPANDED), alone]).await;
    let found = azure.describe(&place, std::slice::from_ref(&id)).await.unwrap();
    assert_eq!((found[0].state, found[0].public_ipv4.as_deref()), (InstanceState::Pending, None));
    assert_eq!(found[0].private_ipv4.as_deref(), Some("10.0.0.4"));
}

#[tokio::test]
async fn what_is_left_of_a_launch_is_deleted() {
    place!(place);
    let created = load("group_created").at("GET", GROUP);
    let group = [created, load("group_missing").at("GET", GROUP), load("group_deleting")];
    let (_server, azure) = serve(group.into_iter().chain([load("vm_missing").at("GET", VM_EXPANDED)])).await;
    let left = azure.sweep(&place, &request("tag", 1)).await.unwrap();
    assert_eq!(left.iter().map(|part| part.kind).collect::<Vec<_>>(), [PartKind::ResourceGroup]);
    assert_eq!(azure.sweep(&place, &request("tag", 1)).await.unwrap(), []);
    let disks = format!("{GROUP}/providers/Microsoft.Compute/disks/d");
    let parts = [
        load("vm_missing").at("GET", VM_EXPANDED),
        load("network_missing").at("GET", &of_network("networkInterfaces")),
        load("public_ip_ready"),
        load("network_missing").at("GET", &of_network("publicIPAddresses")),
        load("vm_deleting").at("DELETE", &of_network("publicIPAddresses")),
        load("disk"),
        load("vm_deleting").at("DELETE", &disks),
    ];
    let (server, azure) = serve(parts).await;
    let left = azure.sweep(&place, &in_named_group("tag", 1)).await.unwrap();
    assert_eq!(left.iter().map(|part| part.kind).collect::<Vec<_>>(), [PartKind::PublicIp]);
    let left = azure.sweep(&place, &in_named_group("tag", 1)).await.unwrap();
    assert_eq!(left.iter().map(|part| part.kind).collect::<Vec<_>>(), [PartKind::Disk]);
    assert_eq!(server.arrivals().iter().filter(|one| one.method == "DELETE").count(), 2);
}

#[tokio::test]
async fn the_catalog_of_azure_is_read() {
    place!(place);
    let (_server, azure) =
        serve([load("subscription"), load("locations"), load("skus"), load("image")]).await;
    assert_eq!(azure.identity(&place).await.unwrap().name, "Placeholder");
    assert_eq!(azure.regions(&place).await.unwrap(), ["eastus", "westus2"]);
    let types = azure.instance_types(&place).await.unwrap();
    let read: Vec<_> =
        types.iter().map(|one| (one.name.as_str(), one.memory_mib, one.architecture)).collect();
    let expected =
        [("Standard_B1s", 1024, Architecture::X86_64), ("Standard_D2ps_v5", 8192, Architecture::Arm64)];
    assert_eq!(read, expected);
    let found = azure.image(&place, &image()).await.unwrap().unwrap();
    assert!(found.is_available);
    assert_eq!((found.region.as_deref(), found.generation.as_deref()), (Some("eastus"), Some("V2")));
}

fn reads_of_dry_run() -> Vec<Vector> {
    let permissions = format!("{GROUP}/providers/Microsoft.Authorization/permissions");
    vec![
        load("permissions").at("GET", &permissions),
        load("service"),
        load("service").at("GET", "/subscriptions/s/providers/Microsoft.Compute"),
        load("skus"),
        load("usages_network"),
    ]
}

#[tokio::test]
async fn permissions_and_quotas_are_read() {
    place!(place);
    let (_server, azure) = serve(reads_of_dry_run().into_iter().chain([load("usages_compute")])).await;
    azure.dry_run(&place, &request("tag", 1)).await.unwrap();
    let full = load("usages_compute").with(|body| {
        let cores =
            body["value"].as_array_mut().unwrap().iter_mut().find(|one| one["name"]["value"] == "cores");
        let cores = cores.unwrap();
        cores["currentValue"] = cores["limit"].clone();
    });
    let (_server, azure) = serve(reads_of_dry_run().into_iter().chain([full])).await;
    let error: CloudError = azure.dry_run(&place, &request("tag", 1)).await.unwrap_err();
    assert!(error.is(Category::Quota) && error.message.contains("cores"), "{error}");
}

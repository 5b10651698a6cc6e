use cloud::Category;

use super::*;

/// As Compute answers `$expand=instanceView`.
fn vm(state: &str, statuses: &[(&str, &str)]) -> Vm {
    let statuses: Vec<_> = statuses
        .iter()
        .map(|(code, message)| serde_json::json!({"code": code, "level": "Info", "displayStatus": "", "message": message}))
        .collect();
    let body = serde_json::json!({
        "name": "a",
        "tags": {"Provision-Engine-Launch": "tag"},
        "properties": {
            "provisioningState": state,
            "vmId": "1923b5ab-b512-452c-9a77-84cda1279e59",
            "instanceView": {"statuses": statuses},
            "networkProfile": {"networkInterfaces": [{"id": "/first"}, {"id": "/second", "properties": {"primary": true}}]},
        },
    });
    serde_json::from_value(body).unwrap()
}

fn state(vm: &Vm) -> InstanceState {
    let subscription = "4b9d213f-712f-4d17-a483-8a10bbe9df3a";
    let place_id = format!(
        "/subscriptions/{subscription}/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a"
    );
    let account = cloud::Account {
        org: "o".to_owned(),
        source: "s".to_owned(),
        provider: cloud::ProviderKind::Azure,
        access: cloud::Access::Name(subscription.to_owned()),
    };
    let place = cloud::CloudAccount { account: &account, region: "eastus", session: "s" };
    let subscription = super::super::ids::Subscription::of(&place).unwrap();
    let (id, _) = ResourceId::parse(&place_id, &subscription, &[super::super::ids::Kind::Vm]).unwrap();
    vm.instance(&id).state
}

#[test]
fn states_follow_from_provisioning_and_power() {
    use InstanceState::{Pending, Running, ShuttingDown, Stopped, Stopping};
    let ready = ("ProvisioningState/succeeded", "");
    assert_eq!(state(&vm("Creating", &[])), Pending);
    assert_eq!(state(&vm("Updating", &[("ProvisioningState/updating", "")])), Pending);
    assert_eq!(state(&vm("Succeeded", &[ready, ("PowerState/running", "")])), Running);
    assert_eq!(state(&vm("Succeeded", &[ready, ("PowerState/deallocating", "")])), Stopping);
    assert_eq!(state(&vm("Succeeded", &[ready, ("PowerState/deallocated", "")])), Stopped);
    assert_eq!(state(&vm("Deleting", &[("PowerState/running", "")])), ShuttingDown);
    assert_eq!(state(&vm("Failed", &[("ProvisioningState/failed/AllocationFailed", "full")])), Stopped);
}

#[test]
fn a_failure_has_the_cause_of_the_instance_view() {
    let failed = vm("Failed", &[("ProvisioningState/failed/AllocationFailed", "Allocation failed.")]);
    let VmStage::Failed(error) = failed.stage() else { panic!("{failed:?}") };
    assert_eq!((error.category, error.code.as_str()), (Category::Capacity, "AllocationFailed"));
    let VmStage::Failed(silent) = vm("Failed", &[]).stage() else { panic!() };
    assert_eq!(silent.category, Category::Upstream);
}

/// The guest did not report in time, and runs: a warning and no failure.
#[test]
fn a_guest_that_did_not_report_in_time_runs() {
    let late = vm(
        "Failed",
        &[
            ("ProvisioningState/failed/OSProvisioningTimedOut", "did not finish in time"),
            ("PowerState/running", ""),
        ],
    );
    assert_eq!(late.stage(), VmStage::Ready);
    assert_eq!(state(&late), InstanceState::Running);
}

#[test]
fn tags_have_no_case_and_the_primary_interface_counts() {
    let vm = vm("Creating", &[]);
    assert!(vm.is_of("tag") && !vm.is_of("Tag"));
    assert_eq!(vm.nic(), Some("/second"));
}

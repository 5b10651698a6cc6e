//! What the path of a call is about. Paths have no case.

use super::resource::{ArmKey, ArmKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArmTarget {
    Subscription,
    Locations,
    Skus,
    Usages {
        is_compute: bool,
        location: String,
    },
    Service {
        namespace: String,
    },
    Register {
        namespace: String,
    },
    Delegations,
    Permissions,
    /// Of one group, or of the whole subscription.
    List {
        kind: ArmKind,
        group: Option<String>,
    },
    AllResources {
        group: Option<String>,
    },
    Resource {
        key: ArmKey,
        name: String,
    },
    Subnet {
        network: ArmKey,
        name: String,
    },
    /// Tells its state in the body, or by the status alone.
    Operation {
        id: String,
        by_status: bool,
    },
}

/// The subscription and the rest of the path below `/azure`.
pub(super) fn read(path: &str) -> Option<(String, ArmTarget)> {
    let spelled: Vec<&str> = path.trim_matches('/').split('/').collect();
    let lower: Vec<String> = spelled.iter().map(|part| part.to_ascii_lowercase()).collect();
    let parts: Vec<&str> = lower.iter().map(String::as_str).collect();
    let ["subscriptions", subscription, rest @ ..] = parts.as_slice() else { return None };
    let key = |group: &str, kind: ArmKind, name: &str| ArmKey {
        subscription: (*subscription).to_owned(),
        group: group.to_owned(),
        kind,
        name: name.to_owned(),
    };
    let last = (*spelled.last()?).to_owned();
    let target = match rest {
        [] => ArmTarget::Subscription,
        ["locations"] => ArmTarget::Locations,
        ["resourcegroups"] => ArmTarget::List { kind: ArmKind::Group, group: None },
        ["resources"] => ArmTarget::AllResources { group: None },
        ["operationresults", id] => ArmTarget::Operation { id: (*id).to_owned(), by_status: true },
        ["providers", "microsoft.managedservices", "registrationassignments"] => ArmTarget::Delegations,
        ["providers", "microsoft.authorization", "permissions"] => ArmTarget::Permissions,
        ["providers", "microsoft.compute", "skus"] => ArmTarget::Skus,
        [
            "providers",
            namespace @ ("microsoft.compute" | "microsoft.network"),
            "locations",
            location,
            "usages",
        ] => ArmTarget::Usages {
            is_compute: *namespace == "microsoft.compute",
            location: (*location).to_owned(),
        },
        ["providers", _, "locations", _, "operations", id] => {
            ArmTarget::Operation { id: (*id).to_owned(), by_status: false }
        }
        ["providers", namespace] => ArmTarget::Service { namespace: (*namespace).to_owned() },
        ["providers", namespace, "register"] => ArmTarget::Register { namespace: (*namespace).to_owned() },
        ["providers", namespace, kind] => {
            ArmTarget::List { kind: ArmKind::of_path(&format!("{namespace}/{kind}"))?, group: None }
        }
        ["resourcegroups", group] => {
            ArmTarget::Resource { key: key(group, ArmKind::Group, group), name: last }
        }
        ["resourcegroups", group, "resources"] => {
            ArmTarget::AllResources { group: Some((*group).to_owned()) }
        }
        ["resourcegroups", _, "providers", "microsoft.authorization", "permissions"] => {
            ArmTarget::Permissions
        }
        ["resourcegroups", group, "providers", namespace, kind] => ArmTarget::List {
            kind: ArmKind::of_path(&format!("{namespace}/{kind}"))?,
            group: Some((*group).to_owned()),
        },
        ["resourcegroups", group, "providers", namespace, kind, name] => {
            let kind = ArmKind::of_path(&format!("{namespace}/{kind}"))?;
            ArmTarget::Resource { key: key(group, kind, name), name: last }
        }
        [
            "resourcegroups",
            group,
            "providers",
            "microsoft.network",
            "virtualnetworks",
            network,
            "subnets",
            name,
        ] => ArmTarget::Subnet { network: key(group, ArmKind::Network, network), name: (*name).to_owned() },
        _ => return None,
    };
    Some(((*subscription).to_owned(), target))
}

/// The resource that an id names, as another resource refers to it.
pub(super) fn reference(id: &str) -> Option<ArmKey> {
    match read(id)? {
        (_, ArmTarget::Resource { key, .. }) => Some(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_no_case() {
        let (subscription, target) =
            read("/Subscriptions/AB/resourcegroups/G/providers/microsoft.compute/VirtualMachines/Vm")
                .unwrap();
        let ArmTarget::Resource { key, name } = target else { panic!("{target:?}") };
        assert_eq!((subscription.as_str(), name.as_str()), ("ab", "Vm"));
        assert_eq!((key.group.as_str(), key.kind, key.name.as_str()), ("g", ArmKind::Vm, "vm"));
        assert_eq!(read("/subscriptions/ab/resourceGroups/g/providers/a/b/c"), None);
        assert_eq!(read("/tenants"), None);
    }
}

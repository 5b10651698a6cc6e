//! Which actions our delegation allows, and which a launch needs.

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Permission {
    #[serde(default)]
    actions: Vec<String>,
    #[serde(default)]
    not_actions: Vec<String>,
}

/// All that a launch calls, from the network to the end of the last instance.
pub(super) const NEEDED: &[&str] = &[
    "Microsoft.Compute/images/read",
    "Microsoft.Compute/virtualMachines/read",
    "Microsoft.Compute/virtualMachines/write",
    "Microsoft.Compute/virtualMachines/delete",
    "Microsoft.Compute/disks/read",
    "Microsoft.Compute/disks/delete",
    "Microsoft.Network/networkSecurityGroups/read",
    "Microsoft.Network/networkSecurityGroups/write",
    "Microsoft.Network/networkSecurityGroups/delete",
    "Microsoft.Network/networkSecurityGroups/join/action",
    "Microsoft.Network/virtualNetworks/read",
    "Microsoft.Network/virtualNetworks/write",
    "Microsoft.Network/virtualNetworks/delete",
    "Microsoft.Network/virtualNetworks/subnets/join/action",
    "Microsoft.Network/publicIPAddresses/read",
    "Microsoft.Network/publicIPAddresses/write",
    "Microsoft.Network/publicIPAddresses/delete",
    "Microsoft.Network/publicIPAddresses/join/action",
    "Microsoft.Network/networkInterfaces/read",
    "Microsoft.Network/networkInterfaces/write",
    "Microsoft.Network/networkInterfaces/delete",
    "Microsoft.Network/networkInterfaces/join/action",
];

/// Needed as well where the launch makes a resource group of its own.
pub(super) const OWN_GROUP: &[&str] = &[
    "Microsoft.Resources/subscriptions/resourceGroups/read",
    "Microsoft.Resources/subscriptions/resourceGroups/write",
    "Microsoft.Resources/subscriptions/resourceGroups/delete",
];

/// An action is allowed where one permission names it and does not except it.
pub(super) fn allows(permissions: &[Permission], action: &str) -> bool {
    let is_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, action));
    permissions.iter().any(|one| is_in(&one.actions) && !is_in(&one.not_actions))
}

/// A star stands for any text, slashes included; case does not count.
fn matches(pattern: &str, action: &str) -> bool {
    let (pattern, action) = (pattern.to_ascii_lowercase(), action.to_ascii_lowercase());
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| action.strip_prefix(first)) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(before) = last.replace(piece) {
            let Some((_, after)) = rest.split_once(before) else { return false };
            rest = after;
        }
    }
    last.map_or(rest.is_empty(), |piece| rest.ends_with(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let vm = "Microsoft.Compute/virtualMachines/write";
        for pattern in ["*", "*/write", "Microsoft.Compute/*", "microsoft.compute/*/WRITE", vm, "M*/v*s/w*"] {
            assert!(matches(pattern, vm), "{pattern}");
        }
        for pattern in ["", "*/read", "Microsoft.Compute", "Microsoft.Network/*", "*/virtualMachines", "w*"] {
            assert!(!matches(pattern, vm), "{pattern}");
        }
    }

    #[test]
    fn an_exception_counts_within_its_own_permission_only() {
        let permission = |actions: &str, not_actions: &str| Permission {
            actions: vec![actions.to_owned()],
            not_actions: vec![not_actions.to_owned()],
        };
        let contributor = permission("*", "Microsoft.Authorization/*/Write");
        assert!(allows(std::slice::from_ref(&contributor), "Microsoft.Compute/disks/delete"));
        assert!(!allows(&[contributor], "Microsoft.Authorization/roleAssignments/write"));
        let both = [permission("*", "*/delete"), permission("Microsoft.Compute/*", "")];
        assert!(allows(&both, "Microsoft.Compute/disks/delete"));
        assert!(!allows(&both, "Microsoft.Network/virtualNetworks/delete"));
    }
}

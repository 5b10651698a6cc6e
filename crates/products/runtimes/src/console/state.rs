//! The state of a runtime, in the words of pages.

use crate::api::types::{Runtime, RuntimeOperation, RuntimeState};
use uuid::Uuid;

use console::parts::{Chip, Icon, Tone};

/// The states that a list can be narrowed to, as the API spells them and as people read them.
pub(super) const STATES: [(&str, &str); 10] = [
    ("succeeded", "ready"),
    ("failed", "failed"),
    ("error", "update failed"),
    ("provisioning", "provisioning"),
    ("updating", "updating"),
    ("upgrading", "upgrading"),
    ("deprovisioning", "deprovisioning"),
    ("suspended", "suspended"),
    ("deprovisioned", "deprovisioned"),
    ("all", "also those that are gone"),
];

pub(super) fn chip(state: RuntimeState) -> Chip {
    let (tone, icon, word) = match state {
        RuntimeState::Succeeded => (Tone::Good, Icon::Check, "ready"),
        RuntimeState::Failed => (Tone::Bad, Icon::Cross, "failed"),
        RuntimeState::Error => (Tone::Bad, Icon::Alert, "update failed"),
        RuntimeState::Provisioning => (Tone::Busy, Icon::Play, "provisioning"),
        RuntimeState::Deprovisioning => (Tone::Busy, Icon::Undo, "deprovisioning"),
        RuntimeState::Deprovisioned => (Tone::Quiet, Icon::Slash, "deprovisioned"),
        RuntimeState::DeprovisionIncomplete => (Tone::Bad, Icon::Alert, "clean-up given up"),
        RuntimeState::Upgrading => (Tone::Busy, Icon::Play, "upgrading"),
        RuntimeState::Updating => (Tone::Busy, Icon::Play, "updating"),
        RuntimeState::Suspended => (Tone::Waits, Icon::Pause, "suspended"),
    };
    Chip::new(tone, icon, word)
}

/// The operation that the state comes from.
pub(super) fn newest(runtime: &Runtime) -> Option<Uuid> {
    let status = &runtime.status;
    let lists = [&status.update, &status.suspension, &status.unsuspension];
    let listed = lists.into_iter().flatten().flat_map(|list| &list.data);
    let alone = [&status.provisioning, &status.deprovisioning].into_iter().flatten();
    alone.chain(listed).max_by_key(|one| one.created_at).map(|one: &RuntimeOperation| one.operation_id)
}

/// What can be done with a runtime in its state, no matter which user asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Can {
    /// Update, bind.
    pub(super) be_used: bool,
    pub(super) be_repaired: bool,
    pub(super) be_removed: bool,
}

/// Whether its cluster can be reached.
pub(super) fn has_kubeconfig(state: RuntimeState) -> bool {
    matches!(
        state,
        RuntimeState::Succeeded | RuntimeState::Error | RuntimeState::Updating | RuntimeState::Upgrading
    )
}

pub(super) fn can(state: RuntimeState) -> Can {
    use RuntimeState::{DeprovisionIncomplete, Deprovisioned, Deprovisioning, Error, Failed, Succeeded};
    Can {
        be_used: matches!(state, Succeeded | Error),
        be_repaired: matches!(state, Failed),
        be_removed: !matches!(state, Deprovisioned | DeprovisionIncomplete | Deprovisioning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_can_be_looked_at_only_and_what_failed_can_be_repaired() {
        let nothing = Can { be_used: false, be_repaired: false, be_removed: false };
        assert_eq!(can(RuntimeState::Deprovisioned), nothing);
        assert!(can(RuntimeState::Failed).be_repaired && can(RuntimeState::Failed).be_removed);
        assert!(can(RuntimeState::Error).be_used, "it works as before");
        assert!(!can(RuntimeState::Provisioning).be_used);
    }
}

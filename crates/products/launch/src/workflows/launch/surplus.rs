//! More instances than a launch asked for: a cloud that ignores client tokens carries a repeated call out again. What
//! is too much is found by its mark and terminated.

use cloud::{CloudError, CloudInstance};
use engine::prelude::*;

use super::launch_instances::track;
use super::reach::{Reach, parameters};
use crate::model::state::Tracked;
use crate::workflows::launch::Launch;

/// What was seen, divided into what the launch keeps and what it does not.
#[derive(Debug, PartialEq, Eq)]
struct Share {
    kept: Vec<CloudInstance>,
    surplus: Vec<CloudInstance>,
}

/// Those that the launch knows come first, so that every look decides the same, also while the cloud does not show them
/// yet. Others count only while they live.
fn divide(known: &[Tracked], seen: Vec<CloudInstance>, amount: usize) -> Share {
    let is_known = |one: &CloudInstance| known.iter().any(|tracked| tracked.instance.id == one.id);
    let is_hidden = |tracked: &&Tracked| {
        !tracked.instance.state.is_gone() && seen.iter().all(|one| one.id != tracked.instance.id)
    };
    let room = amount.saturating_sub(known.iter().filter(is_hidden).count());
    let (mut living, gone): (Vec<CloudInstance>, Vec<CloudInstance>) =
        seen.into_iter().partition(|one| !one.state.is_gone());
    living.sort_by_key(|one| (!is_known(one), one.id.clone()));
    let surplus = living.split_off(living.len().min(room));
    // Of a call whose answer was lost, also those that have died already are the launch's own.
    let missing = if known.is_empty() { room.saturating_sub(living.len()) } else { 0 };
    let (ours, others): (Vec<CloudInstance>, Vec<CloudInstance>) = gone.into_iter().partition(is_known);
    living.extend(ours.into_iter().chain(others.into_iter().take(missing)));
    Share { kept: living, surplus }
}

/// Takes over what the launch keeps. Answers the rest.
pub(crate) fn take_over(
    op: &mut Operation<Launch>,
    seen: Vec<CloudInstance>,
) -> Result<Vec<CloudInstance>, Halt> {
    let amount = parameters(op)?.amount as usize;
    let Share { kept, surplus } = divide(&op.state.instances, seen, amount);
    track(op, kept);
    Ok(surplus)
}

/// Begins to terminate what is too much.
pub(crate) async fn terminate(reach: &Reach, surplus: &[CloudInstance]) -> Result<(), CloudError> {
    if surplus.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = surplus.iter().map(|one| one.id.clone()).collect();
    tracing::warn!(instances = ids.join(", "), "more instances than requested; terminating the surplus");
    reach.provider.delete(&reach.cloud_account(), &ids).await
}

#[cfg(test)]
mod tests {
    use cloud::InstanceState;
    use engine::Timestamp;

    use super::*;

    fn one(id: &str, state: InstanceState) -> CloudInstance {
        CloudInstance { state, reason: None, ..CloudInstance::forgotten(id) }
    }

    fn ids(all: &[CloudInstance]) -> Vec<&str> {
        all.iter().map(|one| one.id.as_str()).collect()
    }

    #[test]
    fn what_the_launch_knows_stays_and_what_is_too_much_goes() {
        use InstanceState::{Pending, Running, Terminated};
        let known = ["i-8", "i-9"].map(|id| Tracked { instance: one(id, Running), seen_at: Timestamp(0) });
        let all = |state| ["i-1", "i-2", "i-8", "i-9"].map(|id| one(id, state)).to_vec();
        let others = ["i-1", "i-2"].map(|id| one(id, Running)).to_vec();
        let dead_and_new = vec![one("i-8", Terminated), one("i-2", Running)];
        for (known, seen, amount, kept, surplus) in [
            (&known[..], all(Running), 2, &["i-8", "i-9"][..], &["i-1", "i-2"][..]),
            (&[], all(Pending), 3, &["i-1", "i-2", "i-8"], &["i-9"]),
            (&known, all(Terminated), 2, &["i-8", "i-9"], &[]),
            (&[], all(Terminated), 2, &["i-1", "i-2"], &[]),
            (&[], dead_and_new.clone(), 2, &["i-2", "i-8"], &[]),
            (&known[..1], dead_and_new, 2, &["i-2", "i-8"], &[]),
            (&known, others, 2, &[], &["i-1", "i-2"]),
            (&[], Vec::new(), 2, &[], &[]),
        ] {
            let share = divide(known, seen, amount);
            assert_eq!((ids(&share.kept), ids(&share.surplus)), (kept.to_vec(), surplus.to_vec()));
        }
    }
}

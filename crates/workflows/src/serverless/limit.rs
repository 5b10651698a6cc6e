//! How long the engine has watched something, for limits on it.

use engine::Timestamp;
use engine::prelude::*;

use super::settings::ServerlessSettings;

/// What is remembered between two looks.
#[derive(Serialize, Deserialize)]
struct WatchTime {
    for_ms: u64,
    looked_at: Timestamp,
}

/// A longer time between two looks counts as so many pauses.
const PAUSES_MAX: u32 = 4;

/// Counts one look at what `key` stands for, and says how long it has been watched since the first one. Time in which
/// the engine was down, or OpenNebula did not answer, does not count: what is watched may have stood still, too.
pub(super) fn watched<W: Workflow>(
    op: &mut Operation<W>,
    settings: &ServerlessSettings,
    key: &str,
) -> Result<Duration, Halt> {
    let now = op.now();
    let before = op.recall_as::<WatchTime>(key)?;
    let since = |before: &WatchTime| now.since(before.looked_at).min(settings.poll * PAUSES_MAX);
    let for_ms = before.map_or(0, |before| {
        before.for_ms.saturating_add(u64::try_from(since(&before).as_millis()).unwrap_or(u64::MAX))
    });
    op.remember_as(key, &WatchTime { for_ms, looked_at: now })?;
    Ok(Duration::from_millis(for_ms))
}

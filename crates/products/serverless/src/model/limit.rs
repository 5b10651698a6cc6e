//! Time limits that count from the first check.

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

/// How long something has been watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WatchedFor {
    pub(crate) time: Duration,
    /// Whether it has been one, two, four, eight… times `timeout` since the last look: time to press harder, once. What is
    /// pressed may begin again, so it gets longer each time.
    pub(crate) is_overdue: bool,
}

/// Counts one look at what `key` stands for, and says how long it has been watched since the first one. Time in which
/// the engine was down, or OpenNebula did not answer, does not count: what is watched may have stood still, too.
pub(crate) fn watched<W: Workflow>(
    op: &mut Operation<W>,
    settings: &ServerlessSettings,
    key: &str,
) -> Result<WatchedFor, Halt> {
    let now = op.now();
    let before = op.recall_as::<WatchTime>(key)?;
    let since = |before: &WatchTime| now.since(before.looked_at).min(settings.poll * PAUSES_MAX);
    let before_ms = before.as_ref().map_or(0, |before| before.for_ms);
    let more = before.as_ref().map_or(Duration::ZERO, since);
    let for_ms = before_ms.saturating_add(u64::try_from(more.as_millis()).unwrap_or(u64::MAX));
    op.remember_as(key, &WatchTime { for_ms, looked_at: now })?;
    let timeout_ms = u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX).max(1);
    let doublings = |ms: u64| (ms / timeout_ms).checked_ilog2();
    let is_overdue = doublings(for_ms) > doublings(before_ms);
    Ok(WatchedFor { time: Duration::from_millis(for_ms), is_overdue })
}

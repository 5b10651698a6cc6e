//! What a launch makes beside its instances, on the way back: network interfaces, addresses, disks, networks and groups.
//! They go after the instances, and a launch is taken back only when nothing of it has been seen for a while.

use cloud::{Category, CloudError, LAUNCH_TAG, Part};
use engine::Timestamp;
use engine::prelude::*;

use super::instance_request::{launch_tag, sought};
use super::reach::{Reach, parameters};
use super::report::later;
use crate::model::settings::LaunchSettings;
use crate::model::state::Leftover;
use crate::workflows::launch::Launch;

/// Since when nothing of the launch has been seen.
#[derive(Serialize, Deserialize)]
struct QuietSince(Timestamp);

impl Fact for QuietSince {
    const KEY: &'static str = "parts.quiet_since";
}

/// Begins to delete what is left beside instances. Answers what is still there.
pub(crate) async fn sweep(op: &Operation<Launch>, reach: &Reach) -> Result<Vec<Part>, CloudError> {
    reach.provider.sweep(&reach.cloud_account(), &sought(op)).await
}

/// Comes back until the parts are gone; a person has to look at those that stay for too long.
pub(crate) fn until_gone(
    op: &mut Operation<Launch>,
    settings: &LaunchSettings,
    step: &str,
    parts: &[Part],
) -> Result<Halt, Halt> {
    let message = format!("{} parts of the launch are being deleted", parts.len());
    let error = CloudError::new(Category::Upstream, "", message);
    let error = CloudError { after: Some(settings.instance_poll), ..error };
    let leftovers = leftovers(op, parts, &error);
    seen(op)?;
    later(op, settings, step, &error, leftovers)
}

/// Something of the launch was there a moment ago, so that more may follow.
pub(crate) fn seen(op: &mut Operation<Launch>) -> Result<(), Halt> {
    op.remember(&QuietSince(op.now()))
}

/// A cloud that makes things one by one may still be at it when an answer was lost or the launch was cancelled. Waits until
/// nothing has been seen for as long as the cloud may take.
pub(crate) fn until_quiet(op: &mut Operation<Launch>, within: Duration) -> Result<(), Halt> {
    let now = op.now();
    if op.recall::<QuietSince>()?.is_none() {
        seen(op)?;
    }
    let since = op.recall::<QuietSince>()?.map_or(now, |QuietSince(since)| since);
    let after = since.plus(within).since(now);
    if after.is_zero() {
        return Ok(());
    }
    wait(after, "what was asked for last may still appear").map(drop)
}

/// For a person who has to look: the parts, or the tag by which they are found.
pub(crate) fn leftovers(op: &Operation<Launch>, parts: &[Part], error: &CloudError) -> Vec<Leftover> {
    let region = parameters(op).ok().map(|parameters| parameters.region.clone());
    let leftover = |kind: &str, id: String, what: &str| Leftover {
        kind: kind.to_owned(),
        id,
        region: region.clone(),
        note: format!("{what}: {error}; allow the engine to do that and retry, or do it manually"),
    };
    if parts.is_empty() {
        let id = format!("{LAUNCH_TAG}={}", launch_tag(op));
        return vec![leftover(
            UNKNOWN,
            id,
            "there may be parts with this tag, which could not be looked for",
        )];
    }
    let of_part = |part: &Part| leftover(part.kind.as_str(), part.id.clone(), "it could not be deleted");
    parts.iter().map(of_part).collect()
}

/// The kind of what was not even seen.
const UNKNOWN: &str = "part";

/// Everything beside the instances is gone.
pub(crate) fn cleared(op: &mut Operation<Launch>) {
    op.state.cleared(UNKNOWN);
    for kind in cloud::PartKind::ALL {
        op.state.cleared(kind.as_str());
    }
}

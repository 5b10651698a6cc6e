//! Looks again and again for what serverless runtimes left behind in OpenNebula, and does with it what the
//! configuration says.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::model::orphans::{Cleaned, Orphan};
use crate::model::sweep::Sweep;
use ::opennebula::NebulaCredentials;
use anyhow::{Context, Result, ensure};
use engine::Engine;
use engine::secret::SecretString;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::compose::Nebula;
use crate::settings::{OrphanPolicy, Orphans};

/// A line with a name and a password.
const ONE_AUTH_BYTES_MAX: u64 = 4096;

/// Returns when the process stops, and at once where it is switched off.
pub(crate) async fn keep_looking(
    engine: Engine,
    nebula: Nebula,
    orphans: Orphans,
    closing: CancellationToken,
) {
    let Some(one_auth) = orphans.one_auth.as_deref().filter(|_| orphans.policy != OrphanPolicy::Off) else {
        return;
    };
    loop {
        let looked = look(&engine, &nebula, one_auth, orphans.policy, orphans.older_than.get()).await;
        if let Err(error) = looked {
            warn!("looking for orphans in OpenNebula failed, retrying later: {error:#}");
        }
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(orphans.every.get()) => {}
        }
    }
}

async fn look(
    engine: &Engine,
    nebula: &Nebula,
    one_auth: &Path,
    policy: OrphanPolicy,
    older_than: Duration,
) -> Result<()> {
    // Read each time: passwords change.
    let admin = read_one_auth(one_auth)?;
    let sweep = Sweep { engine, nebula: &nebula.serverless.nebula, admin: &admin, older_than };
    if policy != OrphanPolicy::Clean {
        for orphan in sweep.look().await? {
            warn!(orphan = %name(&orphan), "an orphan in OpenNebula: {}", orphan.why);
        }
        return Ok(());
    }
    for (orphan, cleaned) in sweep.clean().await? {
        let orphan = name(&orphan);
        match cleaned {
            Cleaned::Gone => info!(orphan, "removed an orphan from OpenNebula"),
            Cleaned::Waits(reason) => info!(orphan, reason, "an orphan is being removed from OpenNebula"),
            Cleaned::Failed(error) => warn!(orphan, error, "cannot remove an orphan from OpenNebula"),
            Cleaned::Reported(why) => {
                warn!(orphan, why, "an orphan in OpenNebula is not removed: it may not be the engine's");
            }
        }
    }
    Ok(())
}

fn name(orphan: &Orphan) -> String {
    format!("{} {} ({})", orphan.kind.as_str(), orphan.id, orphan.name)
}

/// The file has one line, as OpenNebula's own `one_auth` has: a user, a colon and a password.
pub(crate) fn read_one_auth(path: &Path) -> Result<NebulaCredentials> {
    let what = || format!("cannot read {}", path.display());
    let size = fs::metadata(path).with_context(what)?.len();
    ensure!(size <= ONE_AUTH_BYTES_MAX, "{} is too large for a user and a password", path.display());
    let text = fs::read_to_string(path).with_context(what)?;
    let session = SecretString::from(text.trim().to_owned());
    // The error must not quote the file.
    NebulaCredentials::parse(&session)
        .map_err(|error| anyhow::anyhow!("{} has no user:password: {error}", path.display()))
}

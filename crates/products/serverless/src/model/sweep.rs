//! A look at all of OpenNebula for orphans, with an eye on the operations that still go on.

use std::time::Duration;

use engine::store::StoreError;
use engine::{Engine, OperationId};
use opennebula::{NebulaCredentials, NebulaError, OpenNebula};

use super::orphans::{self, Cleaned, Maker, Orphan};

#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Nebula(#[from] NebulaError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The credentials of a sweep, and what it looks for.
pub struct Sweep<'a> {
    pub engine: &'a Engine,
    pub nebula: &'a OpenNebula,
    /// A user who may see everything.
    pub admin: &'a NebulaCredentials,
    pub older_than: Duration,
}

impl Sweep<'_> {
    /// Everything of ours that no operation works on and that has lost what it belongs to, the oldest first.
    pub async fn look(&self) -> Result<Vec<Orphan>, SweepError> {
        let since = (self.older_than, self.engine.now());
        let mut alone = Vec::new();
        for mut orphan in orphans::find(self.nebula, self.admin, since, |_| false).await? {
            if !self.is_held(&mut orphan).await? {
                alone.push(orphan);
            }
        }
        Ok(alone)
    }

    /// Looks, and removes what it finds as far as that goes at once.
    pub async fn clean(&self) -> Result<Vec<(Orphan, Cleaned)>, SweepError> {
        let found = self.look().await?;
        let cleaned = orphans::clean(self.nebula, self.admin, &found).await;
        Ok(found.into_iter().zip(cleaned).collect())
    }

    /// Whether an operation still works on it. If not, it is checked against the one that made it.
    async fn is_held(&self, orphan: &mut Orphan) -> Result<bool, StoreError> {
        let resource = self.engine.resource(&orphan.resource).await?;
        if resource.and_then(|row| row.phase).is_some_and(|phase| !phase.is_final()) {
            return Ok(true);
        }
        // A mark that we did not write ourselves is not ours to judge.
        let Ok(id) = orphan.operation.parse::<OperationId>() else { return Ok(true) };
        let found = self.engine.inspect(id).await?;
        if found.as_ref().is_some_and(|found| !found.shown.summary.phase.is_final()) {
            return Ok(true);
        }
        let maker = found.map(Maker::of);
        orphan.check(maker.as_ref(), |seal| {
            let maker = maker.as_ref()?;
            self.engine.sealer(&maker.tenant, maker.resource.as_deref()?).open(seal).ok()
        });
        Ok(false)
    }
}

//! The calls of this back end, and what their answers mean.

use std::collections::BTreeMap;

use engine::Timestamp;
use http_client::DriverError;
use infrastructure_manager::{
    AppliedChange, Creation, GLOBAL_ACCOUNT_ID, LabelledKind, ObservedRuntime, Patch, PatchedRuntime,
    Readiness, RuntimeResource, WriteMode, classify,
};
use serde_json::Value;

use super::spec_change::SpecChange;
use super::{ManagerBackend, SYSTEM, TITLE, is_ours, refused};
use crate::backend::{ChangeState, CreatedRuntime, RuntimeRef, SavedChange};

/// Others write the same object: then it is read and changed again.
const PATCHES_MAX: usize = 5;

/// A version of no image: the API server would refuse it and quote the whole resource.
fn names_no_image(patch: &Value) -> bool {
    let image = &patch["shoot"]["provider"]["workers"][0]["machine"]["image"];
    image["version"].is_string() && !image["name"].is_string()
}

impl ManagerBackend {
    /// Leaves out what an older installation does not have: it would refuse the whole request.
    async fn fitted(&self, spec: Value) -> Result<(Value, Vec<String>), DriverError> {
        match self.resources()?.installed_schema().await? {
            Some(schema) => {
                let fitted = schema.fit(&spec);
                Ok((fitted.spec, fitted.left_out))
            }
            None => Ok((spec, Vec::new())),
        }
    }

    pub(super) async fn send_create(
        &self,
        resource: RuntimeResource,
        instance_id: &str,
    ) -> Result<CreatedRuntime, DriverError> {
        let (spec, left_out) = self.fitted(resource.spec).await?;
        let resource = RuntimeResource { spec, ..resource };
        let made = match self.resources()?.create(&resource, WriteMode::Apply).await? {
            Creation::Created(made) => made,
            Creation::Exists(made) if made.belongs_to(instance_id) && !made.is_being_deleted() => made,
            Creation::Exists(made) if made.belongs_to(instance_id) => {
                let cause = format!("the resource {} is still being deleted", made.name);
                return Err(DriverError::Broken { system: SYSTEM, cause });
            }
            Creation::Exists(made) => {
                return Err(refused(format!("there is a resource {} of another instance", made.name)));
            }
            Creation::DryRun => return Err(refused("it answered a dry run")),
        };
        Ok(CreatedRuntime { id: Some(made.name), operation: None, uid: Some(made.uid), left_out })
    }

    pub(super) async fn send_patch(
        &self,
        name: &str,
        asked: &SpecChange,
        mut saved: SavedChange,
    ) -> Result<SavedChange, DriverError> {
        let gone = || refused(format!("the resource {name} does not exist any longer"));
        self.label_companions(name, asked).await?;
        for _ in 0..PATCHES_MAX {
            let current = self.resources()?.get(name).await?.ok_or_else(gone)?;
            let before = saved.before.unwrap_or(current.generation);
            let patch = asked.patch(&current.spec);
            if names_no_image(&patch) {
                let text =
                    "machineImageVersion: the resource names no machine image; give machineImage as well";
                return Err(refused(text));
            }
            let (spec, left_out) = self.fitted(patch).await?;
            let patch = Patch {
                resource_version: Some(current.resource_version),
                labels: asked.labels.clone(),
                spec,
                ..Patch::default()
            };
            match self.resources()?.patch(name, &patch, WriteMode::Apply).await? {
                PatchedRuntime::Patched(patched) => {
                    saved.left_out = left_out;
                    saved.applied = match AppliedChange::of(before, &patched) {
                        None => self.unfinished(name, &patched).await?,
                        changed => changed,
                    };
                    saved.is_over = saved.applied.is_none();
                    return Ok(saved);
                }
                PatchedRuntime::Conflict => {}
                PatchedRuntime::Absent => return Err(gone()),
                PatchedRuntime::DryRun => return Err(refused("it answered a dry run")),
            }
        }
        let cause = format!("others change the resource {name} all the time");
        Err(DriverError::Broken { system: SYSTEM, cause })
    }

    /// The objects beside the resource have the same labels of the account, and Kyma those of the plan. One that is not
    /// there needs none.
    async fn label_companions(&self, name: &str, asked: &SpecChange) -> Result<(), DriverError> {
        if asked.labels.is_empty() {
            return Ok(());
        }
        let resources = self.resources()?;
        resources.label(LabelledKind::Kyma, name, &asked.labels).await?;
        let of_account = asked.labels.iter().filter(|(label, _)| *label == GLOBAL_ACCOUNT_ID);
        let of_account: BTreeMap<_, _> =
            of_account.map(|(label, value)| (label.clone(), value.clone())).collect();
        if !of_account.is_empty() {
            resources.label(LabelledKind::GardenerCluster, name, &of_account).await?;
        }
        Ok(())
    }

    /// What is left to wait for where a change was in the resource already: the same change failed before, or is being
    /// made.
    pub(super) async fn unfinished(
        &self,
        name: &str,
        runtime: &ObservedRuntime,
    ) -> Result<Option<AppliedChange>, DriverError> {
        let has_failed = match classify(runtime) {
            Readiness::Ready => return Ok(None),
            Readiness::Failed(_) => true,
            Readiness::Wait(_) | Readiness::BeingDeleted => false,
        };
        if has_failed {
            self.resources()?.force_reconciliation(name).await?;
        }
        Ok(Some(AppliedChange { was_taken_up: !has_failed, ..AppliedChange::at(runtime) }))
    }

    pub(super) fn readiness(
        &self,
        runtime: RuntimeRef<'_>,
        observed: Option<ObservedRuntime>,
        saved: &mut SavedChange,
        now: Timestamp,
    ) -> ChangeState {
        let Some(observed) = observed.filter(|observed| is_ours(observed, runtime)) else {
            return ChangeState::Failed(format!("the resource {} was deleted by another client", runtime.id));
        };
        let readiness = match &mut saved.applied {
            Some(applied) => applied.classify(&observed, now.since(saved.at), self.settings().grace),
            None => classify(&observed),
        };
        match readiness {
            Readiness::Ready => ChangeState::Done,
            Readiness::Failed(why) => ChangeState::Failed(format!("{TITLE} failed: {why}")),
            Readiness::Wait(reason) => ChangeState::Pending(reason),
            Readiness::BeingDeleted => {
                ChangeState::Failed(format!("another client deletes the resource {}", runtime.id))
            }
        }
    }
}

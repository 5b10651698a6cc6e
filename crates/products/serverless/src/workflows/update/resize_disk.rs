//! Makes the first disk of every VM larger. A disk never shrinks, so this cannot be taken back.

use std::collections::BTreeSet;

use engine::prelude::*;

use super::change::{FromTo, FunctionChange};
use super::resize_machine::settled;
use super::{Update, going_on_for, leave, put_back};
use crate::model::caller_credentials::credentials;
use crate::model::fields::Amount;
use crate::model::function::FunctionRole;
use crate::model::report::{OPENNEBULA, brisk, refuse, stop};
use crate::model::runtime_error::RuntimeError;
use crate::model::settings::Serverless;

pub(crate) struct ResizeDisk {
    serverless: Arc<Serverless>,
}

/// The VMs for which OpenNebula has accepted the new size.
#[derive(Default, Serialize, Deserialize)]
struct ResizedDisks(BTreeSet<FunctionRole>);

impl Fact for ResizedDisks {
    const KEY: &'static str = "resize_disk.accepted";
}

const FAILED: &str = "Failed to resize Serverless Runtime Function VM disk";
const FIRST_DISK: i32 = 0;
const WATCHED: &str = "resize_disk.watched";

impl ResizeDisk {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> ResizeDisk {
        ResizeDisk { serverless: Arc::clone(serverless) }
    }

    async fn grow(&self, op: &mut Operation<Update>, change: &FunctionChange, size: &FromTo<u32>) -> Outcome {
        let credentials = credentials(op).await?;
        let machine = self.serverless.nebula.machine(&credentials, change.machine).await;
        let machine = machine.map_err(|error| stop(op, FAILED, error))?;
        settled(&self.serverless, op, (WATCHED, change.role), &machine)?;
        let has = Amount::DiskSize.seen(&machine.template);
        if has == Some(size.to) {
            return done();
        }
        let mut accepted = op.recall::<ResizedDisks>()?.unwrap_or_default();
        if accepted.0.contains(&change.role) {
            let why = machine.user_template.get("ERROR").unwrap_or("its host did not do it");
            let message = format!("VM {} runs again, its disk is not of {} MB: {why}", machine.id, size.to);
            return Err(refuse(op, RuntimeError::new(500, FAILED, message)));
        }
        let answer =
            self.serverless.nebula.resize_disk(&credentials, change.machine, FIRST_DISK, size.to).await;
        answer.map_err(|error| stop(op, FAILED, error))?;
        accepted.0.insert(change.role);
        op.remember(&accepted)?;
        let going_on_for = going_on_for(op);
        wait(self.serverless.settings.pause(going_on_for), format!("the disk of VM {} grows", change.machine))
    }
}

#[async_trait]
impl Step<Update> for ResizeDisk {
    named!("resize_disk", "Resizing the disks");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let changes = op.params.functions.clone();
        for change in &changes {
            if let Some(size) = &change.disk {
                self.grow(op, change, size).await?;
            }
        }
        done()
    }

    async fn undo(&self, op: &mut Operation<Update>) -> Outcome {
        let credentials = credentials(op).await?;
        let changes = op.params.functions.clone();
        for change in &changes {
            let Some(size) = &change.disk else { continue };
            let machine = self.serverless.nebula.machine(&credentials, change.machine).await;
            let machine = put_back(op, &self.serverless.settings, "the disk", machine)?;
            let has =
                machine.and_then(|machine| Amount::DiskSize.seen(&machine.template)).unwrap_or(size.from);
            if has > size.from {
                let role = change.role.as_str();
                leave(op, &format!("the disk of {role} stays at {has} MB: a disk cannot shrink"));
            }
        }
        done()
    }
}

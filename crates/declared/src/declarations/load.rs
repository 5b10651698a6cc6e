//! Reading what is saved: at start, and again when it has changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::store::{ResourceQuery, ResourceRow, StoreError};
use engine::{Resource, Timestamp};
use external_step::Reach;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Declarations, Read, open};
use crate::declaration::Declaration;
use crate::plan::{WorkflowShared, plan};
use crate::record::{Head, TENANT, VersionLine, VersionRecord};

const PAGE: usize = 200;
/// How soon another process knows of a new declaration.
const LOOK_EVERY: Duration = Duration::from_millis(700);
const TIDY_EVERY: Duration = Duration::from_hours(1);

impl Declarations {
    /// Looks for changes by other processes until the token is cancelled.
    pub async fn follow(self: Arc<Self>, closing: CancellationToken) {
        let mut tidied = self.engine.now();
        while !closing.is_cancelled() {
            if let Err(error) = self.read_changes().await {
                warn!(%error, "cannot look for changed workflows, retrying");
            }
            let now: Timestamp = self.engine.now();
            if now.since(tidied) >= TIDY_EVERY {
                tidied = now;
                self.tidy_all().await;
            }
            tokio::select! {
                () = closing.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Reads what has changed since the last look.
    pub async fn read_changes(&self) -> Result<(), StoreError> {
        let mut after = None;
        let mut found = BTreeSet::new();
        loop {
            let query =
                ResourceQuery { kind: Head::KIND.to_owned(), after, limit: PAGE, ..ResourceQuery::default() };
            let rows = self.engine.resources(&query).await?.rows;
            let is_last = rows.len() < PAGE;
            after = rows.last().map(|row| row.number);
            for row in rows {
                let Ok(head) = serde_json::from_str::<Head>(&row.record) else {
                    warn!(resource = row.name, "the record of a workflow cannot be read by this release");
                    continue;
                };
                found.insert(head.workflow.clone());
                self.take_over(row, head).await?;
            }
            if is_last {
                break;
            }
        }
        let gone: Vec<String> =
            open(&self.read).keys().filter(|name| !found.contains(*name)).cloned().collect();
        for workflow in gone {
            open(&self.read).remove(&workflow);
            self.engine.offer_version(&workflow, None, &BTreeSet::new());
        }
        Ok(())
    }

    /// Gives the engine what it does not have yet, and takes from it what is not kept any more.
    pub(super) async fn take_over(&self, row: ResourceRow, head: Head) -> Result<(), StoreError> {
        let (known, shared, mut kept) = match open(&self.read).get(&head.workflow) {
            Some(read) if read.row >= row.version => return Ok(()),
            Some(read) => (Some(read.row), Some(read.shared.clone()), read.kept.clone()),
            None => (None, None, BTreeSet::new()),
        };
        let opened = match self.engine.sealer(TENANT, &row.name).open(&head.secret) {
            Ok(opened) => opened,
            Err(error) => {
                warn!(workflow = head.workflow, %error, "the secret of a workflow cannot be opened");
                return Ok(());
            }
        };
        let shared = match shared {
            Some(shared) => {
                shared.secret.replace(opened);
                shared
            }
            None => WorkflowShared::new(opened),
        };
        let wanted: BTreeSet<u32> = head.versions.iter().map(|line| line.version).collect();
        for line in &head.versions {
            let version = line.version;
            if kept.contains(&version) {
                continue;
            }
            let Some(record) = self.content(&head.workflow, line).await? else { continue };
            // Where calls may go is checked again at each call, so that a stricter setting loses no operation here.
            match Declaration::parse(&record.text, Reach::ALL) {
                Ok(declaration) => {
                    self.engine.keep_version(plan(declaration, version, &self.front, shared.clone()));
                    kept.insert(version);
                }
                Err(wrong) => {
                    warn!(workflow = head.workflow, version, %wrong, "this release cannot read a version");
                }
            }
        }
        kept.retain(|version| wanted.contains(version));
        self.engine.offer_version(&head.workflow, head.offered, &kept);
        if known.is_none() || head.offered.is_some() {
            info!(workflow = head.workflow, version = head.offered, "workflow declared");
        }
        let read = Read { row: row.version, shared, kept, head };
        open(&self.read).insert(read.head.workflow.clone(), read);
        Ok(())
    }

    /// The content of one version that this process knows.
    pub async fn version(&self, workflow: &str, version: u32) -> Result<Option<VersionRecord>, StoreError> {
        let line = self.get(workflow).and_then(|declared| declared.head.line(version).cloned());
        match line {
            Some(line) => self.content(workflow, &line).await,
            None => Ok(None),
        }
    }

    pub(super) async fn content(
        &self,
        workflow: &str,
        line: &VersionLine,
    ) -> Result<Option<VersionRecord>, StoreError> {
        let names = [
            VersionRecord::name(workflow, line.version, &line.digest),
            VersionRecord::first_name(workflow, line.version),
        ];
        for name in names {
            let row = self.engine.resource(&name).await?;
            let row = row.filter(|row| row.kind == VersionRecord::KIND && row.gone_at.is_none());
            let record = row.and_then(|row| serde_json::from_str::<VersionRecord>(&row.record).ok());
            if let Some(record) = record.filter(|record| record.digest == line.digest) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

//! Forgetting versions that no operation needs.

use std::time::Duration;

use engine::OperationId;
use engine::store::{Expect, OperationQuery};
use tracing::{info, warn};

use super::save::record_update;
use super::{Declarations, DeclareError, open};
use crate::record::{Head, TENANT, VersionLine, VersionRecord};

/// How many versions stay for people to compare, besides those that operations need.
const HISTORY: usize = 10;
/// A process that has not read the next version yet begins operations with the one before for a moment, and clocks differ.
const SLACK: Duration = Duration::from_mins(5);

impl Declarations {
    pub(super) async fn tidy_all(&self) {
        let names: Vec<String> = open(&self.read).keys().cloned().collect();
        for name in names {
            self.tidy(&name).await;
        }
    }

    /// Forgets old versions of a workflow that no operation began with, as far as operations are kept themselves. One that
    /// ended may be started again, so it counts.
    pub(super) async fn tidy(&self, workflow: &str) {
        match self.try_tidy(workflow).await {
            Ok(0) => {}
            Ok(count) => info!(workflow, count, "pruned versions of a workflow"),
            Err(error) => warn!(workflow, %error, "pruning versions of a workflow failed, retrying later"),
        }
    }

    async fn try_tidy(&self, workflow: &str) -> Result<usize, DeclareError> {
        let Some((row, mut head)) = self.head(workflow).await? else { return Ok(0) };
        let old = head.versions.iter().filter(|line| line.replaced_at.is_some());
        let history = if head.offered.is_some() { HISTORY } else { 0 };
        let beyond = old.clone().count().saturating_sub(history);
        let now = self.engine.now();
        // Processes that have not read the withdrawal yet begin operations with the last versions.
        let is_recent = |line: &VersionLine| {
            head.offered.is_none() && line.replaced_at.is_some_and(|at| now.since(at) < SLACK)
        };
        let mut unused = Vec::new();
        for line in old.take(beyond) {
            if !is_recent(line) && !self.is_used(workflow, line).await? {
                unused.push(line.clone());
            }
        }
        if unused.is_empty() {
            return Ok(0);
        }
        head.versions.retain(|line| !unused.contains(line));
        if head.versions.is_empty() && head.offered.is_none() {
            head.gone_at = Some(now);
        }
        let expect = Expect::Version(row.version);
        if !self
            .engine
            .write_resource(&Head::name(workflow), TENANT, expect, Some(record_update(&head)?))
            .await?
        {
            return Ok(0);
        }
        for line in &unused {
            if let Some(record) = self.content(workflow, line).await? {
                let record = VersionRecord { text: String::new(), gone_at: Some(now), ..record };
                self.write(&VersionRecord::name(workflow, line.version, &line.digest), &record).await?;
            }
        }
        drop(self.read_changes().await);
        Ok(unused.len())
    }

    async fn is_used(&self, workflow: &str, line: &VersionLine) -> Result<bool, DeclareError> {
        let Some(replaced_at) = line.replaced_at else { return Ok(true) };
        let query = OperationQuery {
            workflow: Some(workflow.to_owned()),
            from: Some(OperationId::first_at(line.at.minus(SLACK))),
            before: Some(OperationId::first_at(replaced_at.plus(SLACK))),
            limit: 1,
            ..OperationQuery::default()
        };
        Ok(!self.engine.list(&query).await?.is_empty())
    }
}

//! What the catalog limits besides parameters: the accounts that may have instances, how many, and their bindings.

use crate::model::catalog::CatalogPlan;
use crate::model::{BIND, Binding, InstanceRecord, PROVISION, PlanQuota};
use engine::store::{Expect, RecordUpdate, ResourceQuery, ResourceRow};
use engine::{Phase, Resource};

use super::BrokerShared;
use super::error;
use super::standing::record_update;
use server::http::Failure;

/// More than these are not counted.
const COUNTED_MAX: usize = 1000;

impl BrokerShared {
    /// Whether this global account may have an instance of the plan on this region of a platform.
    pub(crate) fn may_have(
        &self,
        plan: &CatalogPlan,
        account: &str,
        platform_region: Option<&str>,
    ) -> Result<(), Failure> {
        if !plan.limits.allow(account) {
            return Err(error::bad(
                "context.globalaccount_id: this plan is not open to this global account; ask the operator of the broker \
                 to add it to limits.accounts of the plan",
            ));
        }
        if !self.catalog.eu_access.allows(account, platform_region) {
            return Err(error::bad(
                "context.globalaccount_id: this region of the platform is restricted to EU access, and this global \
                 account does not have it; ask the operator of the broker to add it to eu_access.accounts",
            ));
        }
        Ok(())
    }

    /// Counts the instances of a plan with a limit. What is answered has to be written together with a new instance: of
    /// two requests that count at the same time, on any replica, the second one fails to write and counts again.
    pub(crate) async fn quota(
        &self,
        plan: &CatalogPlan,
        account: &str,
    ) -> Result<Option<(String, Expect, Option<RecordUpdate>)>, Failure> {
        let Some(limit) = plan.limits.instances_per_account.map(usize::from) else { return Ok(None) };
        let quota = PlanQuota::new(&plan.id, account);
        let name = quota.resource();
        let seen = self.app.engine.resource(&name).await?;
        let labels = [("account", account), ("plan", plan.name.as_str())];
        let rows = self.labelled::<InstanceRecord>(&labels).await?;
        if rows.iter().filter(|row| !is_undone(row)).count() >= limit {
            let (has, them) = match limit {
                1 => ("an instance".to_owned(), "delete it"),
                _ => (format!("{limit} instances"), "delete one of them"),
            };
            return Err(error::bad(format!(
                "plan_id: this global account has {has} of the plan {} already, and may not have more; {them} first",
                plan.name
            )));
        }
        Ok(Some(match seen {
            Some(row) => (name, Expect::Version(row.version), None),
            None => (name, Expect::Absent, Some(record_update(&quota)?)),
        }))
    }

    /// Whether there is room for one more binding. The caller writes with the version of the instance, so that of two
    /// requests that count at the same time the second one counts again.
    pub(crate) async fn has_room(
        &self,
        plan: &CatalogPlan,
        instance: &InstanceRecord,
    ) -> Result<(), Failure> {
        let limit = usize::from(plan.limits.bindings);
        if self.live_bindings(instance).await? < limit {
            return Ok(());
        }
        let bindings = bindings(limit);
        Err(error::bad(format!(
            "binding_id: this service instance has {bindings}, and may not have more; unbind one that is not needed, or \
             wait until one expires"
        )))
    }

    pub(crate) async fn has_no_bindings(&self, instance: &InstanceRecord) -> Result<(), Failure> {
        match self.live_bindings(instance).await? {
            0 => Ok(()),
            count => {
                let (are, them) = if count == 1 { ("is", "it") } else { ("are", "them") };
                let bindings = bindings(count);
                let text = format!("there {are} {bindings} of this service instance; unbind {them} first");
                Err(error::unprocessable(text))
            }
        }
    }

    async fn live_bindings(&self, instance: &InstanceRecord) -> Result<usize, Failure> {
        self.live_binding_rows(instance).await.map(|rows| rows.len())
    }

    pub(crate) async fn live_binding_rows(
        &self,
        instance: &InstanceRecord,
    ) -> Result<Vec<ResourceRow>, Failure> {
        // Bindings are service accounts in the cluster: without one there are none.
        if instance.runtime_id.is_none() {
            return Ok(Vec::new());
        }
        let mut rows = self.labelled::<Binding>(&[("instance_id", &instance.instance_id)]).await?;
        rows.retain(|row| self.is_live(row, instance));
        Ok(rows)
    }

    /// Whether there may be credentials that work.
    fn is_live(&self, row: &ResourceRow, instance: &InstanceRecord) -> bool {
        let was_made = match (row.workflow.as_deref(), row.phase) {
            (Some(BIND), Some(phase)) => !phase.is_final() || phase == Phase::Succeeded,
            _ => true,
        };
        was_made && row.gone_at.is_none() && !self.has_expired(row) && !is_of_former_cluster(row, instance)
    }

    async fn labelled<R: Resource>(&self, labels: &[(&str, &str)]) -> Result<Vec<ResourceRow>, Failure> {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), vec![(*value).to_owned()]));
        let query = ResourceQuery {
            kind: R::KIND.to_owned(),
            labels: labels.collect(),
            limit: COUNTED_MAX,
            ..ResourceQuery::default()
        };
        Ok(self.app.engine.resources(&query).await?.rows)
    }
}

/// A provisioning that was taken back left nothing but its record.
fn is_undone(row: &ResourceRow) -> bool {
    row.workflow.as_deref() == Some(PROVISION) && row.phase == Some(Phase::Undone)
}

/// A suspension takes the cluster away, and the instance gets another one. Older records do not name the cluster.
fn is_of_former_cluster(row: &ResourceRow, instance: &InstanceRecord) -> bool {
    let binding = serde_json::from_str::<Binding>(&row.record).ok();
    let runtime_id = binding.and_then(|binding| binding.runtime_id);
    runtime_id.is_some_and(|id| Some(&id) != instance.runtime_id.as_ref())
}

fn bindings(count: usize) -> String {
    if count == 1 { "1 binding".into() } else { format!("{count} bindings") }
}

//! Tells the runtime where its audit log goes, under the name of the tenant that asked.

use engine::prelude::*;
use serde_json::Value;

use super::Provision;
use crate::model::settings::RuntimesSettings;
use engine::overrides::{plain, public, secret};

pub(crate) struct AuditLogOverrides {
    pub(crate) runtimes: Arc<RuntimesSettings>,
}

const COMPONENT: &str = "logging";

#[async_trait]
impl Step<Provision> for AuditLogOverrides {
    named!("audit_log_overrides", "Connecting the audit log");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        let Some(log) = &self.runtimes.audit_log else { return done() };
        let sent = op.input.context.get("tenant_id").and_then(Value::as_str).map(str::to_owned);
        let tenant = match sent {
            Some(tenant) => tenant,
            None => op.input.instance()?.subaccount.clone(),
        };
        let entries = [
            public("fluent-bit.auditlog.enabled", "true"),
            public("fluent-bit.auditlog.url", log.url.clone()),
            plain("fluent-bit.auditlog.tenant", tenant),
            public("fluent-bit.auditlog.user", log.username.clone()),
            secret("fluent-bit.auditlog.password", log.password.clone()),
        ];
        op.input.overrides.append(COMPONENT, entries);
        done()
    }
}

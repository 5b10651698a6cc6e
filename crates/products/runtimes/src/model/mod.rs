//! Runtimes: clusters that a platform asks for through the service broker, made by the Runtime Provisioner.

pub mod account_rules;
pub mod accounts;
pub mod binding;
pub mod bound_accounts;
pub mod catalog;
pub mod cluster_access;
pub mod components;
pub mod instance;
pub mod orchestration;
pub mod override_source;
pub mod parameters;
pub mod plan_quota;
pub mod records;
pub mod request;
pub mod sent;
pub mod settings;

pub use binding::Binding;
pub use components::{Component, Components};
pub use instance::{Action, ActionKind, InstanceRecord, Status, seal_json};
pub use parameters::{Oidc, OidcConfig, Parameters, WorkerPool};
pub use plan_quota::PlanQuota;
pub use settings::{
    AuditLog, KymaTemplate, ManagerSettings, RuntimesSettings, ServiceManager, UnknownOutcome,
};

pub const PROVISION: &str = "runtime.provision";
pub const DEPROVISION: &str = "runtime.deprovision";
pub const UPDATE: &str = "runtime.update";
pub const UPGRADE: &str = "runtime.upgrade";
pub const BIND: &str = "runtime.bind";
pub const UNBIND: &str = "runtime.unbind";

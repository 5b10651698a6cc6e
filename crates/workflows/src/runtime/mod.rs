//! Runtimes: clusters that a platform asks for through the service broker, made by the Runtime Provisioner.

pub mod accounts;
mod binding;
pub mod catalog;
mod cluster_access;
mod components;
pub mod external;
mod instance;
pub mod override_source;
mod parameters;
mod plan_quota;
mod request;
mod sent;
mod settings;
mod shared;

pub mod bind;
pub mod deprovision;
pub mod provision;
pub mod unbind;
pub mod update;

pub use binding::Binding;
pub use components::{Component, Components};
pub use instance::{Instance, Status, seal_json};
pub use parameters::Parameters;
pub use plan_quota::PlanQuota;
pub use settings::{AuditLog, Runtimes, ServiceManager, UnknownOutcome};
pub use shared::Input;

pub const PROVISION: &str = "runtime.provision";
pub const DEPROVISION: &str = "runtime.deprovision";
pub const UPDATE: &str = "runtime.update";
pub const BIND: &str = "runtime.bind";
pub const UNBIND: &str = "runtime.unbind";

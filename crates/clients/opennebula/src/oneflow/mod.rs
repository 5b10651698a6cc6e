//! OneFlow, which makes services: several VMs in roles, from one template.

mod client;
mod instantiate;
mod lenient;
mod service_templates;
mod services;

pub(super) use self::client::OneFlow;
pub use self::service_templates::{Dialect, ServiceTemplate, TemplateRole};
pub use self::services::{FlowService, ServiceRole};

/// How it is called in errors.
const ONEFLOW: &str = "oneflow";

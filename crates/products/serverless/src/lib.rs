//! Serverless runtimes: functions that devices ask for, each a machine of a OneFlow service in OpenNebula.

pub mod api;
pub mod model;
pub mod workflows;

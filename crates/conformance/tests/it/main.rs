//! The suite on trial: a small broker that is right, and many that are wrong in one way each.

mod broker;
mod catalog;
mod instances;
mod right;
mod wrong;

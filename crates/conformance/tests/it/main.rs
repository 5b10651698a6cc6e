//! Tests of the suite: one broker that is correct, and many that are wrong in one way each.

mod broker;
mod catalog;
mod instances;
mod right;
mod wrong;

//! The engine on a memory store and virtual time: what each answer of a step leads to, and what a seed's worth
//! of trouble may not break.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod answers;
mod api;
mod attempts;
mod clocks;
mod controls;
mod due;
mod on_settled;
mod ownership;
mod scripted;
mod simulation;
mod upgrades;
mod versions;
mod watching;

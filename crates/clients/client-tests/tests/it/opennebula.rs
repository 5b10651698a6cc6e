//! The driver for `OpenNebula` against exchanges that were recorded with its release 6.8.3, and against far
//! sides that no decent server would be.

mod chance;
mod connections;
mod dialects;
mod error_responses;
mod grammar;
mod limits;
mod mutations;
mod oned;
mod oneflow;
mod recorded;
mod sandbox;
mod secrecy;
mod template;
mod wire;

//! The sandbox as its callers see it, system by system. One program, because each links everything once more.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod aws;
mod external_systems;
mod hosted;
mod messages;
mod opennebula_oned;
mod opennebula_oneflow;
mod sandbox;

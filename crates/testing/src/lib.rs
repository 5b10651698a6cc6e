//! What tests share: virtual time, stores that crash, fake external systems, and tests for whole workflows.

mod clock;
mod counts;
mod dying_store;
mod fake;
pub mod private_postgres;
mod test_engine;
pub mod workflow_test;

pub use clock::{SkewedClock, VirtualClock};
pub use counts::count;
pub use dying_store::{Death, DyingStore, claims_in_a_second};
pub use fake::{CallFault, FakeClient, FakeSystem, KeyLog};
pub use test_engine::{TestEngine, key_ring};

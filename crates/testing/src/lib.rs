//! What tests share: virtual time, stores that die, far sides that lie, trials for whole workflows.

mod clock;
mod counts;
mod dying_store;
mod far_side;
mod house;
pub mod private_postgres;
pub mod trial;

pub use clock::{SkewedClock, VirtualClock};
pub use counts::count;
pub use dying_store::{Death, DyingStore, claims_in_a_second};
pub use far_side::{FarSide, Line, Trouble, World};
pub use house::{House, key_ring};

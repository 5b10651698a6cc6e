//! What the clients of external systems share: connections, limits, errors, GraphQL and signatures.
//!
//! Every client can create a thing with an idempotency key, find it by the key and delete it by the key. That is how a
//! step adopts its work after a crash, and how an undo finds it.

mod answer;
mod encode;
mod error;
pub mod graphql;
mod lines;
mod signature;
mod trust;

pub use answer::{
    ANSWER_BYTES_MAX, Answer, ExternalSystem, MESSAGE_CHARS_MAX, NoAnswer, client_builder, explain,
    is_loopback, read_body, shorten,
};
pub use encode::{hex, percent_encoded, percent_encoded_but};
pub use error::DriverError;
pub use lines::Lines;
pub use signature::signature;
pub use trust::{http_client, trust, with_own_tls};

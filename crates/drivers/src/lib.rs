//! All clients of external systems under one name, for the crates that use many of them.

pub use http_client::{
    DriverError, NoAnswer, hex, http_client, is_loopback, percent_encoded, read_body, trust,
};
pub use {
    aws, cloud, director, external_step, greeter, identity, image_builder, kafka, kubernetes, opennebula,
    provisioner, rbac, sources, webhook,
};

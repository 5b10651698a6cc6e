//! Launches: one saga from an image build to running instances in a cloud account.

pub mod api;
pub mod model;
pub mod workflows;

//! The drivers that runtimes need, against the sandbox and against far sides that no decent server would be.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod dialects;
mod director;
mod house;
mod kubernetes;
mod provisioner;
mod tokens;

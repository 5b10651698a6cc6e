//! The Provisioner and the Director that sees its runtimes, against the sandbox and against servers that misbehave.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod dialects;
mod director;
mod house;
mod provisioner;

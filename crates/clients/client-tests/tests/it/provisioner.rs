//! The Provisioner and the Director that sees its runtimes, against the sandbox and against servers that misbehave.

mod dialects;
mod director;
mod fixture;
mod runtimes;

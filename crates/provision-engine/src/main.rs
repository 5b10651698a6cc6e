//! The program: one binary that serves, and that talks to a running server.

use std::process::ExitCode;

/// What one thread makes another one frees, at every save; this allocator does not mind.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    provision_engine::app().run()
}

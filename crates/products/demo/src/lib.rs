//! A demonstration of a workflow: it asks a greeter over HTTP, waits, and writes a letter.

pub mod workflows;

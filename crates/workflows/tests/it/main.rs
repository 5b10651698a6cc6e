//! Every workflow against the real far sides of the sandbox, over HTTP.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod demo_hello;

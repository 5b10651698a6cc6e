//! OneFlow and the guests of its machines as their callers see them: over HTTP, with a real client.

mod caller;
mod dialects;
mod endings;
mod guests;
mod kept;
mod mischief;
mod recorded;
mod services;
mod seven;

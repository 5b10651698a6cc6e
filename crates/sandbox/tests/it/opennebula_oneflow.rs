//! OneFlow and the guests of its machines as their callers see them: over HTTP, with a real client.

mod caller;
mod dialects;
mod endings;
mod faults;
mod guests;
mod kept;
mod recorded;
mod services;
mod seven;

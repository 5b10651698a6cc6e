//! oned as its callers see it: XML-RPC over a socket, with bodies that were recorded from a real one.

mod caller;
mod capacity;
mod connections;
mod documents;
mod failures;
mod lives;
mod outline;
mod pools;
mod recorded;
mod users;

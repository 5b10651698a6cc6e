//! Launches against the far sides of the sandbox, over sockets.

mod cloud;
mod failures;
mod hints;
mod keys;
mod late_builder;
mod lost_answers;
mod outbox;
mod partly;
mod patience;
mod profiles;
mod retreat;
mod site;
mod storm;
mod surplus;
mod terminate;
mod to_running;
mod trials;

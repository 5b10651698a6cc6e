//! Launches against the external systems of the sandbox, over sockets.

mod cloud;
mod clouds;
mod failures;
mod image_events;
mod keys;
mod late_builder;
mod lost_answers;
mod one_by_one;
mod outbox;
mod partly;
mod patience;
mod profiles;
mod site;
mod slow_cloud;
mod storm;
mod surplus;
mod terminate;
mod to_running;
mod undo_cause;
mod workflow_tests;

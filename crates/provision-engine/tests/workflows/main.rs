//! Every workflow against the real external systems of the sandbox, over HTTP.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod add_a_step;
mod demo_hello;
mod external;
mod external_example;
mod guides;
mod hello_test;
mod hello_world;
mod interleavings;
mod launch;
mod launch_catalog;
mod launch_model;
mod launch_public_key;
mod launch_refresh;
mod launch_rival;
mod launch_search;
mod manager;
mod manager_accounts;
mod manager_world;
mod notice;
mod notice_post;
mod other_tenants;
mod override_sources;
mod own_workflow;
mod poison;
mod runtime;
mod runtime_bindings;
mod runtime_greeting;
mod runtime_matrix;
mod runtime_test;
mod runtime_upgrade;
mod schemas;
mod serverless;
mod serverless_delete;
mod serverless_hostile;
mod serverless_late;
mod serverless_site;
mod serverless_test;
mod serverless_update;
mod serverless_view;
mod step_vectors;
mod stepped_store;
mod upgrades;
mod watch;
mod watched_runtimes;
mod world;

// The example of the guide stands here as it would stand in its crate.
use ::demo::workflows;

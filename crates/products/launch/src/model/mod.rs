//! The records and values of launches.

pub mod accept;
pub mod admit;
pub mod api_error;
pub mod builder_identity;
pub mod catalog;
pub mod distributions;
pub mod event_rate;
pub mod form;
pub mod image_events;
pub mod images;
pub mod inventory;
pub mod numbers;
pub mod outbox;
pub mod params;
pub mod preflight;
pub mod profile;
pub mod public_key;
pub mod public_keys;
pub mod rate_limit;
pub mod record;
pub mod resolve;
pub mod settings;
pub mod source_access;
pub mod sources;
pub mod state;
pub mod status;
pub mod submit_parameters;
pub mod user_data;

pub use ::{cloud, identity, image_builder, rbac, sources as sources_api};
/// What handlers need of the words of the external systems.
pub use external_step::signature;
pub use settings::{LaunchSettings, Launches};

/// The value of the tag `rh-rid`, by which the hosted service knows the instances of a reservation.
pub(crate) fn reservation_tag(number: &str, settings: &LaunchSettings) -> String {
    match &settings.environment {
        Some(environment) => format!("r-{number}-{environment}"),
        None => format!("r-{number}"),
    }
}

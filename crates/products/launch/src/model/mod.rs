//! The records and values of launches.

pub mod accept;
pub mod accounts;
pub mod admit;
pub mod builder_identity;
pub mod catalogue;
pub mod distributions;
pub mod form;
pub mod give;
pub mod hints;
pub mod images;
pub mod intake;
pub mod inventory;
pub mod numbers;
pub mod outbox;
pub mod pacer;
pub mod params;
pub mod preflight;
pub mod profile;
pub mod pubkeys;
pub mod public_key;
pub mod record;
pub mod rejection;
pub mod resolve;
pub mod settings;
pub mod sources;
pub mod state;
pub mod status;
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

//! `launch`: one saga from an image to running instances. The image may be there, may be on its way, or is built
//! first; the parameters of the launch come with the request or later. Up to the launch of the instances every
//! failure takes back what was made; after it, what runs is kept.

pub mod accept;
pub mod accounts;
pub mod admit;
pub mod builder_identity;
pub mod catalogue;
pub mod distributions;
pub mod finish;
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
pub mod steps;
pub mod table;
pub mod user_data;

use engine::Rest;
use engine::prelude::*;
use engine::secret::Sealer;
use engine::store::Portrait;
use serde_json::Value;

pub use ::{cloud, identity, image_builder, rbac, sources as sources_api};
/// What doors need of the words of the outside systems.
pub use external_step::signature;
pub use settings::{LaunchSettings, Launches};
pub use table::plan;

pub const LAUNCH: &str = "launch";

pub struct Launch;

impl Workflow for Launch {
    const KIND: &'static str = LAUNCH;
    const ABOUT: &'static str =
        "Builds an image if need be, and launches instances of it in a cloud account.";
    /// Parameters may take two weeks, an image a day.
    const DEADLINE: Duration = Duration::from_hours(16 * 24);
    type Params = params::Params;
    type State = state::State;
    type Input = Input;

    fn admit(asked: Value, sealer: &Sealer) -> Result<params::Params, String> {
        admit::admit(asked, sealer)
    }

    fn parting(op: &Operation<Launch>, rest: &Rest<'_>) -> Option<Portrait> {
        finish::parting(op, rest)
    }
}

/// The value of the tag `rh-rid`, by which the hosted service knows the instances of a reservation.
fn reservation_tag(number: &str, settings: &LaunchSettings) -> String {
    match &settings.environment {
        Some(environment) => format!("r-{number}-{environment}"),
        None => format!("r-{number}"),
    }
}

/// What one pass of a launch puts together.
#[derive(Default)]
pub struct Input {
    reach: Option<steps::Reach>,
    /// What the record held for others when the pass began, where that was looked at.
    notices: Option<Vec<record::Notice>>,
}

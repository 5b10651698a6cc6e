//! `launch`: one saga from an image to running instances. The image may be there, may be on its way, or is built
//! first; the parameters of the launch come with the request or later. Up to the launch of the instances every
//! failure takes back what was made; after it, what runs is kept.

pub(crate) mod build_image;
mod caller;
pub(crate) mod check_account;
pub(crate) mod check_permissions;
pub(crate) mod fetch_addresses;
mod finish;
pub(crate) mod launch_instances;
mod order;
mod portrayed;
mod quoted;
mod reach;
pub(crate) mod register_in_inventory;
mod report;
pub(crate) mod submit_build;
mod surplus;
pub(crate) mod table;
pub(crate) mod test_step;
pub(crate) mod upload_public_key;
pub(crate) mod validate;
pub(crate) mod wait_for_parameters;

use engine::Rest;
use engine::prelude::*;
use engine::secret::Sealer;
use engine::store::Portrait;
use serde_json::Value;

use crate::model::{admit, params, record, state};

pub use table::plan;

pub(crate) use self::portrayed::Portrayed;
pub(crate) use self::reach::Reach;

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

/// What one pass of a launch puts together.
#[derive(Default)]
pub struct Input {
    reach: Option<Reach>,
    /// What the record held for others when the pass began, where that was looked at.
    notices: Option<Vec<record::Notice>>,
}

//! `launch`: one saga from an image to running instances. The image may be there, may be on its way, or is built
//! first; the parameters of the launch come with the request or later. Up to the launch of the instances every
//! failure takes back what was made; after it, what runs is kept.

pub(crate) mod build_image;
pub(crate) mod check_account;
pub(crate) mod check_permissions;
pub(crate) mod fetch_addresses;
mod finish;
pub(crate) mod instance_request;
pub(crate) mod launch_instances;
mod parts;
pub(crate) mod prepare_network;
mod quoted;
mod reach;
pub(crate) mod register_in_inventory;
mod report;
mod saved_identity;
pub(crate) mod submit_build;
mod surplus;
pub(crate) mod test_step;
pub(crate) mod upload_public_key;
pub(crate) mod validate;
pub(crate) mod wait_for_parameters;
mod written_record;

use std::sync::LazyLock;

use engine::Settled;
use engine::prelude::*;
use engine::secret::Sealer;
use engine::store::RecordUpdate;
use serde_json::Value;

use self::{
    build_image::BuildImage, check_account::CheckAccount, check_permissions::CheckPermissions,
    fetch_addresses::FetchAddresses, launch_instances::LaunchInstances, prepare_network::PrepareNetwork,
    register_in_inventory::RegisterInInventory, submit_build::SubmitBuild, test_step::TestStep,
    upload_public_key::UploadPublicKey, validate::Validate, wait_for_parameters::WaitForParameters,
};
use crate::model::status::LaunchPhase;
use crate::model::status::shape::LaunchShape;
use crate::model::{Launches, admit, params, record, state};

pub(crate) use self::reach::Reach;
pub(crate) use self::written_record::WrittenRecord;

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

    fn schema() -> Value {
        api::json_schema::<params::LaunchRequest>()
    }

    /// Its own name, or that of what it launches.
    fn operation_name(params: &params::Params) -> Option<String> {
        let own = params.parameters.as_ref().and_then(|parameters| parameters.plain.name.clone());
        own.or_else(|| params.image.name().map(str::to_owned))
    }

    fn admit(asked: Value, sealer: &Sealer) -> Result<params::Params, String> {
        admit::admit(asked, sealer)
    }

    fn on_settled(op: &Operation<Launch>, rest: &Settled<'_>) -> Option<RecordUpdate> {
        finish::on_settled(op, rest)
    }
}

/// What one pass of a launch puts together.
#[derive(Default)]
pub struct Input {
    reach: Option<Reach>,
    /// What the record held for others when the pass began, where that was looked at.
    notices: Option<Vec<record::Notice>>,
}

/// One line of the table.
pub(crate) struct Line {
    weight: u16,
    /// What a launch shows while this is its step.
    pub(crate) stage: LaunchPhase,
    /// Which launches have the step; nothing where all have it.
    when: Option<fn(LaunchShape) -> bool>,
    step: Box<dyn Step<Launch>>,
}

impl Line {
    pub(crate) fn name(&self) -> &str {
        self.step.name()
    }

    pub(crate) fn title(&self) -> &str {
        self.step.title()
    }

    pub(crate) fn applies(&self, shape: LaunchShape) -> bool {
        self.when.is_none_or(|when| when(shape))
    }
}

/// The steps of a launch, once: the plan is made of this table, and the status reads it. The pivot is
/// `launch_instances`.
fn table(launches: &Arc<Launches>) -> Vec<Line> {
    use LaunchPhase::{
        Building, Describing, Launching, Preparing, Registering, Validating, WaitingParameters,
    };
    vec![
        Line { weight: 10, stage: Validating, when: None, step: Box::new(Validate::new(launches)) },
        line(20, Validating, LaunchShape::checks_early, CheckPermissions::new(launches)),
        line(30, Building, LaunchShape::builds, SubmitBuild::new(launches)),
        line(40, Building, LaunchShape::has_compose, BuildImage::new(launches)),
        line(50, WaitingParameters, LaunchShape::waits_for_parameters, WaitForParameters::new(launches)),
        line(60, Preparing, LaunchShape::launches, CheckAccount::new(launches)),
        line(70, Preparing, LaunchShape::uploads_key, UploadPublicKey::new(launches)),
        line(75, Preparing, LaunchShape::prepares_network, PrepareNetwork::new(launches)),
        line(80, Launching, LaunchShape::launches, LaunchInstances::new(launches)),
        line(80, Launching, LaunchShape::is_noop, TestStep),
        line(90, Describing, LaunchShape::launches, FetchAddresses::new(launches)),
        line(100, Registering, LaunchShape::registers, RegisterInInventory),
    ]
}

fn line(weight: u16, stage: LaunchPhase, when: fn(LaunchShape) -> bool, step: impl Step<Launch>) -> Line {
    Line { weight, stage, when: Some(when), step: Box::new(step) }
}

/// For the status, which runs no step.
pub(crate) static TABLE: LazyLock<Vec<Line>> = LazyLock::new(|| table(&Arc::new(Launches::unconnected())));

pub fn plan(launches: &Arc<Launches>) -> Plan<Launch> {
    table(launches).into_iter().fold(Plan::new(OnFailure::Unwind), |plan, Line { weight, when, step, .. }| {
        let step = WrittenRecord::new(step);
        match when {
            Some(when) => plan.step_when(move |op| when(op.params.shape()), weight, step),
            None => plan.step(weight, step),
        }
    })
}

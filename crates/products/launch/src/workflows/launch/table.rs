//! The steps of a launch, once: the plan is made of this table, and the status reads it.

use std::sync::LazyLock;

use engine::prelude::*;

use super::Launch;
use super::{
    Portrayed, build_image::BuildImage, check_account::CheckAccount, check_permissions::CheckPermissions,
    fetch_addresses::FetchAddresses, launch_instances::LaunchInstances,
    register_in_inventory::RegisterInInventory, submit_build::SubmitBuild, test_step::TestStep,
    upload_public_key::UploadPublicKey, validate::Validate, wait_for_parameters::WaitForParameters,
};
use crate::model::Launches;
use crate::model::status::Stage;
use crate::model::status::shape::Shape;

/// One line of the table.
pub(crate) struct Line {
    weight: u16,
    /// What a launch shows while this is its step.
    pub(crate) stage: Stage,
    /// Which launches have the step; nothing where all have it.
    when: Option<fn(Shape) -> bool>,
    step: Box<dyn Step<Launch>>,
}

impl Line {
    pub(crate) fn name(&self) -> &str {
        self.step.name()
    }

    pub(crate) fn title(&self) -> &str {
        self.step.title()
    }

    pub(crate) fn applies(&self, shape: Shape) -> bool {
        self.when.is_none_or(|when| when(shape))
    }
}

/// The table of steps and weights. The pivot is `launch_instances`.
fn table(launches: &Arc<Launches>) -> Vec<Line> {
    use Stage::{Building, Describing, Launching, Preparing, Registering, Validating, WaitingParameters};
    vec![
        Line { weight: 10, stage: Validating, when: None, step: Box::new(Validate::new(launches)) },
        line(20, Validating, Shape::checks_early, CheckPermissions::new(launches)),
        line(30, Building, Shape::builds, SubmitBuild::new(launches)),
        line(40, Building, Shape::has_compose, BuildImage::new(launches)),
        line(50, WaitingParameters, Shape::waits_for_parameters, WaitForParameters::new(launches)),
        line(60, Preparing, Shape::launches, CheckAccount::new(launches)),
        line(70, Preparing, Shape::uploads_key, UploadPublicKey::new(launches)),
        line(80, Launching, Shape::launches, LaunchInstances::new(launches)),
        line(80, Launching, Shape::is_noop, TestStep),
        line(90, Describing, Shape::launches, FetchAddresses::new(launches)),
        line(100, Registering, Shape::registers, RegisterInInventory),
    ]
}

fn line(weight: u16, stage: Stage, when: fn(Shape) -> bool, step: impl Step<Launch>) -> Line {
    Line { weight, stage, when: Some(when), step: Box::new(step) }
}

/// For the status, which runs no step.
pub(crate) static TABLE: LazyLock<Vec<Line>> = LazyLock::new(|| table(&Arc::new(Launches::unconnected())));

pub fn plan(launches: &Arc<Launches>) -> Plan<Launch> {
    table(launches).into_iter().fold(Plan::new(OnFailure::Unwind), |plan, Line { weight, when, step, .. }| {
        let step = Portrayed::new(step);
        match when {
            Some(when) => plan.step_when(move |op| when(op.params.shape()), weight, step),
            None => plan.step(weight, step),
        }
    })
}

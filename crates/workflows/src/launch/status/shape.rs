//! Which steps a launch has. The plan and the status read the same table.

use drivers::cloud::ProviderKind;

use super::stage::Stage;
use crate::launch::params::{ImageChoice, Params};
use crate::launch::profile::Surface;
use crate::launch::record::{LaunchRecord, ShownImage};

/// What decides which steps a launch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::launch) struct Shape {
    pub(super) provider: ProviderKind,
    image: Kind,
    pub(super) is_deferred: bool,
    on_inventory: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Given,
    Compose,
    Build,
}

impl Params {
    pub(in crate::launch) fn shape(&self) -> Shape {
        let image = match self.image {
            ImageChoice::None | ImageChoice::Cloud { .. } => Kind::Given,
            ImageChoice::Compose { .. } => Kind::Compose,
            ImageChoice::Build(_) => Kind::Build,
        };
        let on_inventory = self.profile.shows_on(Surface::Inventory);
        Shape { provider: self.provider, image, is_deferred: self.is_deferred(), on_inventory }
    }

    /// Whether the parameters come later than the request.
    pub fn is_deferred(&self) -> bool {
        self.parameters.is_none() && self.provider != ProviderKind::Noop
    }
}

impl LaunchRecord {
    pub(super) fn shape(&self) -> Shape {
        let image = match self.image {
            ShownImage::None | ShownImage::Cloud { .. } => Kind::Given,
            ShownImage::Compose { .. } => Kind::Compose,
            ShownImage::Build { .. } => Kind::Build,
        };
        let on_inventory = self.profile.shows_on(Surface::Inventory);
        Shape { provider: self.provider, image, is_deferred: self.is_deferred, on_inventory }
    }
}

impl Shape {
    fn is_always(self) -> bool {
        let Shape { .. } = self;
        true
    }

    pub(in crate::launch) fn is_noop(self) -> bool {
        self.provider == ProviderKind::Noop
    }

    pub(in crate::launch) fn launches(self) -> bool {
        !self.is_noop()
    }

    pub(in crate::launch) fn builds(self) -> bool {
        self.image == Kind::Build && self.launches()
    }

    pub(in crate::launch) fn has_compose(self) -> bool {
        self.image != Kind::Given && self.launches()
    }

    /// A long build is not spent on an account that will not do.
    pub(in crate::launch) fn checks_early(self) -> bool {
        self.builds() && !self.is_deferred
    }

    pub(in crate::launch) fn waits_for_parameters(self) -> bool {
        self.is_deferred
    }

    pub(in crate::launch) fn uploads_key(self) -> bool {
        self.provider.spec().keys.are_uploaded
    }

    pub(in crate::launch) fn registers(self) -> bool {
        self.on_inventory && self.launches()
    }
}

/// One step, as people see it.
#[derive(Debug, Clone, Copy)]
pub(in crate::launch) struct StepLine {
    pub(in crate::launch) name: &'static str,
    pub(in crate::launch) title: &'static str,
    pub(super) stage: Stage,
    applies: fn(Shape) -> bool,
}

impl StepLine {
    pub(super) fn applies(&self, shape: Shape) -> bool {
        (self.applies)(shape)
    }
}

const fn line(name: &'static str, title: &'static str, stage: Stage, applies: fn(Shape) -> bool) -> StepLine {
    StepLine { name, title, stage, applies }
}

pub(in crate::launch) const VALIDATE: StepLine =
    line("validate", "Checking what was asked for", Stage::Validating, Shape::is_always);
pub(in crate::launch) const CHECK_PERMISSIONS: StepLine =
    line("check_permissions", "Asking whether the account lets us", Stage::Validating, Shape::checks_early);
pub(in crate::launch) const SUBMIT_BUILD: StepLine =
    line("submit_build", "Asking for the image", Stage::Building, Shape::builds);
pub(in crate::launch) const BUILD_IMAGE: StepLine =
    line("build_image", "Building the image", Stage::Building, Shape::has_compose);
pub(in crate::launch) const WAIT_FOR_PARAMETERS: StepLine = line(
    "wait_for_parameters",
    "Waiting for the launch parameters",
    Stage::WaitingParameters,
    Shape::waits_for_parameters,
);
pub(in crate::launch) const CHECK_ACCOUNT: StepLine =
    line("check_account", "Checking the account and the image", Stage::Preparing, Shape::launches);
pub(in crate::launch) const UPLOAD_PUBLIC_KEY: StepLine =
    line("upload_public_key", "Uploading the public key", Stage::Preparing, Shape::uploads_key);
pub(in crate::launch) const LAUNCH_INSTANCES: StepLine =
    line("launch_instances", "Launching the instances", Stage::Launching, Shape::launches);
pub(in crate::launch) const TEST_STEP: StepLine =
    line("test_step", "Doing nothing", Stage::Launching, Shape::is_noop);
pub(in crate::launch) const FETCH_ADDRESSES: StepLine =
    line("fetch_addresses", "Fetching the addresses", Stage::Describing, Shape::launches);
pub(in crate::launch) const REGISTER_IN_INVENTORY: StepLine = line(
    "register_in_inventory",
    "Showing the instances in the inventory",
    Stage::Registering,
    Shape::registers,
);

/// The steps in the order of the plan.
pub(in crate::launch) const STEPS: [StepLine; 11] = [
    VALIDATE,
    CHECK_PERMISSIONS,
    SUBMIT_BUILD,
    BUILD_IMAGE,
    WAIT_FOR_PARAMETERS,
    CHECK_ACCOUNT,
    UPLOAD_PUBLIC_KEY,
    LAUNCH_INSTANCES,
    TEST_STEP,
    FETCH_ADDRESSES,
    REGISTER_IN_INVENTORY,
];

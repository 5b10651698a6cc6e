//! What decides which steps of the table a launch has.

use cloud::{PartKind, ProviderKind};

use crate::model::params::{ImageChoice, Params};
use crate::model::profile::Surface;
use crate::model::record::{ImageSummary, LaunchRecord};

/// What decides which steps a launch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaunchShape {
    pub(crate) provider: ProviderKind,
    pub(crate) image: LaunchKind,
    pub(crate) is_deferred: bool,
    pub(crate) on_inventory: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchKind {
    Given,
    Compose,
    Build,
}

impl Params {
    pub(crate) fn shape(&self) -> LaunchShape {
        let image = match self.image {
            ImageChoice::None | ImageChoice::Cloud { .. } => LaunchKind::Given,
            ImageChoice::Compose { .. } => LaunchKind::Compose,
            ImageChoice::Build(_) => LaunchKind::Build,
        };
        let on_inventory = self.profile.shows_on(Surface::Inventory);
        LaunchShape { provider: self.provider, image, is_deferred: self.is_deferred(), on_inventory }
    }

    /// Whether the parameters come later than the request.
    pub fn is_deferred(&self) -> bool {
        self.parameters.is_none() && self.provider != ProviderKind::Noop
    }
}

impl LaunchRecord {
    pub(crate) fn shape(&self) -> LaunchShape {
        let image = match self.image {
            ImageSummary::None | ImageSummary::Cloud { .. } => LaunchKind::Given,
            ImageSummary::Compose { .. } => LaunchKind::Compose,
            ImageSummary::Build { .. } => LaunchKind::Build,
        };
        let on_inventory = self.profile.shows_on(Surface::Inventory);
        LaunchShape { provider: self.provider, image, is_deferred: self.is_deferred, on_inventory }
    }
}

impl LaunchShape {
    pub(crate) fn is_noop(self) -> bool {
        self.provider == ProviderKind::Noop
    }

    pub(crate) fn launches(self) -> bool {
        !self.is_noop()
    }

    pub(crate) fn builds(self) -> bool {
        self.image == LaunchKind::Build && self.launches()
    }

    pub(crate) fn has_compose(self) -> bool {
        self.image != LaunchKind::Given && self.launches()
    }

    /// A long build is not spent on an account that will not do.
    pub(crate) fn checks_early(self) -> bool {
        self.builds() && !self.is_deferred
    }

    pub(crate) fn waits_for_parameters(self) -> bool {
        self.is_deferred
    }

    pub(crate) fn uploads_key(self) -> bool {
        self.provider.spec().keys.are_uploaded
    }

    pub(crate) fn prepares_network(self) -> bool {
        self.provider.spec().parts.contains(&PartKind::Network)
    }

    pub(crate) fn registers(self) -> bool {
        self.on_inventory && self.launches()
    }
}

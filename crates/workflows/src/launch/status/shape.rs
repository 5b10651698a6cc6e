//! What decides which steps of the table a launch has.

use drivers::cloud::ProviderKind;

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

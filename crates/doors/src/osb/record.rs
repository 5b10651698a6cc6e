//! New records, with nothing in them but what every record has.

use engine::secret::Sealed;
use workflows::runtime::{Binding, Instance};

/// The ids of a service and of one of its plans.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer<'a> {
    pub(super) service: &'a str,
    pub(super) plan: &'a str,
}

pub(super) fn instance(id: &str, offer: Offer<'_>, parameters: Sealed, context: Sealed) -> Instance {
    Instance::new(id, offer.service, offer.plan, parameters, context)
}

pub(super) fn binding((instance, id): (&str, &str), offer: Offer<'_>, parameters: Sealed) -> Binding {
    Binding::new(instance, id, offer.service, offer.plan, parameters)
}

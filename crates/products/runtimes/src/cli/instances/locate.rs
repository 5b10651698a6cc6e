//! Finds the plan of an instance, which every call to a broker names.

use anyhow::{Result, bail};

use super::PlanArgs;
use crate::client::{BrokerClient, Catalog, Ids, OfferedPlan, OperationSubject, State};

/// What is known about the plan of an instance.
#[derive(Debug)]
pub(super) enum Located<'c> {
    Known(LocatedPlan<'c>),
    /// The instance is there, but the broker does not say more.
    Unknown,
    /// The broker knows of no such instance.
    Gone,
}

/// The ids, and the offer where the catalog still has it.
#[derive(Debug)]
pub(super) struct LocatedPlan<'c> {
    pub(super) ids: Ids,
    pub(super) offer: Option<OfferedPlan<'c>>,
}

impl LocatedPlan<'_> {
    pub(super) fn polling_seconds(&self) -> Option<u64> {
        self.offer.and_then(|offer| offer.plan.maximum_polling_duration)
    }

    pub(super) fn bindings_retrievable(&self) -> bool {
        self.offer.is_some_and(|offer| offer.service.bindings_retrievable)
    }
}

impl<'c> From<OfferedPlan<'c>> for LocatedPlan<'c> {
    fn from(offer: OfferedPlan<'c>) -> LocatedPlan<'c> {
        LocatedPlan { ids: offer.ids(), offer: Some(offer) }
    }
}

/// By what the user says, by what the broker says, or because there is only one.
pub(super) async fn locate<'c>(
    broker: &BrokerClient,
    catalog: &'c Catalog,
    id: &str,
    args: &PlanArgs,
) -> Result<Located<'c>> {
    if let Some(plan) = &args.plan {
        return Ok(Located::Known(catalog.find(args.service.as_deref(), plan)?.into()));
    }
    if catalog.services.iter().any(|service| service.instances_retrievable) {
        match broker.instance(id).await {
            Ok(instance) => {
                if let (Some(service), Some(plan)) = (instance.service_id, instance.plan_id) {
                    let ids = Ids { service, plan };
                    return Ok(Located::Known(LocatedPlan { offer: catalog.offer_of(&ids), ids }));
                }
            }
            // It is also absent while it is being made, and after that has failed.
            Err(error) if error.is_absent() => {
                match broker.last_operation(&OperationSubject::instance(id), None, None).await {
                    // What was made could be fetched, so what succeeded was its end.
                    Ok(last) if last.body.state == State::Succeeded => return Ok(Located::Gone),
                    Ok(_) => {}
                    Err(error) if error.is_absent() => return Ok(Located::Gone),
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut offers = catalog.offers();
    match (offers.next(), offers.next()) {
        (Some(only), None) => Ok(Located::Known(only.into())),
        _ => Ok(Located::Unknown),
    }
}

/// The plan, or why there is none.
pub(super) fn known<'c>(located: Located<'c>, id: &str) -> Result<LocatedPlan<'c>> {
    match located {
        Located::Known(plan) => Ok(plan),
        Located::Unknown => {
            bail!("the broker does not say which plan instance {id} has: name it with --plan")
        }
        Located::Gone => bail!("the broker has no instance {id}: check the id and the URL of the broker"),
    }
}

//! The order of a list of operations.

use std::cmp::Ordering;
use std::time::Duration;

use engine::store::Summary;
use engine::{OperationId, Timestamp};
use uuid::Uuid;

use crate::http::Failure;
use crate::paging::Position;
use crate::query::not_allowed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Created,
    Name,
    Workflow,
    Phase,
    Resource,
    Tenant,
    Duration,
}

/// What a list is sorted by, and which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    by: By,
    is_descending: bool,
}

impl Order {
    pub(super) const NEWEST_FIRST: Order = Order { by: By::Created, is_descending: true };

    pub(super) fn read(text: Option<&str>) -> Result<Order, Failure> {
        let Some(text) = text else { return Ok(Order::NEWEST_FIRST) };
        let (name, is_descending) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
        let by = match name {
            "created" => By::Created,
            "name" => By::Name,
            "workflow" => By::Workflow,
            "phase" => By::Phase,
            "resource" => By::Resource,
            "tenant" => By::Tenant,
            "duration" => By::Duration,
            _ => {
                let allowed = "one of created, name, workflow, phase, resource, tenant, duration, with - in front for \
                               the other direction";
                return Err(not_allowed("sort", text, allowed));
            }
        };
        Ok(Order { by, is_descending })
    }

    /// Those that are equal stay newest first.
    pub(super) fn sort(self, found: &mut [Summary], now: Timestamp) {
        let took = |one: &Summary| -> Duration { one.finished_at.unwrap_or(now).since(one.created_at) };
        found.sort_by(|a, b| {
            let order: Ordering = match self.by {
                By::Created => a.id.cmp(&b.id),
                By::Name => a.name.cmp(&b.name),
                By::Workflow => a.workflow.cmp(&b.workflow),
                By::Phase => a.phase.cmp(&b.phase),
                By::Resource => a.resource.cmp(&b.resource),
                By::Tenant => a.tenant.cmp(&b.tenant),
                By::Duration => took(a).cmp(&took(b)),
            };
            let order = if self.is_descending { order.reverse() } else { order };
            order.then_with(|| b.id.cmp(&a.id))
        });
    }
}

/// Where a page of a sorted list begins: among the operations below an id, after so many of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sorted {
    pub(super) below: OperationId,
    pub(super) skip: u32,
}

impl Position for Sorted {
    const VERSION: u8 = 3;

    fn bytes(self) -> Vec<u8> {
        [self.below.0.as_bytes().as_slice(), &self.skip.to_be_bytes()].concat()
    }

    fn read(bytes: &[u8]) -> Option<Sorted> {
        let (id, skip) = bytes.split_at_checked(16)?;
        let skip = u32::from_be_bytes(skip.try_into().ok()?);
        Some(Sorted { below: OperationId(Uuid::from_slice(id).ok()?), skip })
    }
}

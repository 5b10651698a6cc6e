//! What happens to instances, disks and bulk calls as time passes.

use std::net::Ipv4Addr;

use time::OffsetDateTime;

use super::bulk::BulkOrder;
use super::catalog::region_of;
use super::faults::{GceFailure, GceFaultKind};
use super::instances::{GceDisk, GceInstance, GcePlace, GceStatus};
use super::operations::GceOperation;
use super::world::{DISK, Event, GoogleState, INSTANCE};
use crate::delays::later;

fn failure(code: &str, message: String) -> GceFailure {
    GceFailure { code: code.to_owned(), message }
}

impl GoogleState {
    /// Makes one instance of a bulk call, or writes down why it cannot be made.
    pub(super) fn make(&mut self, operation: u64, number: usize, order: &BulkOrder, at: OffsetDateTime) {
        let Some(parent) = self.operations.get(&operation) else { return };
        let name = parent.bulk.as_ref().and_then(|bulk| bulk.names.get(number)).cloned().unwrap_or_default();
        let (project, zone) = (parent.project.clone(), parent.zone.clone());
        let (user, group) = (parent.user.clone(), parent.group.clone());
        let place = GcePlace { project, zone, name };
        let made = self.check_room(&place, order);
        let id = self.next_id();
        let child = GceOperation {
            id,
            name: format!("operation-{id}"),
            project: place.project.clone(),
            zone: place.zone.clone(),
            kind: "insert",
            target: format!("instances/{}", place.name),
            user,
            request_id: None,
            group,
            begun_at: at,
            done_at: made.is_err().then_some(at),
            errors: made.as_ref().err().cloned().into_iter().collect(),
            bulk: None,
        };
        self.operations.insert(id, child);
        if let Err(why) = made {
            return self.count_failed(operation, why);
        }
        self.add(&place, id, order, at);
        if let Some(bulk) = self.operations.get_mut(&operation).and_then(|one| one.bulk.as_mut()) {
            bulk.created += 1;
            bulk.made.push((place.clone(), id));
        }
        let running_ms = self.controls.delay_times.running_ms;
        self.schedule(later(at, running_ms), Event::Stage { place, id, operation });
    }

    fn count_failed(&mut self, operation: u64, why: GceFailure) {
        let Some(operation) = self.operations.get_mut(&operation) else { return };
        operation.errors.push(why);
        if let Some(bulk) = &mut operation.bulk {
            bulk.failed += 1;
        }
    }

    fn add(&mut self, place: &GcePlace, id: u64, order: &BulkOrder, at: OffsetDateTime) {
        let instance = GceInstance {
            place: place.clone(),
            id,
            status: GceStatus::Provisioning,
            machine_type: order.machine_type,
            labels: order.labels.clone(),
            metadata: order.metadata.clone(),
            auto_delete: order.auto_delete,
            has_nat: order.has_nat,
            network: order.network.clone(),
            address: None,
            created_at: at,
        };
        let disk = GceDisk {
            place: place.clone(),
            id: id + 1,
            labels: order.disk_labels.clone(),
            source_image: order.source_image.clone(),
            is_attached: true,
            is_leaving: false,
            created_at: at,
        };
        self.ledger.make(INSTANCE, &place.token(), "");
        self.ledger.make(DISK, &place.token(), "");
        self.instances.insert(place.clone(), instance);
        self.disks.insert(place.clone(), disk);
    }

    fn check_room(&self, place: &GcePlace, order: &BulkOrder) -> Result<(), GceFailure> {
        if let Some(why) = self.faults.hits(GceFaultKind::FailInside, &place.project, &place.name) {
            return Err(why);
        }
        if order.is_broken {
            return Err(failure("INTERNAL_ERROR", "Internal error. Please try again.".to_owned()));
        }
        let taken =
            [("instances", self.instances.contains_key(place)), ("disks", self.disks.contains_key(place))];
        if let Some((kind, _)) = taken.into_iter().find(|(_, is_taken)| *is_taken) {
            let message = format!("The resource '{}' already exists", place.path(kind));
            return Err(failure("RESOURCE_ALREADY_EXISTS", message));
        }
        let (zone, name) = (place.zone.as_str(), order.machine_type.name);
        let late =
            self.controls.limits.capacities.iter().filter(|one| !one.at_once && one.covers(zone, name));
        if late.into_iter().any(|one| self.living_in(one) >= one.instances.unwrap_or(usize::MAX)) {
            let message = format!("The zone '{zone}' does not have enough resources available for {name}.");
            return Err(failure("ZONE_RESOURCE_POOL_EXHAUSTED", message));
        }
        self.check_quotas(place, order)
    }

    pub(super) fn living_in(&self, capacity: &super::limits::GceCapacity) -> usize {
        let is_there = |one: &&GceInstance| capacity.covers(&one.place.zone, one.machine_type.name);
        self.instances.values().filter(|one| one.is_living()).filter(is_there).count()
    }

    fn check_quotas(&self, place: &GcePlace, order: &BulkOrder) -> Result<(), GceFailure> {
        let Some(project) = self.projects.get(&place.project) else { return Ok(()) };
        let cpus = u64::from(order.machine_type.cpus);
        let needs = [
            (order.machine_type.metric(), cpus),
            ("CPUS_ALL_REGIONS", cpus),
            ("INSTANCES", 1),
            ("IN_USE_ADDRESSES", u64::from(order.has_nat)),
        ];
        for (metric, needed) in needs {
            let counts = |one: &&GceInstance| {
                let is_near = region_of(&one.place.zone) == region_of(&place.zone);
                one.place.project == place.project && (is_near || metric.ends_with("_ALL_REGIONS"))
            };
            let used: u64 = self.instances.values().filter(counts).map(|one| one.uses(metric)).sum();
            let limit = project.limit(metric);
            if used + needed > limit {
                let message = format!("Quota '{metric}' exceeded. Limit: {limit}.0");
                return Err(failure("QUOTA_EXCEEDED", message));
            }
        }
        Ok(())
    }

    pub(super) fn stage(&mut self, place: GcePlace, id: u64, operation: u64, at: OffsetDateTime) {
        let Some(instance) = self.instances.get_mut(&place).filter(|one| one.id == id) else { return };
        if instance.status != GceStatus::Provisioning {
            return;
        }
        instance.status = GceStatus::Staging;
        let running_ms = self.controls.delay_times.running_ms;
        self.schedule(later(at, running_ms), Event::Run { place, id, operation });
    }

    pub(super) fn run(&mut self, place: &GcePlace, id: u64, operation: u64, at: OffsetDateTime) {
        self.end(id, at);
        if let Some(why) = self.faults.hits(GceFaultKind::Die, &place.project, &place.name) {
            self.remove(place, id);
            self.count_failed(operation, why);
            return;
        }
        let stays_without = self.faults.hits(GceFaultKind::NoAddress, &place.project, &place.name).is_some();
        let network = std::sync::Arc::clone(&self.network);
        let Some(instance) = self.instances.get_mut(place).filter(|one| one.id == id) else { return };
        if instance.status != GceStatus::Staging {
            return;
        }
        instance.status = GceStatus::Running;
        if instance.has_nat && !stays_without {
            let [.., c, d] = id.to_be_bytes();
            // No client answers there.
            instance.address = Some(network.lease().unwrap_or_else(|| Ipv4Addr::new(198, 19, c, d)));
        }
    }

    /// Enough of them run, or all of them are taken back.
    pub(super) fn end_bulk(&mut self, operation: u64, at: OffsetDateTime) {
        let Some(bulk) = self.operations.get(&operation).and_then(|one| one.bulk.as_ref()) else { return };
        let lives =
            |(place, id): &&(GcePlace, u64)| self.instances.get(place).is_some_and(|one| one.id == *id);
        if bulk.made.iter().filter(lives).count() >= bulk.least {
            if let Some(operation) = self.operations.get_mut(&operation) {
                operation.errors.clear();
            }
            return self.end(operation, at);
        }
        if let Some(bulk) = self.operations.get_mut(&operation).and_then(|one| one.bulk.as_mut()) {
            bulk.is_rolling_back = true;
        }
        self.schedule(later(at, self.controls.delay_times.rollback_ms), Event::TakeBack(operation));
    }

    pub(super) fn take_back(&mut self, operation: u64, at: OffsetDateTime) {
        let bulk = self.operations.get_mut(&operation).and_then(|one| one.bulk.as_mut());
        let made = bulk.map(|bulk| {
            bulk.deleted = bulk.made.len();
            std::mem::take(&mut bulk.made)
        });
        for (place, id) in made.into_iter().flatten() {
            self.remove(&place, id);
        }
        self.end(operation, at);
    }

    pub(super) fn finish_removal(&mut self, place: &GcePlace, id: u64, operation: u64, at: OffsetDateTime) {
        if let Some(why) = self.faults.hits(GceFaultKind::Undeletable, &place.project, &place.name) {
            if let Some(instance) = self.instances.get_mut(place).filter(|one| one.id == id) {
                instance.status = GceStatus::Running;
            }
            if let Some(operation) = self.operations.get_mut(&operation) {
                operation.errors.push(why);
            }
        } else {
            self.remove(place, id);
        }
        self.end(operation, at);
    }

    fn remove(&mut self, place: &GcePlace, id: u64) {
        if self.instances.get(place).is_none_or(|one| one.id != id) {
            return;
        }
        let Some(instance) = self.instances.remove(place) else { return };
        if let Some(address) = instance.address {
            self.network.release(address);
        }
        self.ledger.take_back(INSTANCE, &place.token());
        let stays = self.faults.hits(GceFaultKind::LeaveDisk, &place.project, &place.name).is_some();
        if instance.auto_delete && !stays {
            self.remove_disk(place);
        } else if let Some(disk) = self.disks.get_mut(place) {
            disk.is_attached = false;
        }
    }

    pub(super) fn remove_disk(&mut self, place: &GcePlace) {
        if self.disks.remove(place).is_some() {
            self.ledger.take_back(DISK, &place.token());
        }
    }
}
